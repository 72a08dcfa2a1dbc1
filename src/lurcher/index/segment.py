"""A segment: some files with their units, definitions, terms and text, as flat tables.

`SegmentData` is a segment in memory, as a build makes it; `encode` lays it out for disk. Rows are in path order, so the same
files give the same bytes however they were gathered.
"""

from __future__ import annotations

from lurcher.index.container import PACKED, Builder, Container, Layout
from lurcher.index.vectors import Vectors, check_vectors, encode_vectors
from lurcher.light import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from lurcher.terms.count import Postings

FORMAT = 10

UNIT_FIELDS = ("body", "comments", "symbols")
"""Fields whose terms belong to a unit; disjoint, so that a text is read once."""
NOTE_FIELDS = ("above",)
"""Fields of units that only notes have, and only their rankings look at: title, headings, tags and other names."""
UNIT_FAMILIES = (*UNIT_FIELDS, *NOTE_FIELDS)
FILE_FIELDS = ("name", "folder", "stem")
"""Fields whose terms belong to a file, and so to each of its units: the parts of its name, its last three folders, and its
whole name as one term (counted only where that differs from the parts)."""
DEFINITION_FIELDS = ("definitions", "types")
"""Fields that lead to definitions: the whole name of each, and the parts of the names of types."""
NAMED = "named"
"""What is counted of the names on a file's card while its segment is made; none is kept."""
FAMILIES = (*UNIT_FAMILIES, *FILE_FIELDS, *DEFINITION_FIELDS)

KINDS = (
    "other", "class", "struct", "enum", "interface", "trait", "type", "module", "function", "method", "constructor", "macro",
    "constant", "variable", "field", "property", "object", "union", "namespace", "record", "protocol", "extension", "instance",
    "heading",
)  # fmt: skip
TYPE_KINDS = frozenset(
    ("class", "struct", "enum", "interface", "trait", "type", "module", "object", "union", "namespace", "record", "protocol")
)
FUNCTION_KINDS = frozenset(("function", "method", "constructor", "macro"))

EXPORTED = 1
UNSEEN = 1
"""A file may hold words that are not among its terms: overlong ones, accents apart from their letters, one cut by a border."""

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
"""`text` is where the words of the import begin: what it names, then the names it takes, zero-terminated as a whole."""

Table: TypeAlias = "Callable[[str, Layout], NDArray[Any]]"
"""How a table is read: as numpy's rows, or for a reader."""


@dataclass(frozen=True, slots=True)
class SegmentData:
    files: NDArray[Any]
    units: NDArray[Any]
    definitions: NDArray[Any]
    imports: NDArray[Any]
    import_texts: bytes
    """Zero-terminated UTF-8, one for each of `imports`."""
    terms: list[str]
    postings: dict[str, Postings]
    paths: bytes
    """Zero-terminated UTF-8, in file order."""
    strings: bytes
    """Zero-terminated UTF-8 that definitions lead to: each file's own, one file after the other."""
    languages: list[str]
    texts: list[bytes | memoryview]
    """One per file, in file order."""
    vectors: Vectors | None = None
    """None where no model was in use."""
    model: str = ""
    """The digest of the model that made them."""


