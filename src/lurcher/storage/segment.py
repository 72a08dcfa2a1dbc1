"""The format of a segment, described by a schema: flat tables, strings and text, terms with their postings, vectors.

One table is the main one: its rows (files, or commits) live and die, and everything else in the segment belongs to one of them.
`FILES` is the schema of code and notes; history has one of its own. A unit is a chunk of a file as it is searched. Files are in
path order, so the same files give the same bytes however they were read. `TableRows` reads a table without numpy.
"""

from __future__ import annotations

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, Struct, cache
from lurcher.storage.container import Container, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

FORMAT = 13
"""Of segments and manifests, whatever their schema."""

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


class Table(NamedTuple):
    """A table of a segment."""

    name: str
    layout: Layout
    check: Callable[[Container, Any, Callable[[], Any]], bool]
    """Whether every row leads to something that exists; given the container, the rows, and a way to get the main table."""
    owner: str = ""
    """The column with the row of the main table that a row belongs to; empty for the main table."""
    first: str = ""
    number: str = ""
    """Columns of the main table with the range of rows that belong to each of its rows; empty where only `owner` says so."""


class Blob(NamedTuple):
    """A section of bytes, cut into one piece for each row of a table."""

    section: str
    table: str
    start: str
    """The column with the offset of a row's piece."""
    size: str = ""
    """The column with its length; empty where it ends at the next row's."""
    packed: bool = True


class Reference(NamedTuple):
    """A column that leads elsewhere in the segment: to a row of a table (-1: none), or to a byte of a section."""

    table: str
    column: str
    target: str


class VectorGroup(NamedTuple):
    """The sections of one group of vectors: numbers, scales and (in sidecars) keys; and the table with one row per vector."""

    numbers: str
    scales: str
    owners: str

    @property
    def keys(self) -> str:
        return f"{self.numbers}_keys"


