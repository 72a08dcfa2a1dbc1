"""A snapshot of a few files of shared projects, as lanes and rankings use it.

It reads its tables and postings like the snapshot of a local index, from segments that were assembled of what the store
returned. Two things differ: statistics are those of the whole projects, and texts are fetched when they are needed, together
with those that will probably be needed next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lurcher.sources.roles import VERSIONED, version_of
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.table_snapshot import PhrasePattern, Phrases
from lurcher.stores.base import Head, StoreChanged
from lurcher.stores.records import AssembledSegment
from lurcher.stores.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.tables import Direction

_AHEAD = 24
"""Texts fetched with the first request; each further request fetches twice as many."""
_MAX_AHEAD = 400
_MAX_PHRASE_UNITS = 120
"""Units whose text is read to find a phrase, which is one piece of evidence among others."""

Texts = Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], str]]


@dataclass(frozen=True, slots=True)
class FetchedProject:
    """The fetched files of one project."""

    project: str
    head: Head
    segment: AssembledSegment
    keys: tuple[str, ...]
    """Keys of the files, in their order."""
    vocabulary: Vocabulary
    texts: Texts

    def total_length(self, field: str) -> int:
        value = self.head.more.get(f"length.{field}", "0")
        return int(value) if value.isdecimal() else 0


class MergedVocabulary:
    """The vocabularies of some projects as one, for planning a query."""

    def __init__(self, vocabularies: Sequence[Vocabulary]) -> None:
        self._vocabularies = vocabularies

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        if len(self._vocabularies) == 1:
            return self._vocabularies[0].with_prefix(prefix, family, most)
        found: set[str] = set()
        for vocabulary in self._vocabularies:
            found.update(vocabulary.with_prefix(prefix, family, most))
        return sorted(found) if family is not None else sorted(found)[:most]

    def knows(self, term: str) -> bool:
        return any([vocabulary.stats(term) is not None for vocabulary in self._vocabularies])

    def units_with(self, term: str) -> int:
        """In how many units of all projects a term occurs."""
        return sum(stats.units for vocabulary in self._vocabularies if (stats := vocabulary.stats(term)) is not None)

    def units_with_any(self, terms: Sequence[str]) -> int | None:
        """In how many units any of some forms of a word occurs; None where a project does not have that."""
        found = [vocabulary.units_with_any(terms) for vocabulary in self._vocabularies]
        return None if None in found else sum(count for count in found if count is not None)

    def folders_with(self, term: str) -> int:
        return sum(stats.folders for vocabulary in self._vocabularies if (stats := vocabulary.stats(term)) is not None)

    def files_with(self, term: str) -> int:
        """How many files define a name or have it as their own."""
        return sum(stats.files for vocabulary in self._vocabularies if (stats := vocabulary.stats(term)) is not None)


class SharedSnapshot(Snapshot):
    def __init__(self, projects: Sequence[FetchedProject]) -> None:
        order = [(number, place) for number, project in enumerate(projects) for place in range(len(project.keys))]
        generation = sum(project.head.generation for project in projects)
        super().__init__([project.segment for project in projects], generation, order)
        self.forms = None  # others write to the store
        self.projects = list(projects)
        self.words = MergedVocabulary([project.vocabulary for project in projects])
        self._whole = all(len(project.keys) >= project.head.files for project in projects)
        self._read: dict[int, bytes] = {}
        self._expected: Callable[[], Iterable[int]] = tuple
        self._ahead = _AHEAD

    # -- statistics of the whole projects ---------------------------------------------------------------------------------

    @cached_property
    def unit_count(self) -> int:
        return sum(project.head.units for project in self.projects)

    @cached_property
    def file_count(self) -> int:
        return sum(project.head.files for project in self.projects)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({name for project in self.projects for name in project.head.more.get("languages", "").split()}))

    def lengths(self, field: str) -> tuple[NDArray[np.float64], float]:
        values, _ = super().lengths(field)
        return values, sum(project.total_length(field) for project in self.projects) / max(self.unit_count, 1)

    def knows(self, term: str) -> bool:
        return self.words.knows(term)

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        return self.words.terms_with_prefix(prefix, family, most)

    @property
    def is_partial(self) -> bool:
        return not self._whole

    def unit_frequencies(self, terms: Sequence[str], counts: Sequence[int], together: int) -> tuple[int, int]:
        """Those of the whole projects. One that an older version wrote does not say how often terms share a unit; that is
        estimated from the fetched files."""
        if self._whole:
            return counts[0], together
        overall = [self.words.units_with(term) for term in terms[: len(counts)]]
        known = self.words.units_with_any(terms[: len(counts)])
        if known is not None:
            return overall[0], known
        if overall == list(counts):  # every unit that has one of them was fetched
            return counts[0], together
        highest, total, here = max(overall), sum(overall), sum(counts)
        if highest == total:  # only one of the forms occurs
            return overall[0], total
        return overall[0], min(max(round(total * together / here) if here else highest, highest), self.unit_count)

    def folder_frequency(self, term: str) -> int:
        return len(self.postings("folder", term)[0]) if self._whole else self.words.folders_with(term)

    def typical_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """Those of a sample: the fetched units are nearer than most."""
        import numpy as np

        if self._whole:
            return super().typical_cosines(direction)
        found = [np.zeros(0)]
        for project in self.projects:
            sample = project.vocabulary.sample()
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
            if version is not None and version[1] < self._project_of(file)[0].vocabulary.newest_version(version[0]):
                found[file] = version[1]
        return found

    # -- texts ------------------------------------------------------------------------------------------------------------

    def prefetch(self, units: Callable[[], Iterable[int]]) -> None:
        """The units whose texts will be needed, in this order."""
        self._expected = units

    def _project_of(self, file: int) -> tuple[FetchedProject, int]:
        segment, local = self._place("files", file)
        return next(project for project in self.projects if project.segment is segment), local

    def _fetch(self, units: Iterable[int]) -> None:
        """Fetch the texts of units that are not in memory yet."""
        wanted: dict[int, dict[tuple[str, int], int]] = {}
        for unit in units:
            if unit not in self._read:
                file = int(self.unit_file[unit])
                project, local = self._project_of(file)
                place = project.keys[local], unit - int(self.first_unit[file])
                wanted.setdefault(self.projects.index(project), {})[place] = unit
        for number, places in wanted.items():
            found = self.projects[number].texts(list(places))
            for place, unit in places.items():
                if place not in found:
                    raise StoreChanged("a file was replaced in the store while it was being read", "ask again")
                self._read[unit] = found[place].encode("utf-8", "surrogatepass")

    def _read_text(self, file: int, start: int, end: int) -> bytes:
        """Bytes [start, end) of a file, joined from its units, which cover it without gaps."""
        starts, first = self.unit_starts(file), int(self.first_unit[file])
        low, high = max(int(starts.searchsorted(start, "right")) - 1, 0), int(starts.searchsorted(end))
        units = range(first + low, first + high)
        if len(units) > 1:
            self._fetch(units)
        pieces = [self._read_unit(unit) for unit in units]
        skipped = start - int(starts[low]) if units else 0
        return b"".join(pieces)[skipped : skipped + end - start]

    def _read_unit(self, unit: int) -> bytes:
        if unit not in self._read:
            following = [unit]
            known = False
            for other in self._expected():
                known = known or other == unit
                if known and other != unit and other not in self._read:
                    following.append(other)
                if len(following) >= self._ahead:
                    break
            self._ahead = min(2 * self._ahead, _MAX_AHEAD)
            self._fetch(following)
        return self._read[unit]

    def phrases(self, pattern: PhrasePattern, allowed: NDArray[np.bool_]) -> Phrases | None:
        """Units of allowed files that contain a short phrase; only units with all of its words are read."""
        import numpy as np

        from lurcher.terms import split, words

        units: NDArray[np.int64] | None = None
        spelled = [parts[0] for word in words(pattern.text) if (parts := split(word))]
        for place, word in enumerate(spelled):
            is_last = place == len(spelled) - 1
            forms = [word, *(self.terms_with_prefix(word, None, 50) if is_last and len(word) > 2 else ())]
            having = [self.postings(family, form)[0] for form in forms for family in ("body", "comments")]
            here = np.unique(np.concatenate(having))
            units = here if units is None else np.intersect1d(units, here)
        if units is None:
            return None
        units = units[allowed[self.unit_file[units]]][:_MAX_PHRASE_UNITS]
        self._fetch(units.tolist())
        found = []
        for unit in units.tolist():
            starts = pattern.starts(self._read[unit])
            if len(starts):
                found.append((unit, len(starts), self.unit(unit)[1] + int(starts[0])))
        columns = np.array(found, np.int64).reshape(-1, 3)
        return Phrases(columns[:, 0], columns[:, 1], columns[:, 2])
