"""The format of a segment, described by a schema: flat tables, strings and text, terms with their postings, vectors.

One table is the main one: its rows (files, or commits) live and die, and everything else in the segment belongs to one of them.
`FILES` is the schema of code and notes; history has one of its own. A unit is a chunk of a file as it is searched. Files are in
path order, so the same files give the same bytes however they were read. `Segment` reads one.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, cached_property
from itertools import accumulate
from operator import add

from lurcher.runtime.kernel import native, np
from lurcher.storage.container import BoundedCache, Container, Layout
from lurcher.storage.tables import (
    FILE_VECTORS,
    PostingSum,
    PostingViews,
    VectorGroup,
    broken_postings,
    open_views,
    read_list,
    read_rows,
    stored_list,
)
from lurcher.types import Definition, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from numpy.typing import NDArray


FORMAT = 15
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
    ("path", "<u4"), ("strings", "<u4"), ("occurrences", "<u4"), ("crc", "<u4"), ("language", "<u2"), ("roles", "<u2"),
    ("name", "<u2"), ("folder", "<u2"), ("stem", "<u2"), ("flags", "<u2"),
]  # fmt: skip
UNIT = [
    ("file", "<u4"), ("start", "<u4"), ("end", "<u4"), ("line", "<u4"), ("last", "<u4"), ("definition", "<i4"),
    ("body", "<u4"), ("comments", "<u4"), ("symbols", "<u4"), ("above", "<u2"), ("roles", "<u2"),
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


class Table(Record):
    """A table of a segment."""

    __slots__ = ("name", "layout", "check", "owner", "first", "number")

    def __init__(
        self, name: str, layout: Layout, check: Callable[[Container, Any, Callable[[], Any]], bool], owner: str = "",
        first: str = "", number: str = "",
    ) -> None:  # fmt: skip
        self.name, self.layout = name, layout
        self.check = check
        """Whether every row leads to something that exists; given the container, the rows, and a way to get the main table."""
        self.owner = owner
        """The column with the row of the main table that a row belongs to; empty for the main table."""
        self.first, self.number = first, number
        """Columns of the main table with the range of rows that belong to each of its rows; empty if only `owner` says so."""


class Blob(Record):
    """A section of bytes, cut into one piece for each row of a table."""

    __slots__ = ("section", "table", "start", "size", "packed")

    def __init__(self, section: str, table: str, start: str, size: str = "", packed: bool = True) -> None:
        self.section, self.table = section, table
        self.start = start
        """The column with the offset of a row's piece."""
        self.size = size
        """The column with its length; empty where it ends at the next row's."""
        self.packed = packed


class Reference(Record):
    """A column that leads elsewhere in the segment: to a row of a table (-1: none), or to a byte of a section."""

    __slots__ = ("table", "column", "target")

    def __init__(self, table: str, column: str, target: str) -> None:
        self.table, self.column, self.target = table, column, target


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
        ("occurrences", "", 0, container.length("occurrences")),
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
        Blob("strings", "files", "strings"), Blob("occurrences", "files", "occurrences"), Blob("text", "files", "text", "size"),
    ),
    FILE_VECTORS,
    references=(
        Reference("units", "definition", "definitions"), Reference("definitions", "unit", "units"),
        *(Reference("definitions", column, "strings") for column in ("name", "container", "signature")),
    ),
    languages="files", order="paths", bloom=True,
)  # fmt: skip
"""Files with their units, definitions, imports, terms and text."""


MAX_CACHED_ROWS = 1_000_000
"""Decoded postings that are cached, about 16 bytes each."""
MAX_CACHED_TERMS = 50_000


class Tables(Record):
    __slots__ = ("files", "units", "definitions")

    def __init__(self, files: NDArray[Any], units: NDArray[Any], definitions: NDArray[Any]) -> None:
        self.files, self.units, self.definitions = files, units, definitions


