"""BM25 over the fields of a note's sections, with statistics of notes only:

    tf' = Σ over fields  w · tf / (1 − b + b · len/avg),   score = Σ over words  q · idf^r · tf'/(tf' + k1)

divided by the largest possible score, that of a section with every word any number of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

from lurcher.query.plan import Group
from lurcher.storage.numbering import rank_of_unit
from lurcher.storage.segment import UNIT_FAMILIES
from lurcher.storage.snapshot import Snapshot
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Chosen together with the weights of the ranking, on the notes of five repositories that are not in the evaluation set.
K1 = 1.5
"""How fast repeated terms saturate."""
FIELDS = (("body", 1.0, 0.5), ("above", 2.0, 0.25), ("comments", 0.1, 0.75), ("name", 1.0, 0.25))
"""(field, weight, b): text; title, headings, tags and other names; comments, which readers do not see; the file's name. Folders
count nothing."""
NAME = 1.0
"""Weight of terms in the file's name, for the whole note."""
RARITY = 0.8
"""The power of a word's IDF: how much more rare words count."""
VARIANT = 0.3
"""Weight of a word's other forms (same stem, known abbreviation)."""
B_WHOLE = 0.6
"""How much long notes are penalised as a whole."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """What one word of the query adds to the scores of the sections that have it."""

    word: str
    rarity: float
    units: NDArray[np.int64]
    """Ascending."""
    amounts: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FieldScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit; 0 where nothing matched, and for units of other files than notes."""
    whole: NDArray[np.float64]
    """One per file: the same over whole notes, which helps where a section does not name its subject."""
    most: float
    """The largest possible score of a note, by which `whole` was divided."""
    shares: tuple[WordScores, ...]

    def terms_of(self, unit: int) -> dict[str, float]:
        found = {}
        for share in self.shares:
            position = int(share.units.searchsorted(unit))
            if position < len(share.units) and share.units[position] == unit:
                found[share.word] = float(share.amounts[position])
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self.snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit]), self.terms_of(unit)) if rank else None


def score_sections(snapshot: Snapshot, units: NDArray[np.bool_], groups: Sequence[Group]) -> FieldScores:
    """Score the units that are sections of notes."""
    import numpy as np

    page = _TermStatistics(snapshot, units)
    count = page.sections
    scores, whole = np.zeros(snapshot.unit_total), np.zeros(snapshot.file_total)
    tf = np.zeros(snapshot.unit_total)  # reused for each word, and zero between them
    shares, most, most_whole = [], 0.0, 0.0
    for group in groups:
        alone, together = 0, np.zeros(snapshot.file_total)
        for form in (group.word, *group.forms):
            if snapshot.knows(form):
                page.add(form, 1.0 if form == group.word else VARIANT, tf, together)
            if form == group.word and group.forms:
                alone = int(np.count_nonzero(tf))
        having = np.flatnonzero(tf)
        rarity = _compute_idf(count, len(having))
        if alone:  # the mean, as for code: a rare word must not become common because of a common form, nor the reverse
            rarity = (rarity + _compute_idf(count, alone)) / 2
        rarity = group.weight * rarity**RARITY
        most += rarity
        common, amounts = page.of_notes(together)
        most_whole += group.weight * common
        whole += group.weight * common * amounts
        if len(having):
            here = tf[having]
            gained = rarity * here / (here + K1)
            scores[having] += gained
            shares.append(WordScores(group.word, rarity, having, gained))
            tf[having] = 0
    if most:
        scores /= most
        shares = [WordScores(share.word, share.rarity, share.units, share.amounts / most) for share in shares]
    return FieldScores(snapshot, scores, whole / (most_whole or 1.0), most_whole, tuple(shares))


def score_small_words(
    snapshot: Snapshot, units: NDArray[np.bool_], terms: Iterable[str], most: float
) -> NDArray[np.float64]:
    """One per file: the score of stop words, as a share of `most`.

    They favour notes in the language of the query. Where all notes are in one language they are common and add next to nothing.
    """
    import numpy as np

    page = _TermStatistics(snapshot, units)
    found = np.zeros(snapshot.file_total)
    for term in terms:
        if snapshot.knows(term):
            rarity, amounts = page.of_notes(page.in_files(term))
            found += rarity * amounts
    return found / (most or 1.0)


