"""BM25 over the fields of a unit: code, comments, the names it defines, its file's name and folders.

score(u) = Σ over groups  w · idf · tf·(k1 + 1) / (tf + k1·(1 − b + b·len/avg)), with tf and len weighted over fields
(Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from lurcher.config import LexicalSettings
from lurcher.index.reader import Snapshot
from lurcher.index.segment import UNIT_FIELDS
from lurcher.planning.groups import Group

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Share:
    """What one group gave to the units that have it."""

    word: str
    units: NDArray[np.int64]
    amounts: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    scores: NDArray[np.float64]
    """One per unit, zero where nothing matched."""
    shares: tuple[Share, ...]
    idf: dict[str, float]

    def terms_of(self, unit: int) -> dict[str, float]:
        """What each word gave to a unit, largest first."""
        import numpy as np

        found = {}
        for share in self.shares:
            position = int(np.searchsorted(share.units, unit))
            if position < len(share.units) and share.units[position] == unit:
                found[share.word] = float(share.amounts[position])
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


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
    norm = k1 * (1 - b + b * _relative_lengths(snapshot, field_weights))
    found = []
    for group in groups:
        tf = _frequencies(snapshot, group, field_weights, settings.variant)
        if tf is None:
            continue
        units = np.flatnonzero(tf)
        if len(units):
            df = len(units)
            idf = log(1 + (snapshot.unit_count - df + 0.5) / (df + 0.5))
            found.append((group, idf, units, tf[units]))
    if keep is not None and len(found) > keep:
        best = sorted(range(len(found)), key=lambda i: (-found[i][0].weight * found[i][1], found[i][0].word))[:keep]
        found = [found[i] for i in sorted(best)]
    shares = []
    idfs = {}
    for group, idf, units, tf in found:
        amounts = group.weight * idf * tf * (k1 + 1) / (tf + norm[units])
        scores[units] += amounts
        shares.append(Share(group.word, units, amounts))
        idfs[group.word] = idf
    return LexicalScores(scores, tuple(shares), idfs)


def _relative_lengths(snapshot: Snapshot, weights: dict[str, float]) -> NDArray[np.float64]:
    import numpy as np

    length = np.zeros(snapshot.unit_total)
    mean = 0.0
    for field, weight in weights.items():
        values, average = snapshot.lengths(field)
        length += weight * values
        mean += weight * average
    return length / mean if mean else length


def _frequencies(
    snapshot: Snapshot, group: Group, weights: dict[str, float], variant: float
) -> NDArray[np.float64] | None:
    """The group's weighted frequency in every unit, or None where it does not occur."""
    import numpy as np

    known = [
        (term, quality)
        for term, quality in ((group.word, 1.0), *((form, variant) for form in group.forms))
        if quality and snapshot.knows(term)
    ]
    if not known:
        return None
    tf = np.zeros(snapshot.unit_total)
    in_files = np.zeros(snapshot.file_total)
    any_unit = any_file = False
    for term, quality in known:
        for field, weight in weights.items():
            owners, counts = snapshot.postings(field, term) if weight else ((), ())
            if not len(owners):
                continue
            if field in UNIT_FIELDS:
                tf[owners] += quality * weight * counts
                any_unit = True
            else:
                in_files[owners] += quality * weight * counts
                any_file = True
    if any_file:
        tf += in_files[snapshot.unit_file]
    return tf if any_unit or any_file else None