class Schema:
    """What a segment holds."""

    def __init__(
        self, name: str, tables: Sequence[Table], fields: Mapping[str, str], blobs: Sequence[Blob],
        vectors: Sequence[VectorGroup], *, languages: str, references: Sequence[Reference] = (),
        provided: Sequence[VectorGroup] | None = None, order: str = "", bloom: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.tables = {table.name: table for table in tables}
        """The main table is the first one."""
        self.main = tables[0].name
        self.fields = fields
        """Family of terms → the table whose rows own them."""
        self.families = tuple(fields)
        self.blobs = tuple(blobs)
        """The last one is the text."""
        self.vectors = tuple(vectors)
        self.provided = self.vectors if provided is None else tuple(provided)
        """The groups that providers make vectors of, which are in sidecars."""
        self.references = tuple(references)
        self.languages = languages
        """The table with the column `language`."""
        self.order = order
        """The section of strings by which rows of the main table are ordered; empty where they keep the order of the parts."""
        self.bloom = bloom
        """Whether there is a Bloom filter over the text."""

    def count_owners(self, container: Container, family: str) -> int:
        """The number of rows that own the terms of `family`."""
        return int(container.meta[self.fields[family]])


def check_segment(container: Container, schema: Schema | None = None) -> Container:
    """The container, if it is a segment of the schema whose tables have the sizes that its meta entry names."""
    schema, meta = schema or FILES, container.meta
    for name, table in schema.tables.items():
        if type(meta.get(name)) is not int or container.length(name) != meta[name] * row_width(table.layout):
            raise container.corrupt(f"the number of its {name} is wrong")
    if type(meta.get("terms")) is not int or container.length("term_ends") != meta["terms"] * 4:
        raise container.corrupt("the number of its terms is wrong")
    languages, dims = meta.get("languages"), meta.get("dims")
    if type(languages) is not list or any(type(name) is not str for name in languages):
        raise container.corrupt("its languages are not valid")
    if meta.get("format") != FORMAT or meta.get("schema") != schema.name:
        raise container.corrupt("it is not a segment of this format")
    if type(dims) is not int or not 0 <= dims <= 1 << 16:
        raise container.corrupt("the size of its vectors is not valid")
    for group in schema.vectors:
        count = meta[group.owners] if dims else 0
        if container.length(group.numbers) != count * dims or container.length(group.scales) != 4 * count:
            raise container.corrupt(f"the number of its {group.numbers} is not that of its {group.owners}")
    return container


def row_width(layout: Layout) -> int:
    """Bytes of a row."""
    return sum(int(kind.lstrip("<uiV")) for _, kind in layout)


def read_table(
    container: Container, name: str, schema: Schema | None = None, reader: TableReader | None = None
) -> NDArray[Any]:
    """A table of a segment, as a numpy array or by `reader`; every reference in it is checked, unless the file is trusted."""
    schema = schema or FILES
    table, read = schema.tables[name], reader or container.table
    rows = read(name, table.layout)

    def main() -> Any:
        return rows if name == schema.main else read_table(container, schema.main, schema, reader)

    if not container.trusted and not table.check(container, rows, main):
        raise container.corrupt(f"a row of its {name} refers to something that does not exist")
    return rows


def _check_files(container: Container, rows: Any, main: object) -> bool:
    meta = container.meta
    return _keeps_limits(
        rows,
        ("unit", "units", 0, meta["units"]),
        ("definition", "definitions", 0, meta["definitions"]),
        ("text", "size", 0, container.length("text")),
        ("path", "", 0, container.length("paths") - 1),
        ("strings", "", 0, container.length("strings")),
        ("language", "", 0, len(meta["languages"]) - 1),
    )


def _check_units(container: Container, rows: Any, main: object) -> bool:
    meta = container.meta
    return _keeps_limits(rows, ("file", "", 0, meta["files"] - 1), ("definition", "", -1, meta["definitions"] - 1))


def _check_definitions(container: Container, rows: Any, main: object) -> bool:
    meta, strings = container.meta, container.length("strings")
    return _keeps_limits(
        rows,
        ("file", "", 0, meta["files"] - 1),
        ("unit", "", 0, meta["units"] - 1),
        ("kind", "", 0, len(KINDS) - 1),
        *((column, "", 0, strings - 1) for column in ("name", "container", "signature")),
    )


def _check_imports(container: Container, rows: Any, main: object) -> bool:
    from lurcher.languages.base import KINDS as IMPORT_KINDS  # few queries need imports

    limits = ("file", "", 0, container.meta["files"] - 1), ("text", "", 0, container.length("import_texts") - 1)
    if not _keeps_limits(rows, *limits, ("kind", "", 0, len(IMPORT_KINDS) - 1)):
        return False
    return not any(bool((rows[column][1:] < rows[column][:-1]).any()) for column in ("file", "text"))


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


FILES = Schema(
    "files",
    (
        Table("files", FILE, _check_files),
        Table("units", UNIT, _check_units, "file", "unit", "units"),
        Table("definitions", DEFINITION, _check_definitions, "file", "definition", "definitions"),
        Table("imports", IMPORT, _check_imports, "file"),
    ),
    {
        **dict.fromkeys(UNIT_FAMILIES, "units"), **dict.fromkeys(FILE_FIELDS, "files"),
        **dict.fromkeys(DEFINITION_FIELDS, "definitions"),
    },
    (
        Blob("import_texts", "imports", "text"), Blob("paths", "files", "path", packed=False),
        Blob("strings", "files", "strings"), Blob("text", "files", "text", "size"),
    ),
    (VectorGroup("vectors", "vector_scales", "units"), VectorGroup("cards", "card_scales", "files")),
    references=(
        Reference("units", "definition", "definitions"), Reference("definitions", "unit", "units"),
        *(Reference("definitions", column, "strings") for column in ("name", "container", "signature")),
    ),
    languages="files", order="paths", bloom=True,
)  # fmt: skip
"""Files with their units, definitions, imports, terms and text."""


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