class _TermStatistics:
    """Term counts in the sections and notes of a snapshot, normalised by length."""

    def __init__(self, snapshot: Snapshot, units: NDArray[np.bool_]) -> None:
        import numpy as np

        self._snapshot = snapshot
        self.sections = int(np.count_nonzero(units))
        self._units = None if self.sections == len(units) else units
        """None where every unit is a section of a note."""
        self._fields = [(field, weight, self._norm(field, b, units)) for field, weight, b in FIELDS]
        self._wide, self._notes = self._widths(units)

    def add(self, term: str, share: float, tf: NDArray[np.float64], together: NDArray[np.float64]) -> None:
        """Add the weighted counts of a term in sections to `tf`, and those in whole notes to `together`."""
        import numpy as np

        snapshot = self._snapshot
        for field, weight, norms in self._fields:
            owners, counts = snapshot.postings(field, term)
            if not len(owners):
                continue
            if field in UNIT_FAMILIES:
                owners, counts = self._kept(owners, counts)
                if field == "body":
                    together += share * np.bincount(snapshot.unit_file[owners], counts, snapshot.file_total)
            else:
                if field == "name":
                    together[owners] += share * NAME
                owners, counts = self._kept(*_spread_to_units(snapshot, owners, counts))
            tf[owners] += share * weight * counts * norms[owners]

    def in_files(self, term: str) -> NDArray[np.float64]:
        import numpy as np

        owners, counts = self._kept(*self._snapshot.postings("body", term))
        return np.bincount(self._snapshot.unit_file[owners], counts, self._snapshot.file_total).astype(np.float64)

    def of_notes(self, together: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The IDF of a word among notes, and the saturated count in each note, from 0 to 1."""
        import numpy as np

        if self._units is not None:
            together = np.where(self._wide < np.inf, together, 0.0)
        rarity = _compute_idf(self._notes, int(np.count_nonzero(together))) ** RARITY
        return rarity, together / (together + self._wide)

    def _kept(self, owners: NDArray[np.int64], counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if self._units is None:
            return owners, counts
        kept = self._units[owners]
        return owners[kept], counts[kept]

    def _norm(self, field: str, b: float, units: NDArray[np.bool_]) -> NDArray[np.float64]:
        key = ((f"notes.{field}", b),)
        known = self._snapshot.relative_lengths.get(key)
        if known is None:
            lengths, _ = self._snapshot.lengths(field)
            mean = float(lengths[units].mean()) if units.any() else 0.0
            known = self._snapshot.relative_lengths[key] = 1 / (1 - b + b * lengths / (mean or 1.0) + 1e-9)
        return known

    def _widths(self, units: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
        """The saturation constant of each note by its length, infinite for other files; and the number of notes."""
        import numpy as np

        snapshot, b = self._snapshot, B_WHOLE
        key = (("notes whole", b), ("", K1))
        known = snapshot.relative_lengths.get(key)
        if known is None:
            notes = np.bincount(snapshot.unit_file, units, snapshot.file_total) > 0
            lengths = np.bincount(snapshot.unit_file, snapshot.lengths("body")[0], snapshot.file_total)
            mean = float(lengths[notes].mean()) if notes.any() else 0.0
            wide = K1 * (1 - b + b * lengths / (mean or 1.0)) + 1e-9
            known = snapshot.relative_lengths[key] = np.where(notes, wide, np.inf)
        return known, int(np.count_nonzero(known < np.inf))


def _spread_to_units(
    snapshot: Snapshot, files: NDArray[np.int64], counts: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The units of files, each with the count of its file."""
    import numpy as np

    return find_units(snapshot, files), np.repeat(counts, snapshot.file_column("units")[files].astype(np.int64))


def find_units(snapshot: Snapshot, files: NDArray[np.int64]) -> NDArray[np.int64]:
    """The units of some files, file by file."""
    import numpy as np

    first, width = snapshot.first_unit[files], snapshot.file_column("units")[files].astype(np.int64)
    before = np.cumsum(width) - width
    return np.repeat(first - before, width) + np.arange(int(width.sum()))


def _compute_idf(count: int, having: int) -> float:
    return log(1 + (count - having + 0.5) / (having + 0.5))