class Segment:
    """One mapped segment; `live` is the mask of the live rows of its main table (None: all)."""

    schema: Schema = FILES

    def __init__(
        self, container: Container, live: NDArray[np.bool_] | None = None, prefix: str = "", cached_rows: int = MAX_CACHED_ROWS
    ) -> None:
        self.container = container
        self.vectors: Container | None = container
        """The container with its vectors of the model in use: the segment itself, a sidecar, or None."""
        self.live = live
        self.prefix = prefix
        # Lanes and evidence read the same postings, and the same term in several fields.
        self._decoded: BoundedCache[tuple[str, int], tuple[tuple[NDArray[np.int64], NDArray[np.uint8]] | None]] = BoundedCache(
            cached_rows
        )
        self._numbers: BoundedCache[str, int] = BoundedCache(MAX_CACHED_TERMS)
        self.substring_units: BoundedCache[bytes, tuple[NDArray[np.bool_] | None]] = BoundedCache(cached_rows)
        """Cache of the literal lane: some bytes → units that have a term with these bytes in it."""
        self.meta = container.meta
        self._tables: dict[str, NDArray[Any]] = {}
        self._families: dict[str, PostingViews] = {}

    @property
    def is_trusted(self) -> bool:
        """Whether its files are known to be as they were written, or are in memory only."""
        return all(file.trusted or file.stamp is None for file in (self.container, self.vectors) if file is not None)

    def table(self, name: str) -> NDArray[Any]:
        """The rows of a table of the schema."""
        known = self._tables.get(name)
        if known is None:
            known = self._tables[name] = read_table(self.container, name, self.schema, self._read_rows)
        return known

    def _read_rows(self, name: str, layout: Layout) -> NDArray[Any]:
        return read_rows(self.container, name, layout)

    @cached_property
    def files(self) -> NDArray[Any]:
        return self.table("files")

    @cached_property
    def units(self) -> NDArray[Any]:
        return self.table("units")

    @cached_property
    def definitions(self) -> NDArray[Any]:
        return self.table("definitions")

    @cached_property
    def tables(self) -> Tables:
        """Files, units and definitions as numpy arrays, for exports."""
        return Tables(*(read_table(self.container, name) for name in Tables.__slots__))

    @cached_property
    def terms(self) -> memoryview:
        """All terms, concatenated; `term_ends` has the end of each."""
        return self.container.section("terms")

    @cached_property
    def term_bytes(self) -> bytes:
        """The same as bytes."""
        return bytes(self.terms)

    @cached_property
    def term_ends(self) -> memoryview:
        return self.container.typed_section("term_ends", "<u4").cast("I")

    def term_at(self, number: int) -> bytes:
        ends = self.term_ends
        if not 0 <= number < len(ends):  # the number comes from a family, which may be damaged
            raise self.container.corrupt("a term refers to something that does not exist")
        return bytes(self.terms[ends[number - 1] if number else 0 : ends[number]])

    def term_text(self, number: int) -> str:
        try:
            return self.term_at(number).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self.container.corrupt("a term is not text") from error

    def term_texts(self, first: int, last: int) -> list[str]:
        """The terms with the numbers [first, last)."""
        return [self.term_text(number) for number in range(first, last)]

    def lower_bound(self, term: bytes) -> int:
        """The position of the first term that is not below `term`."""
        return bisect_left(range(len(self.term_ends)), term, key=self.term_at)

    def find(self, term: str) -> int:
        """The number of a term, or -1."""
        known = self._numbers.get(term)
        if known is None:
            known = self._find(term)
            self._numbers.put(term, known, 0)
        return known

    def _find(self, term: str) -> int:
        key = term.encode("utf-8", "surrogatepass")
        position = self.lower_bound(key)
        return position if position < len(self.term_ends) and self.term_at(position) == key else -1

    def _family(self, family: str) -> PostingViews:
        known = self._families.get(family)
        if known is None:
            known = self._families[family] = open_views(self.container, family)
        return known

    def terms_in_family(self, family: str, first: int, last: int) -> list[int]:
        """The numbers in [first, last) of terms that occur in `family`."""
        terms = self._family(family).terms
        return terms[bisect_left(terms, first) : bisect_left(terms, last)].tolist()

    def postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        """The live owners of a term in `family`, with counts; None where it does not occur."""
        key = family, term
        known = self._decoded.get(key)
        if known is None:
            found = self._live_postings(family, term)
            known = (found,)
            self._decoded.put(key, known, len(found[0]) if found else 0)
        return known[0]

    def add_postings(self, total: PostingSum, family: str, term: int, first: int, weight: float) -> None:
        """Add the counts of a term times a weight to `total`; `first` is added to the numbers of owners."""
        if native() is None or self.live is not None:
            self._add_decoded(total, family, term, first, weight)
            return
        views = self._family(family)
        place = views.place(term)
        if place >= 0:
            data, rows = stored_list(self.container, family, views, place)
            total.add_list(
                data, rows, self._owner_total(family), first, weight, lambda: broken_postings(self.container, family)
            )

    def _add_decoded(self, total: PostingSum, family: str, term: int, first: int, weight: float) -> None:
        found = self.postings(family, term)
        if found is not None:
            total.add(found[0] + first if first else found[0], found[1], weight)

    def mark_owners(self, family: str, terms: Sequence[int], mask: NDArray[np.bool_]) -> None:
        """Set `mask` for all owners, live or dead, of ascending terms in `family`."""
        views, kernel = self._family(family), native()
        if kernel is None:
            for place in filter(lambda place: place >= 0, map(views.place, terms)):
                mask[read_list(self.container, family, views, place, self._owner_total(family))[0]] = True
            return
        spans = kernel.spans(terms, views.terms, views.rows, views.ends)
        if spans is None or not kernel.mark(self.container.section_with_parts(f"{family}.data", *spans[:2]), *spans, mask):
            raise broken_postings(self.container, family)

    def is_live(self, term: int) -> bool:
        """Whether any live row has the term."""
        return any((found := self.postings(family, term)) is not None and len(found[0]) for family in self.schema.families)

    def _live_postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        found = self._postings(family, term)
        if found is None or self.live is None:
            return found
        owners, counts = found
        table = self.schema.tables[self.schema.fields[family]]
        kept = self.live[self.table(table.name)[table.owner][owners] if table.owner else owners]
        return owners[kept], counts[kept]

    def _postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        views = self._family(family)
        position = views.place(term)
        return None if position < 0 else read_list(self.container, family, views, position, self._owner_total(family))

    def _owner_total(self, family: str) -> int:
        return self.schema.count_owners(self.container, family)

    def string(self, offset: int) -> str:
        return read_string(self.container, "strings", offset)

    @cached_property
    def bloom(self) -> memoryview:
        """The Bloom filter over the text."""
        return self.container.section("bloom")

    def paths(self) -> list[str]:
        """The paths of all files in order, dead ones included."""
        blob, offsets = bytes(self.container.section("paths")), self.files["path"].tolist()
        text = blob.decode("utf-8", "replace")
        found = text.split("\0")[: len(offsets)]
        sizes = accumulate(map(len, found if len(text) == len(blob) else blob.split(b"\0")), initial=0)
        # In the order of the files, unless the segment was tampered with.
        if list(map(add, sizes, range(len(offsets)))) != offsets:
            found = [decode_string(blob, offset) for offset in offsets]
        return [self.prefix + path for path in found] if self.prefix else found

    def path(self, file: int) -> str:
        return self.prefix + read_string(self.container, "paths", int(self.files["path"][file]))


