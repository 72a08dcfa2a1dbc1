"""Writes a segment: the data that a build makes, and its encoding as a container."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.storage.container import PACKED
from lurcher.storage.segment import FILES, FORMAT, Schema
from lurcher.storage.vectors import encode_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.storage.container_writer import ContainerWriter
    from lurcher.terms.count import Postings


@dataclass(frozen=True, slots=True)
class SegmentData:
    """The content of a segment, in memory."""

    tables: Mapping[str, NDArray[Any]]
    terms: list[str]
    postings: dict[str, Postings]
    strings: Mapping[str, bytes]
    """Section → its bytes, for the blobs of the schema other than the text; most are zero-terminated UTF-8."""
    texts: list[bytes | memoryview]
    """The text in pieces, as the Bloom filter takes it: one per file."""
    languages: list[str]
    vectors: Sequence[NDArray[Any]] | None = None
    """Numbers and scales of each group of the schema, one after the other; None where no model was in use."""
    model: str = ""
    """The digest of the model that made the vectors."""
    schema: Schema = FILES


class StringPool:
    """Collects strings, each stored once per file, so that a merge can copy the strings of a file as they are."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def next_file(self) -> int:
        """Start a file; returns the offset of its strings."""
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


def encode_segment(
    data: SegmentData, *, part: bool = False, aligned: bool = False
) -> tuple[dict[str, tuple[str, bytes | memoryview]], dict[str, Any]]:
    """The sections and the meta entry of a segment's container.

    A `part` of a segment that is being built carries the entries of its Bloom filter instead of the filter. It is read once,
    so it is not compressed; except the text, if it is `aligned`: then it begins at the offset in a block that it will have in
    the whole, after a filling of zeros, and the merge can copy its compressed blocks.
    """
    import numpy as np

    schema, packed_kind = data.schema, "u1" if part else PACKED
    *blobs, text = schema.blobs
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        **{name: ("V", as_bytes(data.tables[name])) for name in schema.tables},
        **{blob.section: (packed_kind if blob.packed else "u1", data.strings[blob.section]) for blob in blobs},
    }
    from lurcher.storage.postings import pack_postings

    all_packed = {family: pack_postings(data.postings[family]) for family in schema.families}
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
    vectors, dims = encode_vectors(data.vectors, schema.vectors)
    sections.update(vectors)
    starts = data.tables[text.table][text.start]
    lead = int(starts[0]) if len(starts) else 0
    sections[text.section] = (PACKED if aligned else packed_kind, b"".join([bytes(lead), *data.texts]))
    if schema.bloom:
        from lurcher.storage.bloom import BloomBuilder

        entries = BloomBuilder()
        for piece in data.texts:
            entries.add(piece)
        sections["bloom"] = ("u1", b"" if part else entries.build())
        if part:
            sections["entries"] = ("<u8", as_bytes(entries.sorted_hashes()))
    counts = {name: len(rows) for name, rows in data.tables.items()}
    return sections, make_meta(schema, {**counts, "terms": len(data.terms)}, data.languages, dims, data.model)


def write_segment(data: SegmentData, out: ContainerWriter) -> str:
    """Write a segment and return its digest."""
    sections, meta = encode_segment(data)
    for name, (kind, content) in sections.items():
        out.add(name, kind, content)
    return out.finish(meta)


def make_meta(schema: Schema, counts: Mapping[str, int], languages: list[str], dims: int, model: str) -> dict[str, Any]:
    """The meta entry of a segment; `model` is the digest of the model that made its vectors."""
    return {
        "format": FORMAT,
        "schema": schema.name,
        **counts,
        "languages": languages,
        "dims": dims,
        "model": model if dims else "",
    }


def as_bytes(array: NDArray[Any]) -> memoryview:
    import numpy as np

    # np.uint8 arrays are buffers, though the annotations of older numpy versions do not say so.
    flat: Any = np.ascontiguousarray(array).view(np.uint8)
    return memoryview(flat).cast("B") if array.size else memoryview(b"")
