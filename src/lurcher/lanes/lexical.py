"""BM25 over the fields of a unit: code, comments, the names it defines, its file's name and folders.

score(u) = Σ over groups  w · idf · tf·(k1 + 1) / (tf + k1·(1 − b + b·len/avg)), with tf and len weighted over fields
(Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from lurcher.config import LexicalSettings
from lurcher.index.order import place_of
from lurcher.index.reader import Snapshot
from lurcher.index.segment import UNIT_FIELDS
from lurcher.index.tally import Sum
from lurcher.lanes.lane import Request
from lurcher.planning.groups import Group
from lurcher.planning.intent import REPORT
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_SPARSE = 8
"""Units are picked out where fewer than one in this many has the group; picking costs more than it saves otherwise."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one group gave to the units that have it; `units` is None where amounts are kept for every unit."""

    word: str
    units: NDArray[np.int64] | None
    amounts: NDArray[np.float64]

    def of(self, unit: int) -> float:
        if self.units is None:
            return float(self.amounts[unit])
        position = int(self.units.searchsorted(unit))
        found = position < len(self.units) and self.units[position] == unit
        return float(self.amounts[position]) if found else 0.0


@dataclass(frozen=True, slots=True)
class LexicalScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit, zero where nothing matched."""
    shares: tuple[Share, ...]
    idf: dict[str, float]

    def terms_of(self, unit: int) -> dict[str, float]:
        """What each word gave to a unit, largest first."""
        found = {share.word: amount for share in self.shares if (amount := share.of(unit))}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def why(self, unit: int) -> LaneWhy | None:
        rank = place_of(self.snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit]), self.terms_of(unit)) if rank else None


def run(request: Request) -> LexicalScores:
    """The plan's words; those of a report, or of a whole unit, are many, so only the best are kept."""
    long = request.plan.intent == REPORT or request.plan.like is not None
    report = request.settings.report
    return score(
        request.snapshot, request.plan.groups, request.settings.lexical, b=report.b if long else None,
        keep=report.keep_terms if long else None,
    )  # fmt: skip


def nothing(snapshot: Snapshot) -> LexicalScores:
    """What stands in where the lane did not run."""
    import numpy as np

    return LexicalScores(snapshot, np.zeros(snapshot.unit_total), (), {})


def score(
    snapshot: Snapshot,
    groups: tuple[Group, ...],
    settings: LexicalSettings,
    *,
    b: float | None = None,
    keep: int | None = None,
) -> LexicalScores:
    """Score every unit. `keep` limits the groups to the best by weight · idf."""
    import numpy as np

    field_weights = {field: float(getattr(settings, field)) for field in (*UNIT_FIELDS, "name", "folder")}
    field_weights["stem"] = field_weights["name"]
    b = settings.b if b is None else b
    k1 = settings.k1
    total = snapshot.unit_total
    scores = np.zeros(total)
    # Not quite zero, so that a unit without a single word divides by something.
    norm = np.maximum(k1 * (1 - b + b * _relative_lengths(snapshot, field_weights)), 1e-9)
    found = []
    for group in groups:
        tf, each = _frequencies(snapshot, group, field_weights, settings.variant)
        many = int(np.count_nonzero(tf))
        own, together = snapshot.spread(group, each, many)
        if together:
            found.append((group, rarity(snapshot.unit_count, own, together), many, tf))
    if keep is not None and len(found) > keep:
        best = sorted(range(len(found)), key=lambda i: (-found[i][0].weight * found[i][1], found[i][0].word))[:keep]
        found = [found[i] for i in sorted(best)]
    shares = []
    idfs = {}
    for group, idf, many, tf in found:
        times = group.weight * idf * (k1 + 1)
        if many * _SPARSE < len(tf):
            units = np.flatnonzero(tf)
            here = tf[units]
            amounts = times * here / (here + norm[units])
            scores[units] += amounts
            shares.append(Share(group.word, units, amounts))
        else:
            amounts = times * tf / (tf + norm)
            scores += amounts
            shares.append(Share(group.word, None, amounts))
        idfs[group.word] = idf
    return LexicalScores(snapshot, scores, tuple(shares), idfs)


def _relative_lengths(snapshot: Snapshot, weights: dict[str, float]) -> NDArray[np.float64]:
    import numpy as np

    key = tuple(weights.items())
    known = snapshot.relative_lengths.get(key)
    if known is None:
        length = np.zeros(snapshot.unit_total)
        mean = 0.0
        for field, weight in weights.items():
            values, average = snapshot.lengths(field)
            length += weight * values
            mean += weight * average
        known = snapshot.relative_lengths[key] = length / mean if mean else length
    return known


def rarity(total: int, own: int, together: int) -> float:
    """The IDF of a group: the mean of the word's own and of all its forms together.

    All forms together alone would make a rare word common because of a common relative; the word alone would make
    `redirects` rare where only `redirect` is written.
    """

    def idf(df: int) -> float:
        return log(1 + (total - df + 0.5) / (df + 0.5))

    return (idf(own) + idf(together)) / 2 if own else idf(together)


def _frequencies(
    snapshot: Snapshot, group: Group, weights: dict[str, float], variant: float
) -> tuple[NDArray[np.float64], list[int]]:
    """The group's weighted frequency in every unit, and in how many units the word itself and each of its forms stands."""
    import numpy as np

    total = Sum()
    own = _weighted(snapshot, group.word, weights)
    total.add(*own, 1.0)
    each = [len(own[0])]
    for form in group.forms if variant else ():
        found = _weighted(snapshot, form, weights)
        total.add(*found, variant)
        each.append(len(found[0]))
    tf = total.over(snapshot.unit_total)
    return (np.zeros(snapshot.unit_total) if tf is None else tf), each


def _weighted(
    snapshot: Snapshot, term: str, weights: dict[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The units that a term stands in, or in the name and folders of whose file it stands, with its weighted count."""
    import numpy as np

    key = term, tuple(weights.values())
    known = snapshot.weighted.get(key)
    if known is None:
        units, files = Sum(), Sum()
        for field, weight in weights.items() if snapshot.knows(term) else ():
            if weight:
                (units if field in UNIT_FIELDS else files).add(*snapshot.postings(field, term), weight)
        tf, in_files = units.over(snapshot.unit_total), files.over(snapshot.file_total)
        if in_files is not None:
            tf = in_files[snapshot.unit_file] if tf is None else tf + in_files[snapshot.unit_file]
        owners = np.zeros(0, np.int64) if tf is None else np.flatnonzero(tf)
        known = owners, (np.zeros(0) if tf is None else tf[owners])
        snapshot.weighted.put(key, known, len(owners))
    return known
