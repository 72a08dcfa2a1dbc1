"""BM25F over the fields of a note's sections, with statistics of notes only and the IDF to the power of `RARITY`.

It is divided by the largest possible score, that of a section with every word any number of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.lanes import rank_of_unit
from lurcher.lanes.lexical import (
    FieldSum,
    WordScores,
    compute_group_idf,
    compute_idf,
    field_norms,
    spread_to_units,
    terms_of,
)
from lurcher.query.plan import Group
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
class FieldScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit; 0 where nothing matched, and for units of other files than notes."""
    whole: NDArray[np.float64]
    """One per file: the same over whole notes, which helps where a section does not name its subject."""
    most: float
    """The largest possible score of a note, by which `whole` was divided."""
    shares: tuple[WordScores, ...]

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self.snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit]), terms_of(self.shares, unit)) if rank else None


def score_sections(snapshot: Snapshot, units: NDArray[np.bool_], groups: Sequence[Group]) -> FieldScores:
    """Score the units that are sections of notes."""
    import numpy as np

    page = _TermStatistics(snapshot, units)
    words, whole = FieldSum(snapshot.unit_total, K1, page.fields, page.postings), np.zeros(snapshot.file_total)
    most, most_whole = 0.0, 0.0
    for group in groups:
        alone, together = 0, np.zeros(snapshot.file_total)
        for form in (group.word, *group.forms):
            if snapshot.knows(form):
                worth = 1.0 if form == group.word else VARIANT
                words.add(form, worth)
                page.add_to_notes(form, worth, together)
            if form == group.word and group.forms:
                alone = words.count()
        rarity = group.weight * compute_group_idf(page.sections, alone, words.count()) ** RARITY
        most += rarity
        common, amounts = page.of_notes(together)
        most_whole += group.weight * common
        whole += group.weight * common * amounts
        if words.count():
            words.finish_word(group.word, rarity)
    scores, shares = words.scores, words.shares
    if most:
        scores /= most
        shares = [WordScores(share.word, share.owners, share.amounts / most, share.rarity) for share in shares]
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
        self.fields = [(field, weight, self._norm(field, b, units)) for field, weight, b in FIELDS]
        self._wide, self._notes = self._widths(units)

    def postings(self, field: str, term: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The sections that have a term in a field, or in a field of their file, with counts."""
        owners, counts = self._snapshot.postings(field, term)
        if len(owners) and field not in UNIT_FAMILIES:
            owners, counts = spread_to_units(self._snapshot, owners, counts)
        return self._kept(owners, counts)

    def add_to_notes(self, term: str, share: float, together: NDArray[np.float64]) -> None:
        """Add the counts of a term in whole notes, times `share`."""
        together += share * self.in_files(term)
        together[self._snapshot.postings("name", term)[0]] += share * NAME

    def in_files(self, term: str) -> NDArray[np.float64]:
        import numpy as np

        owners, counts = self._kept(*self._snapshot.postings("body", term))
        return np.bincount(self._snapshot.unit_file[owners], counts, self._snapshot.file_total).astype(np.float64)

    def of_notes(self, together: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The IDF of a word among notes, and the saturated count in each note, from 0 to 1."""
        import numpy as np

        if self._units is not None:
            together = np.where(self._wide < np.inf, together, 0.0)
        rarity = compute_idf(self._notes, int(np.count_nonzero(together))) ** RARITY
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
            known = self._snapshot.relative_lengths[key] = field_norms(lengths, mean, b)
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


def find_units(snapshot: Snapshot, files: NDArray[np.int64]) -> NDArray[np.int64]:
    """The units of some files, file by file."""
    import numpy as np

    first, width = snapshot.first_unit[files], snapshot.file_column("units")[files].astype(np.int64)
    before = np.cumsum(width) - width
    return np.repeat(first - before, width) + np.arange(int(width.sum()))
