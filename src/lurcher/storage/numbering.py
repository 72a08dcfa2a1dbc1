"""Units, files and definitions of several segments, numbered as one in segment order, and the total order among units.

Nothing outside of the storage layer knows which segment a number belongs to. Answers must not depend on the numbers: equal
scores are ordered by path, then by line.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native, np
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, bisect_right, cached_property
from lurcher.storage.segment import TableRows
from lurcher.storage.segment_reader import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray


class NumberedTables:
    """The tables of all segments of a generation as one: columns as arrays, with dead rows, and which rows are live."""

    def __init__(self, segments: Sequence[Segment], path_order: Sequence[tuple[int, int]] = ()) -> None:
        """`path_order` gives (segment, file) of every live file in path order; a single segment is in that order anyway."""
        self.segments = list(segments)
        self._path_order = path_order
        self._bases: dict[str, list[int]] = {}
        """For units, files and definitions: the number of the first one of each segment, and the total."""
        for kind in ("units", "files", "definitions"):
            total, bases = 0, []
            for segment in self.segments:
                bases.append(total)
                total += int(segment.meta[kind])
            self._bases[kind] = [*bases, total]

    @property
    def unit_total(self) -> int:
        """The number of units, live and dead."""
        return self._bases["units"][-1]

    @property
    def file_total(self) -> int:
        return self._bases["files"][-1]

    def _place(self, kind: str, number: int) -> tuple[Segment, int]:
        if len(self.segments) == 1:
            return self.segments[0], number
        bases = self._bases[kind]
        position = bisect_right(bases, number) - 1
        while position >= len(self.segments):
            position -= 1
        return self.segments[position], number - bases[position]

    def _numbered(self, kind: str, column: str, base: str) -> NDArray[np.int64]:
        parts = []
        for segment, offset in zip(self.segments, self._bases[base], strict=False):
            rows = getattr(segment, kind)
            parts.append(
                rows.as_numbers(column, offset) if type(rows) is TableRows else rows[column].astype(np.int64) + offset
            )
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, np.int64)])

    def file_column(self, column: str) -> NDArray[Any]:
        return self._column("files", column)

    def unit_column(self, column: str) -> NDArray[Any]:
        return self._column("units", column)

    def _column(self, kind: str, column: str) -> NDArray[Any]:
        known = self._columns.get((kind, column))
        if known is None:
            known = self._columns[kind, column] = self._join_column(kind, column)
        return known

    @cached_property
    def _columns(self) -> dict[tuple[str, str], NDArray[Any]]:
        return {}

    def _join_column(self, kind: str, column: str) -> NDArray[Any]:
        columns = [getattr(segment, kind)[column] for segment in self.segments]
        if len(columns) == 1:
            return columns[0]  # type: ignore[no-any-return]
        return np.concatenate(columns) if columns else np.zeros(0, np.int64)

    @cached_property
    def live_files(self) -> NDArray[np.bool_]:
        return np.concatenate([
            np.ones(len(segment.files), bool) if segment.live is None else segment.live for segment in self.segments
        ] or [np.zeros(0, bool)])  # fmt: skip

    @cached_property
    def live_units(self) -> NDArray[np.bool_]:
        live: NDArray[np.bool_] = self.live_files[self.unit_file]
        return live

    @property
    def _all_live(self) -> bool:
        return all(segment.live is None for segment in self.segments)

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
        return self._column("definitions", "start")

    @cached_property
    def definition_parts(self) -> NDArray[Any]:
        """How many words the name of each type has; 0 for other definitions."""
        return self._column("definitions", "parts")

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
    return _top_positions(tables, files, values, most)


def _top_positions(
    tables: NumberedTables, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    import numpy as np

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
