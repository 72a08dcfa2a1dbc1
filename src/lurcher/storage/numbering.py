"""Units, files and definitions of several segments, numbered as one in segment order, and the total order among units.

Nothing outside of the storage layer knows which segment a number belongs to. Answers must not depend on the numbers: equal
scores are ordered by path, then by line.
"""

from __future__ import annotations

from itertools import islice

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, Generic, NamedTuple, TypeVar, bisect_right, cached_property
from lurcher.storage.container import BoundedCache
from lurcher.storage.segment import FILES, Schema, TableRows
from lurcher.storage.segment_reader import MAX_CACHED_ROWS, MAX_CACHED_TERMS, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

AnySegment = TypeVar("AnySegment", bound=Segment)


class TableSnapshot(Generic[AnySegment]):
    """The segments of one generation read as one, whatever their schema: columns with dead rows, live rows, terms, postings.

    Thread-safe for readers: nothing but caches changes.
    """

    schema: Schema = FILES
    _np: Any = np
    """What joins columns: `np`, or numpy where tables are numpy arrays."""

    def __init__(self, segments: Sequence[AnySegment], generation: int = 0) -> None:
        self.segments = list(segments)
        self.generation = generation
        self._bases: dict[str, list[int]] = {}
        """Table → the number of the first row of each segment, and the total."""
        for kind in self.schema.tables:
            total, bases = 0, []
            for segment in self.segments:
                bases.append(total)
                total += int(segment.meta[kind])
            self._bases[kind] = [*bases, total]
        self._postings: BoundedCache[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.uint8]]]
        self._postings = BoundedCache(MAX_CACHED_ROWS)
        self._prefixed: BoundedCache[tuple[str, str | None, int], list[str]] = BoundedCache(MAX_CACHED_TERMS)

    def _place(self, kind: str, number: int) -> tuple[AnySegment, int]:
        """The segment that holds a row of a table, and its number there."""
        if len(self.segments) == 1:
            return self.segments[0], number
        bases = self._bases[kind]
        position = bisect_right(bases, number) - 1
        while position >= len(self.segments):
            position -= 1
        return self.segments[position], number - bases[position]

    def _numbered(self, kind: str, column: str, base: str) -> NDArray[np.int64]:
        """A column of row numbers of the table `base`, converted from numbers within a segment to numbers over all."""
        parts = []
        for segment, offset in zip(self.segments, self._bases[base], strict=False):
            rows = segment.table(kind)
            parts.append(
                rows.as_numbers(column, offset) if type(rows) is TableRows else rows[column].astype(np.int64) + offset
            )
        return parts[0] if len(parts) == 1 else self._np.concatenate(parts or [self._np.zeros(0, np.int64)])

    def column(self, kind: str, column: str) -> NDArray[Any]:
        """A column of a table as it is stored, over all segments."""
        known = self._columns.get((kind, column))
        if known is None:
            known = self._columns[kind, column] = self._join_column(kind, column)
        return known

    @cached_property
    def _columns(self) -> dict[tuple[str, str], NDArray[Any]]:
        return {}

    def _join_column(self, kind: str, column: str) -> NDArray[Any]:
        columns: list[NDArray[Any]] = [segment.table(kind)[column] for segment in self.segments]
        if len(columns) != 1:
            columns = [self._np.concatenate(columns) if columns else self._np.zeros(0, np.int64)]
        return columns[0]

    @cached_property
    def live_rows(self) -> NDArray[np.bool_]:
        """Which rows of the main table are live."""
        live: NDArray[np.bool_] = self._np.concatenate([
            self._np.ones(int(segment.meta[self.schema.main]), bool) if segment.live is None else segment.live
            for segment in self.segments
        ] or [self._np.zeros(0, bool)])  # fmt: skip
        return live

    @property
    def _all_live(self) -> bool:
        return all(segment.live is None for segment in self.segments)

    def knows(self, term: str) -> bool:
        """Whether any segment has the term, in live rows or dead ones."""
        for segment in self.segments:  # noqa: SIM110 - called so often that a generator would be noticeable
            if segment.find(term) >= 0:
                return True
        return False

    def postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Live owners of `term`, ascending and numbered across segments, with counts."""
        key = family, term
        known = self._postings.get(key)
        if known is None:
            known = self._collect_postings(family, term)
            self._postings.put(key, known, len(known[0]))
        return known

    def _collect_postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        parts = []
        for segment, offset in zip(self.segments, self._bases[self.schema.fields[family]], strict=False):
            number = segment.find(term)
            found = segment.postings(family, number) if number >= 0 else None
            if found is not None:
                parts.append((found[0] + offset, found[1]) if offset else found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate([owners for owners, _ in parts]), np.concatenate([counts for _, counts in parts])

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        """Known terms that begin with `prefix`, sorted: all of `family` where one is given, else the first `most`."""
        key = prefix, family, most
        known = self._prefixed.get(key)
        if known is None:
            known = self._with_prefix(prefix, family, most)
            self._prefixed.put(key, known, len(known))
        return known

    def _with_prefix(self, prefix: str, family: str | None, most: int) -> list[str]:
        key = prefix.encode("utf-8", "surrogatepass")
        found: dict[str, None] = {}  # in order already where there is one segment
        ranges = [(segment.lower_bound(key), segment.lower_bound(key + b"\xff")) for segment in self.segments]
        if family is not None:
            for segment, (first, last) in zip(self.segments, ranges, strict=True):
                found.update(dict.fromkeys(map(segment.term_text, segment.terms_in_family(family, first, last))))
            return sorted(found)
        # Terms of dead rows only matter where they crowd out others.
        crowded = sum(last - first for first, last in ranges) >= most
        for segment, (first, last) in zip(self.segments, ranges, strict=True):
            if crowded and segment.live is not None:
                numbers = filter(segment.is_live, range(first, last))
                found.update(dict.fromkeys(map(segment.term_text, islice(numbers, most))))
            else:
                found.update(dict.fromkeys(segment.term_texts(first, max(first, min(last, first + most)))))
        return sorted(found)[:most]


class NumberedTables(TableSnapshot[Segment]):
    """The tables of files: units, files and definitions, and the total order among units."""

    def __init__(self, segments: Sequence[Segment], generation: int, path_order: Sequence[tuple[int, int]] = ()) -> None:
        """`path_order` gives (segment, file) of every live file in path order; a single segment is in that order anyway."""
        super().__init__(segments, generation)
        self._path_order = path_order

    @property
    def unit_total(self) -> int:
        """The number of units, live and dead."""
        return self._bases["units"][-1]

    @property
    def file_total(self) -> int:
        return self._bases["files"][-1]

    def file_column(self, column: str) -> NDArray[Any]:
        return self.column("files", column)

    def unit_column(self, column: str) -> NDArray[Any]:
        return self.column("units", column)

    @property
    def live_files(self) -> NDArray[np.bool_]:
        return self.live_rows

    @cached_property
    def live_units(self) -> NDArray[np.bool_]:
        live: NDArray[np.bool_] = self.live_files[self.unit_file]
        return live

    @cached_property
    def unit_count(self) -> int:
        """The number of live units."""
        return self.unit_total if self._all_live else int(self.live_units.sum())

    @cached_property
    def file_count(self) -> int:
        return self.file_total if self._all_live else int(self.live_files.sum())

    @cached_property
    def unit_file(self) -> NDArray[np.int64]:
        return self._numbered("units", "file", "files")

    @cached_property
    def first_unit(self) -> NDArray[np.int64]:
        """The number of each file's first unit."""
        return self._numbered("files", "unit", "units")

    @cached_property
    def unit_counts(self) -> NDArray[np.int64]:
        """How many units each file has."""
        counts: NDArray[np.int64] = self.file_column("units").astype(np.int64)
        return counts

    @cached_property
    def unit_line_group(self) -> NDArray[np.int64]:
        """A number for each unit; units that share a line have the same."""
        line, last, file = self.unit_column("line"), self.unit_column("last"), self.unit_file
        new = np.full(self.unit_total, True)
        new[1:] = (line[1:] > last[:-1]) | (file[1:] != file[:-1])
        groups: NDArray[np.int64] = np.cumsum(new) - 1
        return groups

    @cached_property
    def line_groups(self) -> int:
        """How many different numbers `unit_line_group` has."""
        return int(self.unit_line_group[-1]) + 1 if self.unit_total else 0

    @cached_property
    def definition_file(self) -> NDArray[np.int64]:
        return self._numbered("definitions", "file", "files")

    @cached_property
    def definition_unit(self) -> NDArray[np.int64]:
        """The unit in which each definition begins."""
        return self._numbered("definitions", "unit", "units")

    @cached_property
    def definition_start(self) -> NDArray[Any]:
        return self.column("definitions", "start")

    @cached_property
    def definition_parts(self) -> NDArray[Any]:
        """How many words the name of each type has; 0 for other definitions."""
        return self.column("definitions", "parts")

    @cached_property
    def file_definitions(self) -> NDArray[Any]:
        """How many definitions each file has."""
        return self.file_column("definitions")

    def definition_rows(self) -> list[tuple[Any, ...]] | None:
        """For the kernel: the definitions of each segment as packed rows, with the offsets of `file` and `parts`, and the
        number of the segment's first file; None where tables are numpy arrays."""
        found: list[tuple[Any, ...]] = []
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            rows: Any = segment.definitions
            if type(rows) is not TableRows:
                return None
            found.append((*rows.packed("file", "parts"), base))
        return found

    @cached_property
    def path_rank(self) -> NDArray[np.int64]:
        """The position of each file among all live files in path order."""
        ranks = np.arange(self.file_total)
        if len(self.segments) > 1:
            bases = self._bases["files"]
            numbers = [bases[segment] + place for segment, place in self._path_order]
            ranks[np.array(numbers, np.int64)] = np.arange(len(numbers))
        return ranks

    def flagged(self, flag: int) -> list[int]:
        """The live files that have a flag."""
        flags = self.file_column("flags")
        if not len(flags) or int(flags.max()) < flag:
            return []
        found: list[int] = np.flatnonzero(((flags & flag) != 0) & self.live_files).tolist()
        return found

    @cached_property
    def file_roles(self) -> NDArray[Any]:
        return self.file_column("roles")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of live files, sorted."""
        found: set[str] = set()
        for segment in self.segments:
            numbers = segment.files["language"] if segment.live is None else segment.files["language"][segment.live]
            found.update(str(segment.meta["languages"][number]) for number in np.unique(numbers).tolist())
        return tuple(sorted(found))

    def language(self, file: int) -> str:
        segment, local = self._place("files", file)
        return str(segment.meta["languages"][int(segment.files["language"][local])])


def order_units(tables: NumberedTables, units: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of `units` by descending value, then path, then line: a total order."""
    files = tables.unit_file[units]
    return np.lexsort((units, tables.path_rank[files], -values))