def decode_definitions(segment: Segment, rows: NDArray[Any]) -> list[Definition]:
    """Decode the definitions of one file, reading their neighbouring strings at once."""
    columns = ("name", "container", "signature")
    start = min(int(rows[column].min()) for column in columns)
    last = max(int(rows[column].max()) for column in columns)
    strings = bytes(segment.container.section("strings", start, last)) + segment.string(last).encode("utf-8", "replace")
    kept: dict[int, str] = {}

    def text(offset: int) -> str:
        known = kept.get(offset)
        if known is None:
            known = kept[offset] = decode_string(strings, offset - start)
        return known

    return [
        Definition(text(name), KINDS[kind], text(container), text(signature), begin, end, line, final, bool(flags & EXPORTED))
        for _, _, begin, end, line, final, name, container, signature, kind, flags, _ in rows.tolist()
    ]


def decode_definition(segment: Segment, row: Any) -> Definition:
    _, _, begin, end, line, final, name, container, signature, kind, flags, _ = row.item()
    text = segment.string
    return Definition(
        text(name), KINDS[kind], text(container), text(signature), begin, end, line, final, bool(flags & EXPORTED)
    )


def find_innermost(rows: Any, byte: int, kinds: frozenset[str]) -> int:
    """The shortest of a file's definitions, as numpy has them, that holds a byte and is of one of `kinds`; or -1."""
    best, smallest = -1, 0
    for number in ((rows["start"] <= byte) & (rows["end"] > byte)).nonzero()[0].tolist():
        _, _, start, end, _, _, _, _, _, kind, _, _ = rows[number].item()
        if KINDS[kind] in kinds and (best < 0 or end - start < smallest):
            best, smallest = number, end - start
    return best

@cache
def mark_kinds(kinds: frozenset[str]) -> bytes:
    """A byte for each of KINDS, 1 for those among `kinds`."""
    return bytes([kind in kinds for kind in KINDS])
