"""A few files of shared projects, seen as a snapshot: their tables are here, their statistics are those of the whole projects.

What lanes and rankings ask of it is what they ask of a local index. Texts are fetched when they are asked for, with those that
are likely to follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lurcher.errors import StoreError
from lurcher.runtime.light import cached_property
from lurcher.sources.roles import VERSIONED, version_of
from lurcher.storage.postings import PostingSum
from lurcher.storage.segment import FILE_FIELDS, UNIT_FAMILIES
from lurcher.storage.snapshot import PhrasePattern, Phrases, Snapshot
from lurcher.stores.assemble import Gathered
from lurcher.stores.base import Head
from lurcher.stores.vocabulary import Vocabulary
from lurcher.types import Import

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.vectors import Direction

_AHEAD = 24
"""Texts that are fetched together at first; twice as many each time after that."""
_MOST_AHEAD = 400
_MOST_PHRASES = 120
"""Units that are read for a phrase, which is one sign among others."""

Texts = Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], str]]


@dataclass(frozen=True, slots=True)
class Shelf:
    """What was fetched of one project."""

    project: str
    head: Head
    segment: Gathered
    keys: tuple[str, ...]
    """Of its files, in their order."""
    vocabulary: Vocabulary
    texts: Texts

    def sum_of(self, field: str) -> int:
        value = self.head.more.get(f"length.{field}", "0")
        return int(value) if value.isdecimal() else 0


class Words:
    """The words of some projects together; what a question is planned with."""

    def __init__(self, vocabularies: Sequence[Vocabulary]) -> None:
        self._vocabularies = vocabularies

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        if len(self._vocabularies) == 1:
            return self._vocabularies[0].beginning(prefix, family, most)
        found: set[str] = set()
        for vocabulary in self._vocabularies:
            found.update(vocabulary.beginning(prefix, family, most))
        return sorted(found) if family is not None else sorted(found)[:most]

    def knows(self, term: str) -> bool:
        return any([vocabulary.word(term) is not None for vocabulary in self._vocabularies])

    def units_with(self, term: str) -> int:
        """In how many units of all projects a word stands."""
        return sum(word.units for vocabulary in self._vocabularies if (word := vocabulary.word(term)) is not None)

    def folders_with(self, term: str) -> int:
        return sum(word.folders for vocabulary in self._vocabularies if (word := vocabulary.word(term)) is not None)

    def files_with(self, term: str) -> int:
        """How many files define a name, or are called so."""
        return sum(word.files for vocabulary in self._vocabularies if (word := vocabulary.word(term)) is not None)


class SharedSnapshot(Snapshot):
    def __init__(self, shelves: Sequence[Shelf]) -> None:
        order = [(number, place) for number, shelf in enumerate(shelves) for place in range(len(shelf.keys))]
        super().__init__([shelf.segment for shelf in shelves], sum(shelf.head.generation for shelf in shelves), order)
        self.shelves = list(shelves)
        self.words = Words([shelf.vocabulary for shelf in shelves])
        self._whole = all(len(shelf.keys) >= shelf.head.files for shelf in shelves)
        self._read: dict[int, str] = {}
        self._expected: Callable[[], Iterable[int]] = tuple
        self._ahead = _AHEAD

    # -- statistics of the whole projects ---------------------------------------------------------------------------------

    @cached_property
    def unit_count(self) -> int:
        return sum(shelf.head.units for shelf in self.shelves)

    @cached_property
    def file_count(self) -> int:
        return sum(shelf.head.files for shelf in self.shelves)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({name for shelf in self.shelves for name in shelf.head.more.get("languages", "").split()}))

    def lengths(self, field: str) -> tuple[NDArray[np.float64], float]:
        values, _ = super().lengths(field)
        return values, sum(shelf.sum_of(field) for shelf in self.shelves) / max(self.unit_count, 1)

    def norms(self, weights: Mapping[str, float], k1: float, b: float) -> NDArray[np.float64]:
        return self.norms_by_lengths(weights, k1, b)  # the mean is that of the whole store, not of what was fetched

    @property
    def forms(self) -> None:
        """None are kept: the words are those of the whole store, which others write to."""

    def knows(self, term: str) -> bool:
        return self.words.knows(term)

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        return self.words.terms_with_prefix(prefix, family, most)

    def postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        import numpy as np

        if len(self.shelves) == 1:
            alone = self.shelves[0].segment.of_word(term).get(family)
            return (np.zeros(0, np.int64), np.zeros(0, np.uint8)) if alone is None else alone
        base = self._bases["units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions"]
        parts = [
            (found[0] + offset, found[1])
            for shelf, offset in zip(self.shelves, base, strict=False)
            if (found := shelf.segment.of_word(term).get(family)) is not None
        ]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate([owners for owners, _ in parts]), np.concatenate([counts for _, counts in parts])

    def add_postings(self, total: PostingSum, fields: Iterable[tuple[str, float]], term: str) -> None:
        for family, weight in fields:
            total.add(*self.postings(family, term), weight)

    def unit_frequencies(self, terms: Sequence[str], counts: Sequence[int], together: int) -> tuple[int, int]:
        """How often terms share a unit is not known for the whole projects, and taken to be as among the fetched files."""
        if self._whole:
            return counts[0], together
        overall = [self.words.units_with(term) for term in terms[: len(counts)]]
        if overall == list(counts):  # every unit that has one of them was fetched
            return counts[0], together
        highest, total, here = max(overall), sum(overall), sum(counts)
        if highest == total:  # but one of the forms occurs
            return overall[0], total
        return overall[0], min(max(round(total * together / here) if here else highest, highest), self.unit_count)

    def folder_frequency(self, term: str) -> int:
        return len(self.postings("folder", term)[0]) if self._whole else self.words.folders_with(term)

    def typical_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """Those of a sample: what was fetched is nearer than most."""
        import numpy as np

        if self._whole:
            return super().typical_cosines(direction)
        found = [np.zeros(0)]
        for shelf in self.shelves:
            sample = shelf.vocabulary.sample()
            if sample is not None and sample[0].shape[1] == len(direction.numbers):
                products = sample[0].astype(np.float64) @ direction.numbers.astype(np.float64)
                found.append(products * sample[1] / (direction.length or 1.0))
        return np.concatenate(found)

    @cached_property
    def superseded(self) -> dict[int, int]:
        import numpy as np

        found: dict[int, int] = {}
        for file in np.flatnonzero((self.file_roles & VERSIONED) != 0).tolist():
            version = version_of(self.bare_path(file))
            if version is not None and version[1] < self._shelf_of(file)[0].vocabulary.newest(version[0]):
                found[file] = version[1]
        return found

    def imports(self, files: Set[int]) -> dict[int, tuple[Import, ...]]:
        """What files import is not kept: neighbours by imports are looked for in a local index."""
        return {}

    # -- texts ------------------------------------------------------------------------------------------------------------

    def prefetch(self, units: Callable[[], Iterable[int]]) -> None:
        """The units whose texts will be asked for, in this order."""
        self._expected = units

    def _shelf_of(self, file: int) -> tuple[Shelf, int]:
        segment, local = self._place("files", file)
        return next(shelf for shelf in self.shelves if shelf.segment is segment), local

    def _fetch(self, units: Iterable[int]) -> None:
        """Read the texts of units that are not known yet."""
        wanted: dict[int, dict[tuple[str, int], int]] = {}
        for unit in units:
            if unit not in self._read:
                file = int(self.unit_file[unit])
                shelf, local = self._shelf_of(file)
                wanted.setdefault(self.shelves.index(shelf), {})[shelf.keys[local], unit - int(self.first_unit[file])] = unit
        for number, places in wanted.items():
            found = self.shelves[number].texts(list(places))
            for place, unit in places.items():
                if place not in found:
                    raise Changed("a file was replaced in the store while it was being read", "ask again")
                self._read[unit] = found[place]

    def unit_text(self, unit: int) -> str:
        if unit not in self._read:
            following = [unit]
            known = False
            for other in self._expected():
                known = known or other == unit
                if known and other != unit and other not in self._read:
                    following.append(other)
                if len(following) >= self._ahead:
                    break
            self._ahead = min(2 * self._ahead, _MOST_AHEAD)
            self._fetch(following)
        return self._read[unit]

    def text(self, file: int, start: int, end: int) -> str:
        return self._bytes(file, start, end).decode("utf-8", "replace")

    def file_text(self, file: int) -> bytes:
        return self._bytes(file, 0, int(self.file_column("size")[file]))

    def _bytes(self, file: int, start: int, end: int) -> bytes:
        """Bytes [start, end) of a file, whose units tile it."""
        rows = [(number, *self.unit(number)[1:3]) for number in self.units_of(file)]
        rows = [row for row in rows if row[1] < end and row[2] > start]
        if len(rows) > 1:
            self._fetch(number for number, _, _ in rows)
        pieces = [self.unit_text(number).encode("utf-8", "surrogatepass") for number, _, _ in rows]
        first = rows[0][1] if rows else start
        return b"".join(pieces)[start - first : end - first]

    def phrases(self, pattern: PhrasePattern, allowed: NDArray[np.bool_]) -> Phrases | None:
        """Units of allowed files that hold a short phrase as it stands: those with all of its words are read."""
        import numpy as np

        from lurcher.terms.split import split, words

        units: NDArray[np.int64] | None = None
        said = [parts[0] for word in words(pattern.text) if (parts := split(word))]
        for place, word in enumerate(said):
            forms = [word, *(self.terms_with_prefix(word, None, 50) if place == len(said) - 1 and len(word) > 2 else ())]
            having = [self.postings(family, form)[0] for form in forms for family in ("body", "comments")]
            here = np.unique(np.concatenate(having))
            units = here if units is None else np.intersect1d(units, here)
        if units is None:
            return None
        units = units[allowed[self.unit_file[units]]][:_MOST_PHRASES]
        self._fetch(units.tolist())
        found = []
        for unit in units.tolist():
            starts = pattern.starts(self._read[unit].encode("utf-8", "surrogatepass"))
            if len(starts):
                found.append((unit, len(starts), self.unit(unit)[1] + int(starts[0])))
        columns = np.array(found, np.int64).reshape(-1, 3)
        return Phrases(columns[:, 0], columns[:, 1], columns[:, 2])


class Changed(StoreError):
    """A new generation took the place of the one that was being read."""