class StringPool:
    """Gathers strings, each kept once per file: so a file's strings can be taken elsewhere as they are."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def next_file(self) -> int:
        """Where the strings of the next file begin."""
        self._offsets.clear()
        return self._size

    def put(self, text: str) -> int:
        if "\0" in text:
            text = text.replace("\0", " ")
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = self._size
            data = text.encode("utf-8", "replace") + b"\0"
            self._parts.append(data)
            self._size += len(data)
        return offset

    def data(self) -> bytes:
        return b"".join(self._parts)


def string_at(strings: bytes, offset: int) -> str:
    """The zero-terminated string at `offset`."""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else None].decode("utf-8", "replace")


def string_in(container: Container, section: str, offset: int) -> str:
    """The zero-terminated string at `offset` of a section."""
    length, step = container.length(section), 128
    while True:
        piece = bytes(container.section(section, offset, min(offset + step, length)))
        stop = piece.find(b"\0")
        if stop >= 0 or offset + step >= length:
            return piece[: stop if stop >= 0 else None].decode("utf-8", "replace")
        step *= 8


def encode(data: SegmentData, *, part: bool = False) -> tuple[dict[str, tuple[str, bytes | memoryview]], dict[str, Any]]:
    """The sections and the meta entry of a segment's container.

    A `part` of one that is being made has no filter yet, but what the filter of the whole is made of; and as it is read but
    once, and soon, nothing in it is made smaller.
    """
    import numpy as np

    text_kind = "u1" if part else PACKED
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "files": ("V", as_bytes(data.files)),
        "units": ("V", as_bytes(data.units)),
        "definitions": ("V", as_bytes(data.definitions)),
        "imports": ("V", as_bytes(data.imports)),
        "import_texts": (text_kind, data.import_texts),
        "paths": ("u1", data.paths),
        "strings": (text_kind, data.strings),
    }
    from lurcher.index.postings import pack

    all_packed = {family: pack(data.postings[family]) for family in FAMILIES}
    for family, packed in all_packed.items():
        sections[f"{family}.data"] = ("u1", as_bytes(packed.data))
    for family, packed in all_packed.items():
        sections[f"{family}.terms"] = ("<u4", as_bytes(packed.terms.astype("<u4")))
        sections[f"{family}.rows"] = ("<u4", as_bytes(np.cumsum(packed.rows).astype("<u4")))
        sections[f"{family}.ends"] = ("<u4", as_bytes(np.cumsum(packed.sizes).astype("<u4")))
    encoded = [term.encode("utf-8", "surrogatepass") for term in data.terms]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    sections["terms"] = ("u1", b"".join(encoded))
    sections["term_ends"] = ("<u4", as_bytes(ends.astype("<u4")))
    vectors, dims = encode_vectors(data.vectors)
    sections.update(vectors)
    sections["text"] = (text_kind, b"".join(data.texts))
    from lurcher.index.bloom import Entries

    entries = Entries()
    for text in data.texts:
        entries.add(text)
    sections["bloom"] = ("u1", b"" if part else entries.filter())
    if part:
        sections["entries"] = ("<u8", as_bytes(entries.hashes()))
    counts = len(data.files), len(data.units), len(data.definitions), len(data.imports), len(data.terms)
    return sections, meta_of(*counts, data.languages, dims, data.model)


def write(data: SegmentData, out: Builder) -> str:
    """Write a segment; its digest."""
    sections, meta = encode(data)
    for name, (kind, content) in sections.items():
        out.add(name, kind, content)
    return out.finish(meta)


def meta_of(
    files: int, units: int, definitions: int, imports: int, terms: int, languages: list[str], dims: int, model: str
) -> dict[str, Any]:
    """What a segment says of itself; `model` is the digest of the one that made its vectors."""
    return {
        "format": FORMAT,
        "files": files,
        "units": units,
        "definitions": definitions,
        "imports": imports,
        "terms": terms,
        "languages": languages,
        "dims": dims,
        "model": model if dims else "",
    }


def check_shape(container: Container) -> Container:
    """The container, if it is a segment whose tables have the sizes that it names."""
    meta = container.meta
    for name, layout in (("files", FILE), ("units", UNIT), ("definitions", DEFINITION), ("imports", IMPORT)):
        width = sum(int(kind[-1]) for _, kind in layout)
        if type(meta.get(name)) is not int or container.length(name) != meta[name] * width:
            raise container.corrupt(f"its {name} are not as many as it says")
    if type(meta.get("terms")) is not int or container.length("term_ends") != meta["terms"] * 4:
        raise container.corrupt("its terms are not as many as it says")
    languages = meta.get("languages")
    if meta.get("format") != FORMAT or type(languages) is not list or any(type(name) is not str for name in languages):
        raise container.corrupt("it is not a segment of this format")
    check_vectors(container)
    return container


def files_of(container: Container, table: Table | None = None) -> NDArray[Any]:
    """The table of files, each row leading to what exists."""
    rows, meta = (table or container.table)("files", FILE), container.meta
    if not container.trusted and not _within(
        rows,
        ("unit", "units", 0, meta["units"]),
        ("definition", "definitions", 0, meta["definitions"]),
        ("text", "size", 0, container.length("text")),
        ("path", "", 0, container.length("paths") - 1),
        ("strings", "", 0, container.length("strings")),
        ("language", "", 0, len(meta["languages"]) - 1),
    ):
        raise container.corrupt("a file leads nowhere")
    return rows


def units_of(container: Container, table: Table | None = None) -> NDArray[Any]:
    """The table of units, each row leading to what exists."""
    rows, meta = (table or container.table)("units", UNIT), container.meta
    limits = ("file", "", 0, meta["files"] - 1), ("definition", "", -1, meta["definitions"] - 1)
    if not container.trusted and not _within(rows, *limits):
        raise container.corrupt("a unit leads nowhere")
    return rows


def definitions_of(container: Container, table: Table | None = None) -> NDArray[Any]:
    """The table of definitions, each row leading to what exists."""
    rows, meta = (table or container.table)("definitions", DEFINITION), container.meta
    strings = container.length("strings")
    if not container.trusted and not _within(
        rows,
        ("file", "", 0, meta["files"] - 1),
        ("unit", "", 0, meta["units"] - 1),
        ("kind", "", 0, len(KINDS) - 1),
        *((column, "", 0, strings - 1) for column in ("name", "container", "signature")),
    ):
        raise container.corrupt("a definition leads nowhere")
    return rows


def _within(rows: Any, *limits: tuple[str, str, int, int]) -> bool:
    """Whether each number of some columns, with one that is added to it or none, is neither below nor above its limits."""
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


def owners_in(container: Container, family: str) -> int:
    """How many owners the terms of `family` can have."""
    kind = "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions"
    return int(container.meta[kind])


def as_bytes(array: NDArray[Any]) -> memoryview:
    import numpy as np

    # np.uint8 arrays are buffers, though the annotations of older numpy versions do not say so.
    flat: Any = np.ascontiguousarray(array).view(np.uint8)
    return memoryview(flat).cast("B") if array.size else memoryview(b"")
