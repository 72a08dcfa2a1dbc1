"""The format of a segment: some files with their units, definitions, imports, terms and text, as flat tables.

A unit is a chunk of a file as it is searched. Rows are in path order, so the same files give the same bytes however they were
read. The writer is in segment_writer.py, the reader in segment_reader.py; here are the layouts of the tables, the checks that
every row leads to something that exists, and `TableRows`, which reads a table without numpy.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native, np
from lurcher.runtime.light import TYPE_CHECKING, Struct, cache
from lurcher.storage.container import Container, Layout
from lurcher.storage.vectors import check_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

FORMAT = 12

UNIT_FIELDS = ("body", "comments", "symbols")
"""Fields whose terms belong to a unit; each byte of a text belongs to one of the first two."""
NOTE_FIELDS = ("above",)
"""Fields of units that only notes have and only rankings of notes use: title, headings, tags and aliases."""
UNIT_FAMILIES = (*UNIT_FIELDS, *NOTE_FIELDS)
FILE_FIELDS = ("name", "folder", "stem")
"""Fields whose terms belong to a file, and so to each of its units: the parts of its name, its last three folders, and its
whole name as one term (counted only where that differs from the parts)."""
DEFINITION_FIELDS = ("definitions", "types")
"""Fields whose terms belong to a definition: its whole name, and for types the parts of the name."""
CARD_FIELD = "named"
"""Counts the names on a file's card (its short description, see vectors) during a build; not stored."""
FAMILIES = (*UNIT_FAMILIES, *FILE_FIELDS, *DEFINITION_FIELDS)

KINDS = (
    "other", "class", "struct", "enum", "interface", "trait", "type", "module", "function", "method", "constructor", "macro",
    "constant", "variable", "field", "property", "object", "union", "namespace", "record", "protocol", "extension", "instance",
    "heading", "enumerator", "table", "view", "index", "trigger", "procedure", "resource",
)  # fmt: skip
TYPE_KINDS = frozenset(
    (
        "class", "struct", "enum", "interface", "trait", "type", "module", "object", "union", "namespace", "record", "protocol",
        "table", "view", "resource",
    )  # fmt: skip
)
FUNCTION_KINDS = frozenset(("function", "method", "constructor", "macro", "trigger", "procedure"))

EXPORTED = 1
HAS_UNINDEXED_WORDS, GRAMMAR_GAVE_UP, NO_GRAMMAR = 1, 2, 4
"""Flags of files.

HAS_UNINDEXED_WORDS: it may hold words that are not among its terms: overlong ones, ones with combining accents, ones that a
chunk border cuts. GRAMMAR_GAVE_UP: it is cut by lines because its grammar took too much time or memory. NO_GRAMMAR: it is cut
by lines because the grammar of its language is not installed.
"""

FILE = [
    ("text", "<u8"), ("size", "<u4"), ("unit", "<u4"), ("units", "<u4"), ("definition", "<u4"), ("definitions", "<u4"),
    ("path", "<u4"), ("strings", "<u4"), ("crc", "<u4"), ("language", "<u2"), ("roles", "<u2"), ("name", "<u2"),
    ("folder", "<u2"), ("stem", "<u2"), ("flags", "<u2"),
]  # fmt: skip
UNIT = [
    ("file", "<u4"), ("start", "<u4"), ("end", "<u4"), ("line", "<u4"), ("last", "<u4"), ("definition", "<i4"),
    ("body", "<u4"), ("comments", "<u4"), ("symbols", "<u4"), ("above", "<u4"),
]  # fmt: skip
DEFINITION = [
    ("file", "<u4"), ("unit", "<u4"), ("start", "<u4"), ("end", "<u4"), ("line", "<u4"), ("last", "<u4"), ("name", "<u4"),
    ("container", "<u4"), ("signature", "<u4"), ("kind", "u1"), ("flags", "u1"), ("parts", "<u2"),
]  # fmt: skip
IMPORT = [("file", "<u4"), ("line", "<u4"), ("text", "<u4"), ("kind", "u1")]
"""`text` is the offset of the import's words: the module, then the imported names, zero-terminated as a whole."""

TableReader: TypeAlias = "Callable[[str, Layout], NDArray[Any]]"
"""Reads a table of a layout: as a numpy array, or as `TableRows`."""


def decode_string(strings: bytes, offset: int) -> str:
    """The zero-terminated string at `offset`."""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else None].decode("utf-8", "replace")


def read_string(container: Container, section: str, offset: int) -> str:
    """The zero-terminated string at `offset` of a section."""
    length, step = container.length(section), 128
    while True:
        piece = bytes(container.section(section, offset, min(offset + step, length)))
        stop = piece.find(b"\0")
        if stop >= 0 or offset + step >= length:
            return piece[: stop if stop >= 0 else None].decode("utf-8", "replace")
        step *= 8


