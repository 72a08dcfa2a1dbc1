"""Units like a given one: `plan_like` makes a query of its words, each weighted by how often it occurs, `rank` orders the hits.

    0.5 · BM25/largest + 0.5 · cosine/largest,  times 0.5 in the same file
"""

from __future__ import annotations

import re
from math import sqrt

from lurcher.lanes import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.query import Group, Plan, extract_terms
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.types import StageWhy, Why

RELATED = "related"
_URL = re.compile(r"\w+://[^\s\"'<>)]+")
"""URLs say nothing about what the code does, so their words are dropped."""
WORD_WEIGHT = 0.5
SAME_FILE = 0.5
"""Factor for units of the same file, which the reader knows already."""
MIN_SCORE = 0.05


def plan_related(snapshot: Snapshot, unit: int, text: str) -> Plan:
    """A plan that finds units like a given one; `text` is the query as the user wrote it."""
    counted = extract_terms(_URL.sub(" ", snapshot.unit_text(unit)))
    # Without other forms: similar code uses the same names.
    groups = tuple(Group(term, sqrt(count), ()) for term, count in counted.items())
    return Plan(text, RELATED, RELATED, groups, (), like=unit)


def rank(context: Context) -> Ranking:
    snapshot, origin = context.snapshot, context.plan.like
    assert origin is not None, "planned without a unit"
    usable = context.allowed[snapshot.unit_file].copy()
    usable[origin] = False
    words = np.where(usable, context.lexical.scores, 0.0)
    lane = context.lanes.get("dense")
    cosines = np.where(usable, np.maximum(lane.scan(), 0.0), 0.0) if isinstance(lane, DenseCosines) and lane else None
    weight = WORD_WEIGHT if cosines is not None else 1.0
    shared = weight * words / max(float(words.max(initial=0.0)), 1e-12)
    near = np.zeros(len(words)) if cosines is None else (1 - weight) * cosines / max(float(cosines.max(initial=0.0)), 1e-12)
    same = snapshot.unit_file == snapshot.unit_file[origin]
    scores = (shared + near) * np.where(same, SAME_FILE, 1.0)
    units = np.flatnonzero((words > 0) & (scores >= MIN_SCORE))
    units = units[order_units(snapshot, units, scores[units])]

    def why(unit: int, score: float) -> Why:
        stages = [StageWhy("words", amount=float(shared[unit]))]
        if cosines is not None:
            stages.append(StageWhy("meaning", amount=float(near[unit])))
        if same[unit]:
            stages.append(StageWhy("same-file", factor=SAME_FILE))
        return Why(collect_lane_whys(context, unit), float(shared[unit] + near[unit]), tuple(stages))

    return Ranking(units, scores[units], why)
