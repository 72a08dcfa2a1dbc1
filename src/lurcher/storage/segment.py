"""A segment: some files with their units, definitions, terms and text, as flat tables.

How one is laid out for disk is in encoding.py. Rows are in path order, so the same files give the same bytes however they were
gathered.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.container import Container, Layout
from lurcher.storage.vectors import check_vectors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

FORMAT = 12

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
CARD_FIELD = "named"
"""What is counted of the names on a file's card while its segment is made; none is kept."""
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
"""Flags of files. UNSEEN: it may hold words that are not among its terms: overlong ones, accents apart from their letters, one
cut by a border. GAVE_UP: it is cut by lines because its grammar took too much time or memory. NO_GRAMMAR: because that is
missing."""

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

TableReader: TypeAlias = "Callable[[str, Layout], NDArray[Any]]"
"""How a table is read: as numpy's rows, or for a reader."""


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


def read_files(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of files, each row leading to what exists."""
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
        raise container.corrupt("a file leads nowhere")
    return rows


def read_units(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of units, each row leading to what exists."""
    rows, meta = (table or container.table)("units", UNIT), container.meta
    limits = ("file", "", 0, meta["files"] - 1), ("definition", "", -1, meta["definitions"] - 1)
    if not container.trusted and not _keeps_limits(rows, *limits):
        raise container.corrupt("a unit leads nowhere")
    return rows


def read_definitions(container: Container, table: TableReader | None = None) -> NDArray[Any]:
    """The table of definitions, each row leading to what exists."""
    rows, meta = (table or container.table)("definitions", DEFINITION), container.meta
    strings = container.length("strings")
    if not container.trusted and not _keeps_limits(
        rows,
        ("file", "", 0, meta["files"] - 1),
        ("unit", "", 0, meta["units"] - 1),
        ("kind", "", 0, len(KINDS) - 1),
        *((column, "", 0, strings - 1) for column in ("name", "container", "signature")),
    ):
        raise container.corrupt("a definition leads nowhere")
    return rows


def _keeps_limits(rows: Any, *limits: tuple[str, str, int, int]) -> bool:
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


def count_owners(container: Container, family: str) -> int:
    """How many owners the terms of `family` can have."""
    kind = "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions"
    return int(container.meta[kind])
