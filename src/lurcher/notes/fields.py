"""BM25 over the fields of a note's sections, with statistics of notes alone:

    tf' = Σ over fields  w · tf / (1 − b + b · len/avg),   score = Σ over words  q · idf · tf'/(tf' + k1)

told as the share of what a section would score that said every word any number of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from lurcher.config import NoteSettings
from lurcher.index.order import place_of
from lurcher.index.reader import Snapshot
from lurcher.index.segment import UNIT_FAMILIES
from lurcher.planning.groups import Group
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FieldScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit; 0 where nothing matched, and for what is no note."""
    whole: NDArray[np.float64]
    """One per file: the same over whole notes, which tells what a section is about where it does not say so itself."""
    shares: tuple[tuple[str, NDArray[np.int64], NDArray[np.float64]], ...]

    def terms_of(self, unit: int) -> dict[str, float]:
        found = {}
        for word, units, amounts in self.shares:
            position = int(units.searchsorted(unit))
            if position < len(units) and units[position] == unit:
                found[word] = float(amounts[position])
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def why(self, unit: int) -> LaneWhy | None:
        rank = place_of(self.snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit]), self.terms_of(unit)) if rank else None


def score(snapshot: Snapshot, units: NDArray[np.bool_], groups: Sequence[Group], settings: NoteSettings) -> FieldScores:
    """Score the units that are sections of notes."""
    import numpy as np

    weights = {
        "body": (settings.body, settings.b), "above": (settings.above, settings.b_above), "comments": (settings.comments, 0.75),
        "name": (settings.name, settings.b_above), "folder": (settings.folder, settings.b_above),
    }  # fmt: skip
    count = int(units.sum())
    norms = {field: _norm(snapshot, units, field, b) for field, (_, b) in weights.items()}
    scores = np.zeros(snapshot.unit_total)
    whole = np.zeros(snapshot.file_total)
    notes = np.bincount(snapshot.unit_file, units, snapshot.file_total) > 0
    lengths = np.bincount(snapshot.unit_file, snapshot.lengths("body")[0], snapshot.file_total)
    mean = float(lengths[notes].mean()) if count else 0.0
    wide = settings.k1 * (1 - settings.b_whole + settings.b_whole * lengths / (mean or 1.0))
    shares, most, most_whole = [], 0.0, 0.0
    for group in groups:
        tf, alone = np.zeros(snapshot.unit_total), 0
        together = np.zeros(snapshot.file_total)
        for form in (group.word, *group.forms):
            own = _frequency(snapshot, form, weights, norms)
            if own is None:
                continue
            own[~units] = 0
            together += (1.0 if form == group.word else settings.variant) * _in_files(snapshot, form, settings.name)
            if form == group.word:
                alone = int(np.count_nonzero(own))
                tf += own
            else:
                tf += settings.variant * own
        having = np.flatnonzero(tf)
        rarity = _idf(count, len(having))
        if alone:  # as for code: a rare word must not become common because of a common relative, nor the other way round
            rarity = (rarity + _idf(count, alone)) / 2
        most += group.weight * rarity
        together[~notes] = 0
        common = _idf(int(notes.sum()), int(np.count_nonzero(together)))
        most_whole += group.weight * common
        whole += group.weight * common * together / (together + wide + 1e-9)
        if len(having):
            here = tf[having]
            amounts = group.weight * rarity * here / (here + settings.k1)
            scores[having] += amounts
            shares.append((group.word, having, amounts))
    if most:
        scores /= most
        shares = [(word, having, amounts / most) for word, having, amounts in shares]
    return FieldScores(snapshot, scores, whole / (most_whole or 1.0), tuple(shares))


def _in_files(snapshot: Snapshot, term: str, name: float) -> NDArray[np.float64]:
    """How often each file says a term, its name counting more."""
    import numpy as np

    owners, counts = snapshot.postings("body", term)
    found = np.zeros(snapshot.file_total)
    found += np.bincount(snapshot.unit_file[owners], counts, snapshot.file_total)
    files, _ = snapshot.postings("name", term)
    found[files] += name
    return found


def _frequency(
    snapshot: Snapshot, term: str, weights: dict[str, tuple[float, float]], norms: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64] | None:
    import numpy as np

    if not snapshot.knows(term):
        return None
    found: NDArray[np.float64] | None = None
    for field, (weight, _) in weights.items():
        owners, counts = snapshot.postings(field, term) if weight else (np.zeros(0, np.int64), np.zeros(0, np.uint8))
        if not len(owners):
            continue
        if found is None:
            found = np.zeros(snapshot.unit_total)
        if field in UNIT_FAMILIES:
            found[owners] += weight * counts * norms[field][owners]
        else:
            by_file = np.zeros(snapshot.file_total)
            by_file[owners] = weight * counts
            found += by_file[snapshot.unit_file] * norms[field]
    return found


def _norm(snapshot: Snapshot, units: NDArray[np.bool_], field: str, b: float) -> NDArray[np.float64]:
    key = ((f"notes.{field}", b),)
    known = snapshot.relative_lengths.get(key)
    if known is None:
        lengths, _ = snapshot.lengths(field)
        mean = float(lengths[units].mean()) if units.any() else 0.0
        known = snapshot.relative_lengths[key] = 1 / (1 - b + b * lengths / (mean or 1.0) + 1e-9)
    return known


def _idf(count: int, having: int) -> float:
    return log(1 + (count - having + 0.5) / (having + 0.5))
