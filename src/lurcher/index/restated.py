"""A segment with vectors of another term table: all else is copied as it is, nothing is parsed or counted again.

The result has the bytes of a segment that was built with that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lurcher.index.container import PACKED, Container
from lurcher.index.encoding import SegmentData
from lurcher.index.packing import Builder
from lurcher.index.postings import lists_of, read_range
from lurcher.index.segment import DEFINITION_FIELDS, FAMILIES, IMPORT, definitions_of, files_of, owners_in, units_of
from lurcher.index.vectors import encode_vectors
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    from lurcher.embedding.table import Table

_PIECE = 1 << 20
_COUNTED = tuple(family for family in FAMILIES if family not in DEFINITION_FIELDS)

Sections = Mapping[str, tuple[str, "bytes | memoryview"]]


def restate(container: Container, table: Table, out: Builder) -> str:
    """Write a segment of files with vectors by `table`; its digest."""
    from lurcher.embedding.static import embed

    data = SegmentData(
        files_of(container), units_of(container), definitions_of(container), container.table("imports", IMPORT), b"",
        terms_of(container), postings_of(container, _COUNTED, owners_in), b"", bytes(container.section("strings")),
        list(container.meta["languages"]), [],
    )  # fmt: skip
    sections, dims = encode_vectors(embed(data, table))
    return copy(container, sections, {"dims": dims, "model": table.digest}, out)


def copy(container: Container, sections: Sections, meta: Mapping[str, Any], out: Builder) -> str:
    """Write what a container holds, with other `sections`, which lie together, and other entries of `meta`; its digest."""
    written = False
    for name, kind in container.sections():
        if name in sections:
            # Of empty ones nobody can tell which came first.
            for other, content in sections.items() if not written else ():
                out.add(other, *content)
            written = True
            continue
        out.begin(name, kind)
        size = container.length(name)
        for start in range(0, size, _PIECE):
            out.write(container.section(name, start, min(start + _PIECE, size)))
        out.end()
        if kind == PACKED:
            container.forget()
    return out.finish({**container.meta, **meta})


def terms_of(container: Container) -> list[str]:
    blob, found, start = bytes(container.section("terms")), [], 0
    try:
        for end in container.array("term_ends", "<u4").tolist():
            found.append(blob[start:end].decode("utf-8", "surrogatepass"))
            start = end
    except UnicodeDecodeError as error:
        raise container.corrupt("a term is not text") from error
    return found


def postings_of(
    container: Container, families: tuple[str, ...], owners: Callable[[Container, str], int]
) -> dict[str, Postings]:
    """Some families of postings, whole."""
    found = {}
    for family in families:
        lists = lists_of(container, family)
        found[family] = read_range(container, family, lists, 0, len(lists.terms), owners(container, family))
    return found
