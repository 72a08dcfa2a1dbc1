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
        tf, own = _frequencies(snapshot, group, field_weights, settings.variant)
        units = np.flatnonzero(tf)
        if len(units):
            found.append((group, _rarity(snapshot.unit_count, own, len(units)), units, tf[units]))
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


def _rarity(total: int, own: int, together: int) -> float:
    """The IDF of a group: the mean of the word's own and of all its forms together.

    All forms together alone would make a rare word common because of a common relative; the word alone would make
    `redirects` rare where only `redirect` is written.
    """

    def idf(df: int) -> float:
        return log(1 + (total - df + 0.5) / (df + 0.5))

    return (idf(own) + idf(together)) / 2 if own else idf(together)


def _frequencies(
    snapshot: Snapshot, group: Group, weights: dict[str, float], variant: float
) -> tuple[NDArray[np.float64], int]:
    """The group's weighted frequency in every unit, and in how many units the word itself stands."""
    import numpy as np

    tf, in_files = np.zeros(snapshot.unit_total), np.zeros(snapshot.file_total)
    own = 0
    if _accumulate(snapshot, group.word, 1.0, weights, tf, in_files):
        own = int(np.count_nonzero(_spread(snapshot, tf, in_files)))
    found = [_accumulate(snapshot, form, variant, weights, tf, in_files) for form in group.forms if variant]
    return (_spread(snapshot, tf, in_files) if own or any(found) else tf), own


def _accumulate(
    snapshot: Snapshot,
    term: str,
    quality: float,
    weights: dict[str, float],
    tf: NDArray[np.float64],
    in_files: NDArray[np.float64],
) -> bool:
    """Add one term's weighted counts to its units and files; False where no segment has the term."""
    if not snapshot.knows(term):
        return False
    for field, weight in weights.items():
        if weight:
            owners, counts = snapshot.postings(field, term)
            if len(owners):
                target = tf if field in UNIT_FIELDS else in_files
                target[owners] += quality * weight * counts
    return True


def _spread(snapshot: Snapshot, tf: NDArray[np.float64], in_files: NDArray[np.float64]) -> NDArray[np.float64]:
    """What stands in a unit, and what stands in its file's name and folders."""
    return tf + in_files[snapshot.unit_file] if in_files.any() else tf
