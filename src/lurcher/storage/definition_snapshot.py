"""The definitions of a snapshot: by number, by file, and around a byte."""

from __future__ import annotations

from functools import cached_property

from lurcher.storage.container import BoundedCache
from lurcher.storage.segment import (
    KINDS,
    MAX_CACHED_ROWS,
    Segment,
    decode_definition,
    decode_definitions,
    decode_string,
    find_innermost,
    mark_kinds,
)  # fmt: skip
from lurcher.storage.table_snapshot import TableSnapshot
from lurcher.storage.tables import TableRows
from lurcher.terms import split, words
from lurcher.types import Definition, qualified_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

_MANY_NAMES = 2000
"""Reading so many names one by one takes as long as reading all strings of a large segment."""
MAX_CACHED_CHARS = 2_000_000
"""Of texts that are kept for the next query."""
MAX_CACHED_NAMES = 10_000


class DefinitionSnapshot(TableSnapshot[Segment]):
    """What files define, and the caches of it. Definitions are numbered in segment order, as units and files are."""

    def __init__(self, segments: Sequence[Segment], generation: int) -> None:
        super().__init__(segments, generation)
        self._labels: BoundedCache[int, tuple[str, str]] = BoundedCache(MAX_CACHED_NAMES)
        self._definitions: BoundedCache[int, Definition] = BoundedCache(MAX_CACHED_NAMES)
        self._enclosing: BoundedCache[tuple[int, frozenset[str]], list[int]] = BoundedCache(MAX_CACHED_ROWS)
        self._starting: BoundedCache[tuple[int, frozenset[str]], dict[int, list[int]]] = BoundedCache(MAX_CACHED_ROWS)
        self._name_terms: BoundedCache[int, frozenset[str]] = BoundedCache(MAX_CACHED_NAMES)
        self._naming: BoundedCache[int, tuple[Any, ...]] = BoundedCache(MAX_CACHED_CHARS)
        self._ranges: dict[int, tuple[Segment, int, int]] = {}

    @cached_property
    def first_unit(self) -> NDArray[np.int64]:
        """The number of each file's first unit."""
        return self._number_rows("files", "unit", "units")

    @cached_property
    def definition_file(self) -> NDArray[np.int64]:
        return self._number_rows("definitions", "file", "files")

    @cached_property
    def definition_unit(self) -> NDArray[np.int64]:
        """The unit in which each definition begins."""
        return self._number_rows("definitions", "unit", "units")

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
        return self.column("files", "definitions")

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

    def definition_name(self, number: int) -> str:
        segment, local = self._place("definitions", number)
        return segment.string(int(segment.definitions["name"][local]))

    def definition_names(self, numbers: NDArray[np.int64]) -> list[str]:
        """The names of definitions, given by ascending numbers."""
        if len(numbers) < _MANY_NAMES:
            return [self.definition_name(number) for number in numbers.tolist()]
        found: list[str] = []
        bases = self._bases["definitions"]
        for segment, base in zip(self.segments, bases, strict=False):
            inside = numbers[(numbers >= base) & (numbers < base + len(segment.definitions))] - base
            if len(inside):
                strings = bytes(segment.container.section("strings"))
                found += [decode_string(strings, offset) for offset in segment.definitions["name"][inside].tolist()]
        return found

    def definition(self, number: int) -> Definition:
        known = self._definitions.get(number)
        if known is None:
            segment, local = self._place("definitions", number)
            known = decode_definition(segment, segment.definitions[local])
            self._definitions.put(number, known, 0)
        return known

    def definition_place(self, number: int) -> tuple[int, int]:
        """(file, unit) of a definition."""
        segment, local = self._place("definitions", number)
        row = segment.definitions[local]
        position = self.segments.index(segment)
        return int(row["file"]) + self._bases["files"][position], int(row["unit"]) + self._bases["units"][position]

    def definitions_of(self, file: int) -> list[Definition]:
        """What a file defines, in order of appearance."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first, count = int(row["definition"]), int(row["definitions"])
        return decode_definitions(segment, segment.definitions[first : first + count]) if count else []

    def definition_extents(self, file: int) -> list[tuple[int, int, str]]:
        """Start, end and kind of each of them; their names take most of the time to decode."""
        segment, first, count = self._definition_range(file)
        rows = segment.definitions[first : first + count]
        starts, ends, kinds = (rows[column].tolist() if count else () for column in ("start", "end", "kind"))
        return list(zip(starts, ends, [KINDS[kind] for kind in kinds], strict=True))

    def definition_numbers(self, file: int) -> range:
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["definition"]) + self._bases["definitions"][self.segments.index(segment)]
        return range(first, first + int(row["definitions"]))

    def innermost(self, file: int, byte: int, kinds: frozenset[str]) -> int:
        """The smallest definition of one of `kinds` that holds a byte of a file; the first of equals; -1 if there is none."""
        segment, first, count = self._definition_range(file)
        table: Any = segment.definitions
        if type(table) is TableRows:
            place = table.innermost(first, count, byte, mark_kinds(kinds))
        else:
            place = find_innermost(table[first : first + count], byte, kinds)
        if place < 0 or len(self.segments) == 1:
            return place if place < 0 else first + place
        return self._bases["definitions"][self.segments.index(segment)] + first + place

    def enclosing_definitions(self, file: int, kinds: frozenset[str]) -> list[int]:
        """For each unit of a file, the innermost definition of one of `kinds` around its middle, or -1."""
        key = file, kinds
        known = self._enclosing.get(key)
        if known is None:
            segment, local = self._place("files", file)
            row = segment.files[local]
            units = slice(int(row["unit"]), int(row["unit"]) + int(row["units"]))
            starts, ends = segment.units["start"][units].tolist(), segment.units["end"][units].tolist()
            known = [self.innermost(file, (start + end) // 2, kinds) for start, end in zip(starts, ends, strict=True)]
            self._enclosing.put(key, known, len(known))
        return known

    def starting_definitions(self, file: int, kinds: frozenset[str]) -> dict[int, list[int]]:
        """Units of a file, numbered within it, in which definitions of `kinds` begin → the numbers of these."""
        key = file, kinds
        known = self._starting.get(key)
        if known is None:
            segment, first, count = self._definition_range(file)
            rows = segment.definitions[first : first + count]
            marks = mark_kinds(kinds)
            position = self.segments.index(segment)
            number = self._bases["definitions"][position] + first
            offset = int(self.first_unit[file]) - self._bases["units"][position]
            known = {}
            for unit, kind in zip(rows["unit"].tolist(), rows["kind"].tolist(), strict=True) if count else ():
                if marks[kind]:
                    known.setdefault(unit - offset, []).append(number)
                number += 1
            self._starting.put(key, known, count)
        return known

    def naming_columns(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """For the kernel: the width of the rows of units and of definitions, and where in them the columns are that lead to
        names; None where tables are numpy arrays."""
        units, definitions = (getattr(self.segments[0], table) for table in ("units", "definitions"))
        if type(units) is not TableRows:
            return None
        columns = definitions.packed("unit", "start", "end", "name", "container", "kind")[1:]
        return units.packed("start", "end")[1:], columns

    def naming_rows(self, file: int) -> tuple[Any, ...]:
        """For the kernel: the rows of units and the first of the file, the rows of definitions with the first of the file and
        their number, its strings and the offset of the first."""
        known = self._naming.get(file)
        if known is None:
            segment, local = self._place("files", file)
            tables: list[Any] = [segment.units, segment.definitions]
            row, starts = segment.files[local], segment.files["strings"]
            start = int(starts[local])
            end = int(starts[local + 1]) if local + 1 < len(starts) else segment.container.length("strings")
            strings = bytes(segment.container.section("strings", start, end)) if start < end else b""
            units, definitions = (rows.packed()[0] for rows in tables)
            known = units, int(row["unit"]), definitions, int(row["definition"]), int(row["definitions"]), strings, start
            self._naming.put(file, known, len(strings))
        return known

    def _definition_range(self, file: int) -> tuple[Segment, int, int]:
        """The segment of a file, and in it the first definition of the file and their number."""
        known = self._ranges.get(file)
        if known is None:
            segment, local = self._place("files", file)
            rows: Any = segment.files
            row = rows.numbers(local) if type(rows) is TableRows else rows[local].item()
            known = self._ranges[file] = segment, row[4], row[5]
        return known

    def definition_label(self, number: int) -> tuple[str, str]:
        """The qualified name of a definition, and its kind."""
        known = self._labels.get(number)
        if known is None:
            segment, local = self._place("definitions", number)
            row = segment.definitions[local]
            kind = KINDS[int(row["kind"])]
            name, container = segment.string(int(row["name"])), segment.string(int(row["container"]))
            known = qualified_name(name, kind, container), kind
            self._labels.put(number, known, 0)
        return known

    def definition_terms(self, number: int) -> frozenset[str]:
        """The terms of a definition's qualified name."""
        known = self._name_terms.get(number)
        if known is None:
            name, _ = self.definition_label(number)
            known = frozenset([term for word in words(name) for term in split(word)])
            self._name_terms.put(number, known, 0)
        return known

    def definition_ends(self, file: int) -> dict[int, list[int]]:
        """First byte of definitions of a file → their ends."""
        segment, first, count = self._definition_range(file)
        rows = segment.definitions[first : first + count]
        found: dict[int, list[int]] = {}
        for start, end in zip(rows["start"].tolist(), rows["end"].tolist(), strict=True):
            found.setdefault(start, []).append(end)
        return found