def check_segment(container: Container) -> Container:
    """The container, if it is a segment whose tables have the sizes that its meta entry names."""
    meta = container.meta
    for name, layout in (("files", FILE), ("units", UNIT), ("definitions", DEFINITION), ("imports", IMPORT)):
        width = sum(int(kind[-1]) for _, kind in layout)
        if type(meta.get(name)) is not int or container.length(name) != meta[name] * width:
            raise container.corrupt(f"the number of its {name} is wrong")
    if type(meta.get("terms")) is not int or container.length("term_ends") != meta["terms"] * 4:
        raise container.corrupt("the number of its terms is wrong")
    languages = meta.get("languages")
    if meta.get("format") != FORMAT or type(languages) is not list or any(type(name) is not str for name in languages):
        raise container.corrupt("it is not a segment of this format")
    check_vectors(container)
    return container


def read_files(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of files; every reference in it is checked, unless the file is trusted."""
    rows, meta = (table or container.table)("files", FILE), container.meta
    if not container.trusted and not _keeps_limits(
        rows,
        ("unit", "units", 0, meta["units"]),
        ("definition", "definitions", 0, meta["definitions"]),
        ("text", "size", 0, container.length("text")),
        ("path", "", 0, container.length("paths") - 1),
        ("strings", "", 0, container.length("strings")),
        ("language", "", 0, len(meta["languages"]) - 1),
    ):
        raise container.corrupt("a file refers to something that does not exist")
    return rows


def read_units(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of units; every reference in it is checked, unless the file is trusted."""
    rows, meta = (table or container.table)("units", UNIT), container.meta
    limits = ("file", "", 0, meta["files"] - 1), ("definition", "", -1, meta["definitions"] - 1)
    if not container.trusted and not _keeps_limits(rows, *limits):
        raise container.corrupt("a unit refers to something that does not exist")
    return rows


def read_definitions(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of definitions; every reference in it is checked, unless the file is trusted."""
    rows, meta = (table or container.table)("definitions", DEFINITION), container.meta
    strings = container.length("strings")
    if not container.trusted and not _keeps_limits(
        rows,
        ("file", "", 0, meta["files"] - 1),
        ("unit", "", 0, meta["units"] - 1),
        ("kind", "", 0, len(KINDS) - 1),
        *((column, "", 0, strings - 1) for column in ("name", "container", "signature")),
    ):
        raise container.corrupt("a definition refers to something that does not exist")
    return rows


def _keeps_limits(rows: Any, *limits: tuple[str, str, int, int]) -> bool:
    """Whether all numbers keep their limits: (column, column to add or "", lowest, highest)."""
    if not len(rows):
        return True
    if hasattr(rows, "within"):
        return bool(rows.within(limits))
    for column, added, low, high in limits:
        least, most = int(rows[column].min()), int(rows[column].max())
        if added and most <= high:  # or the sum might not fit
            most = int((rows[column].astype("uint64") + rows[added]).max())
        if least < low or most > high:
            return False
    return True


def count_owners(container: Container, family: str) -> int:
    """The number of units, files or definitions that own the terms of `family`."""
    kind = "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions"
    return int(container.meta[kind])


_STRUCT_CODES = {"u1": "B", "<u2": "H", "<u4": "I", "<i4": "i", "<u8": "Q", "<i8": "q"}
_SIZES = {"u1": 1, "<u2": 2, "<u4": 4, "<i4": -4, "<u8": 8}
"""Bytes of a number; negative for signed ones, as the kernel expects."""
_MAX_LIMIT = (1 << 62) - 1


def read_rows(container: Container, name: str, layout: Layout) -> NDArray[Any]:
    """A whole section as rows: `TableRows` where the kernel is in use, so that no query has to load numpy."""
    if native() is None or not isinstance(container, Container):
        return container.table(name, layout)
    data, rows = container.section(name), row_layout(tuple(layout))
    if len(data) % rows.struct.size:
        raise container.corrupt(f"section '{name}' ends in the middle of a row")
    found: Any = TableRows(data, rows)
    return found  # type: ignore[no-any-return]


class RowLayout:
    """The columns of a table: number, offset in a row, and kind of each."""

    def __init__(self, layout: tuple[tuple[str, str], ...]) -> None:
        self.struct = Struct("<" + "".join(_STRUCT_CODES[kind] for _, kind in layout))
        self.columns: dict[str, tuple[int, int, str]] = {}
        offset = 0
        for number, (name, kind) in enumerate(layout):
            self.columns[name] = number, offset, kind
            offset += int(kind[-1])


@cache
def row_layout(layout: tuple[tuple[str, str], ...]) -> RowLayout:
    return RowLayout(layout)


def _kernel() -> ModuleType:
    kernel = native()
    assert kernel is not None, "without the kernel tables are numpy arrays"
    return kernel


class TableRow:
    """One row: a number by the name of its column, or all numbers."""

    __slots__ = ("_layout", "_numbers")

    def __init__(self, layout: RowLayout, numbers: tuple[int, ...]) -> None:
        self._layout = layout
        self._numbers = numbers

    def __getitem__(self, name: str) -> int:
        return self._numbers[self._layout.columns[name][0]]

    def item(self) -> tuple[int, ...]:
        return self._numbers


class TableRows:
    """The part of numpy's structured arrays that readers use: `rows["size"]`, `rows[3]`, `rows[2:5]`, `rows[[4, 1]]`."""

    def __init__(self, data: memoryview | bytes, layout: RowLayout) -> None:
        self._data = data
        self._layout = layout
        self._arrays: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._data) // self._layout.struct.size

    def numbers(self, row: int) -> tuple[int, ...]:
        """The numbers of one row; `row` is not negative."""
        struct = self._layout.struct
        if (row + 1) * struct.size > len(self._data):
            raise IndexError(row)
        return struct.unpack_from(self._data, row * struct.size)

    def packed(self, *columns: str) -> tuple[Any, ...]:
        """The bytes of all rows, the bytes per row, and the offsets of some columns."""
        return self._data, self._layout.struct.size, *(self._layout.columns[column][1] for column in columns)

    def innermost(self, first: int, count: int, byte: int, marks: bytes) -> int:
        """The shortest of `count` rows whose range from `start` to `end` holds a byte and whose `kind` is marked; or -1."""
        columns = self._layout.columns
        offsets = columns["start"][1], columns["end"][1], columns["kind"][1]
        found: int = _kernel().innermost(self._data, self._layout.struct.size, *offsets, first, count, byte, marks)
        return found

    def __getitem__(self, key: Any) -> Any:
        layout = self._layout
        if type(key) is str:
            known = self._arrays.get(key)
            if known is None:
                _, offset, kind = layout.columns[key]
                known = self._arrays[key] = _kernel().column(self._data, offset, layout.struct.size, kind)
            return known
        size = layout.struct.size
        if type(key) is int:
            if not -len(self) <= key < len(self):
                raise IndexError(key)
            return TableRow(layout, layout.struct.unpack_from(self._data, (key % len(self)) * size))
        if type(key) is slice:
            start, stop, step = key.indices(len(self))
            if step == 1:
                return TableRows(self._data[start * size : max(start, stop) * size], layout)
            return self[range(start, stop, step)]
        return TableRows(b"".join(self._data[row * size : (row + 1) * size] for row in self._row_numbers(key)), layout)

    def _row_numbers(self, key: Any) -> list[int]:
        """The rows that a mask or a list selects; IndexError where one does not exist."""
        numbers, total = np.asarray(key), len(self)
        if str(numbers.dtype) == "bool":
            if len(numbers) != total:
                raise IndexError(f"a mask over {len(numbers)} of {total} rows")
            numbers = np.flatnonzero(numbers)
        rows: list[int] = numbers.tolist()
        if rows and not -total <= min(rows) <= max(rows) < total:
            raise IndexError(f"rows {min(rows)} to {max(rows)} of {total}")
        return [row + total if row < 0 else row for row in rows]

    def as_numbers(self, column: str, more: int) -> Any:
        """A column as 64-bit numbers, `more` added to each."""
        _, offset, kind = self._layout.columns[column]
        return _kernel().numbers(self._data, offset, self._layout.struct.size, kind, more)

    def lengths(self, files: TableRows, live: Any, fields: Mapping[str, float], out: Any, first: int) -> tuple[int, ...]:
        """For rows of units: writes the weighted length of each into `out`, from `first` on.

        A field is a column of the unit or of its file. Returns the sum of each field over units of live files, and the
        number of these units.
        """
        unit_columns, file_columns = self._layout.columns, files._layout.columns
        given = []
        for name, weight in fields.items():
            _, offset, kind = unit_columns.get(name) or file_columns[name]
            given.append((name not in unit_columns, offset, _SIZES[kind], weight))
        found: tuple[int, ...] = _kernel().lengths(
            self._data, self._layout.struct.size, files._data, files._layout.struct.size, unit_columns["file"][1], live,
            tuple(given), out, first,
        )  # fmt: skip
        return found

    def within(self, limits: Iterable[tuple[str, str, int, int]]) -> bool:
        """Whether all numbers keep their limits: (column, column to add or "", lowest, highest)."""
        columns = self._layout.columns
        given = []
        for column, added, low, high in limits:
            _, offset, kind = columns[column]
            other = columns.get(added)
            addend = (-1, 0) if other is None else (other[1], _SIZES[other[2]])
            given.append((offset, _SIZES[kind], *addend, low, min(high, _MAX_LIMIT)))
        found: bool = _kernel().within(self._data, self._layout.struct.size, tuple(given))
        return found

    def tolist(self) -> list[tuple[int, ...]]:
        return list(self._layout.struct.iter_unpack(self._data))


def normalise_lengths(lengths: Any, mean: float, k1: float, b: float) -> Any:
    """Replaces each length, in place, by BM25's k1 · (1 − b + b · length / mean)."""
    _kernel().normed(lengths, mean, k1, b)
    return lengths
