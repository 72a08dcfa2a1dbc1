"""Units like a given one: half by the words they share, half by nearness in meaning; its own file's come later.

    0.5 · BM25/largest + 0.5 · cosine/largest,  times 0.5 in the same file
"""

from __future__ import annotations

import re
from math import sqrt

from lurcher.lanes.dense import DenseCosines
from lurcher.query.expand import Group, query_terms
from lurcher.query.plan import Plan
from lurcher.ranking.context import Context, Ranking, lane_whys
from lurcher.runtime.arrays import np
from lurcher.storage.numbering import order_units
from lurcher.storage.snapshot import Snapshot
from lurcher.types import StageWhy, Why

WORDS = 0.5
SAME_FILE = 0.5
"""What is in the same file is known to whoever asks."""
LEAST = 0.05


def rank(context: Context) -> Ranking:
    snapshot, asked = context.snapshot, context.plan.like
    assert asked is not None, "planned without a unit"
    usable = context.allowed[snapshot.unit_file].copy()
    usable[asked] = False
    words = np.where(usable, context.lexical.scores, 0.0)
    lane = context.lanes.get("dense")
    cosines = np.where(usable, np.maximum(lane.scan(), 0.0), 0.0) if isinstance(lane, DenseCosines) and lane else None
    weight = WORDS if cosines is not None else 1.0
    shared = weight * words / max(float(words.max(initial=0.0)), 1e-12)
    near = np.zeros(len(words)) if cosines is None else (1 - weight) * cosines / max(float(cosines.max(initial=0.0)), 1e-12)
    same = snapshot.unit_file == snapshot.unit_file[asked]
    scores = (shared + near) * np.where(same, SAME_FILE, 1.0)
    units = np.flatnonzero((words > 0) & (scores >= LEAST))
    units = units[order_units(snapshot, units, scores[units])]

    def why(unit: int, score: float) -> Why:
        stages = [StageWhy("words", amount=float(shared[unit]))]
        if cosines is not None:
            stages.append(StageWhy("meaning", amount=float(near[unit])))
        if same[unit]:
            stages.append(StageWhy("same-file", factor=SAME_FILE))
        return Why(lane_whys(context, unit), float(shared[unit] + near[unit]), tuple(stages))

    return Ranking(units, scores[units], why)

# ----------------------------------------------------------------------------------------------------------------------
# A unit as a question: its words, each weighed by how often it stands there, for units that are like it.


RELATED = "related"
_URL = re.compile(r"\w+://[^\s\"'<>)]+")
"""Where something is told of says nothing about what it is."""


def plan_like(snapshot: Snapshot, unit: int, text: str) -> Plan:
    """A plan for what is like a unit; `text` is how it was asked for."""
    counted = query_terms(_URL.sub(" ", snapshot.unit_text(unit)))
    # No other forms: who is like this unit says the same names.
    groups = tuple(Group(term, sqrt(count), ()) for term, count in counted.items())
    return Plan(text, RELATED, RELATED, groups, (), like=unit)