def order_by_path(tables: NumberedTables, numbers: NDArray[np.int64], files: NDArray[np.int64]) -> NDArray[np.int64]:
    """`numbers`, each of something in the file at the same position of `files`, by path and then by number.

    A limit may cut numbers only in this order: the numbers themselves depend on the segments.
    """
    if len(tables.segments) < 2:
        return numbers
    return numbers[np.lexsort((numbers, tables.path_rank[files]))]


def top_files(
    tables: NumberedTables, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """At most `most` of `files`, those with the largest values, sorted by number; ties go to the first path."""
    return files if len(files) <= most else files[top_positions(tables, files, values, most)]


def top_positions(
    tables: NumberedTables, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Ascending positions of the `most` largest values; ties go to the first path of a file."""
    kernel = native()
    if kernel is not None:
        found: NDArray[np.int64] = kernel.largest(values, files, tables.path_rank, most)
        return found
    if len(files) <= most:
        return np.arange(len(files))
    border = np.partition(values, len(values) - most)[len(values) - most]
    above, equal = np.flatnonzero(values > border), np.flatnonzero(values == border)
    equal = equal[np.argsort(tables.path_rank[files[equal]], kind="stable")][: most - len(above)]
    return np.sort(np.concatenate((above, equal)))


class FileScores(NamedTuple):
    """The scores of units, per file."""

    best: NDArray[np.float64]
    """The highest score of a unit, 0 where none has a score."""
    units: NDArray[np.int64]
    """The first unit with that score, or -1."""
    scored: NDArray[np.int64]
    """How many units have a score."""


def best_units_by_file(tables: NumberedTables, scores: NDArray[np.float64]) -> FileScores:
    """The best unit of each file; the units of a file have consecutive numbers."""
    kernel = native()
    if kernel is not None:
        return FileScores(*kernel.best_units(scores, tables.first_unit, tables.unit_counts))
    return _best_units_by_file(tables, scores)


def _best_units_by_file(tables: NumberedTables, scores: NDArray[np.float64]) -> FileScores:
    import numpy as np

    best, units = np.zeros(tables.file_total), np.full(tables.file_total, -1, np.int64)
    scored = np.zeros(tables.file_total, np.int64)
    filled = np.flatnonzero(tables.unit_counts)
    if len(filled):
        best[filled] = np.maximum(np.maximum.reduceat(scores, tables.first_unit[filled]), 0.0)
        scored[filled] = np.add.reduceat((scores > 0).astype(np.int64), tables.first_unit[filled])
        top = np.flatnonzero((scores > 0) & (scores == best[tables.unit_file]))[::-1]
        units[tables.unit_file[top]] = top  # the last write stays: the first of equals
    return FileScores(best, units, scored)


def rank_of_unit(
    tables: NumberedTables, scores: NDArray[np.float64], unit: int, counts: tuple[int, int] | None = None
) -> int:
    """The 1-based rank of a unit in the total order; 0 where it has no score.

    `counts` is what `count_above_and_equal` says of its score, for callers that rank many units.
    """
    value = scores[unit]
    if not value > 0:
        return 0
    above, equal = counts or count_above_and_equal(scores, [float(value)])[0]
    if equal > 1:
        tied = np.flatnonzero(scores == value)
        above += int(np.flatnonzero(tied[order_units(tables, tied, scores[tied])] == unit)[0])
    return above + 1


def count_above_and_equal(scores: NDArray[np.float64], values: Sequence[float]) -> list[tuple[int, int]]:
    """For each value the number of scores above it and of scores equal to it."""
    kernel = native()
    if kernel is None:
        return [(int(np.count_nonzero(scores > value)), int(np.count_nonzero(scores == value))) for value in values]
    found: list[tuple[int, int]] = kernel.standings(scores, values)
    return found
