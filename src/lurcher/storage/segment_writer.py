"""Writes a segment: the data that a build makes, and its encoding as a container.

A `RowBuilder` makes the rows of units and definitions, file by file, with their strings and term counts.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lurcher.languages.parsed_file import ParsedFile, Span
from lurcher.runtime.kernel import hash_seed
from lurcher.storage.container import PACKED
from lurcher.storage.container_writer import as_bytes
from lurcher.storage.segment import (
    CARD_FIELD,
    DEFINITION,
    EXPORTED,
    FILES,
    FORMAT,
    FUNCTION_KINDS,
    KINDS,
    TYPE_KINDS,
    UNIT,
    Schema,
)
from lurcher.storage.vectors import encode_vectors
from lurcher.terms import compound, name_parts, words
from lurcher.terms.count import NativeCounter, TermCounter
from lurcher.types import HEADING, Definition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


HEADING_TERM = "§"
"""The term under which all headings are filed in the `definitions` family."""
_CARD_NAMES = 40
"""Types and functions whose names go onto a file's card; the kernel has the same constant."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class RowBuilder(Protocol):
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of units, definitions, and bytes of strings so far."""

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        """Add the chunks and definitions of a file."""

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        """All units, all definitions, their strings, and the term under which each definition is filed."""


def make_row_builder(counter: TermCounter) -> RowBuilder:
    """A new builder that adds to the counter: native if the counter is."""
    return NativeRowBuilder(counter) if isinstance(counter, NativeCounter) else PythonRowBuilder(counter)


class NativeRowBuilder:
    """Uses the kernel: ASCII text is read and counted in C."""

    def __init__(self, counter: NativeCounter) -> None:
        self._counter = counter
        fields = tuple(map(counter.field, ("body", "comments", "symbols", "types", CARD_FIELD)))
        self._native = counter.kernel.RowBuilder(
            hash_seed(), counter.counter, fields, _KIND_NUMBERS, TYPE_KINDS, FUNCTION_KINDS, HEADING, HEADING_TERM, _spell_name
        )

    def sizes(self) -> tuple[int, int, int]:
        sizes: tuple[int, int, int] = self._native.sizes()
        return sizes

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        first = self.sizes()[0]
        for number in self._native.put(file, text, parsed.chunks, parsed.definitions, parsed.comments):
            _count_chunk(self._counter, first + number, parsed.chunks[number], text, parsed.comments)

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        import numpy as np

        units, definitions, strings, keys = self._native.take()
        return np.frombuffer(units, UNIT), np.frombuffer(definitions, DEFINITION), strings, keys


def _spell_name(name: str, is_type: bool) -> tuple[list[str], str, list[str], int]:
    """For the kernel: the words of a name, the term it is filed under, and for types the words and number of its parts."""
    parts = name_parts(name) if is_type else []
    return words(name), compound(name), words(" ".join(parts)), len(parts)


class PythonRowBuilder:
    """The reference for the kernel."""

    def __init__(self, counter: TermCounter) -> None:
        self._counter = counter
        self._strings = StringPool()
        self._units: list[tuple[int, ...]] = []
        self._definitions: list[tuple[int, ...]] = []
        self._keys: list[str] = []

    def sizes(self) -> tuple[int, int, int]:
        return len(self._units), len(self._definitions), self._strings.next_file()

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        self._strings.next_file()
        counter, first_unit, first_definition = self._counter, len(self._units), len(self._definitions)
        starts = [chunk.start_byte for chunk in parsed.chunks]
        owners = [bisect_right(starts, definition.start_byte) - 1 for definition in parsed.definitions]
        shown = _choose_definitions(parsed, owners)
        for i, chunk in enumerate(parsed.chunks):
            _count_chunk(counter, first_unit + i, chunk, text, parsed.comments)
            self._units.append((
                file, chunk.start_byte, chunk.end_byte, chunk.start_line, chunk.end_line,
                -1 if shown[i] < 0 else first_definition + shown[i], 0, 0, 0, 0, 0,
            ))  # fmt: skip
        names = 0
        for definition, owner in zip(parsed.definitions, owners, strict=True):
            if definition.kind in TYPE_KINDS or definition.kind in FUNCTION_KINDS:
                names += 1
                if names <= _CARD_NAMES:
                    counter.add(CARD_FIELD, file, definition.name)
            # A heading is not a symbol: it has a term of its own and counts among the words above its unit.
            heading = definition.kind == HEADING
            if not heading:
                counter.add("symbols", first_unit + owner, definition.name)
            self._keys.append(HEADING_TERM if heading else compound(definition.name))
            named = name_parts(definition.name) if definition.kind in TYPE_KINDS else []
            if named:
                counter.add("types", len(self._definitions), " ".join(named))
            self._definitions.append(_encode_definition(definition, file, first_unit + owner, len(named), self._strings))

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        import numpy as np

        return np.array(self._units, UNIT), np.array(self._definitions, DEFINITION), self._strings.data(), self._keys


def _count_chunk(counter: TermCounter, unit: int, chunk: Span, text: bytes, comments: tuple[tuple[int, int], ...]) -> None:
    """Count comments and code of a chunk separately, each byte once."""
    position = chunk.start_byte
    i = bisect_right(comments, (position, position))
    if i and comments[i - 1][1] > position:
        i -= 1
    code = []
    while i < len(comments) and comments[i][0] < chunk.end_byte:
        start, end = max(comments[i][0], position), min(comments[i][1], chunk.end_byte)
        code.append(text[position:start])
        counter.add("comments", unit, text[start:end].decode("utf-8", "replace"))
        position = end
        i += 1
    code.append(text[position : chunk.end_byte])
    counter.add("body", unit, b" ".join(code).decode("utf-8", "replace"))


def _choose_definitions(parsed: ParsedFile, owners: list[int]) -> list[int]:
    """For each chunk the definition that names it: the largest that starts in it, else the innermost around it."""
    shown = [-1] * len(parsed.chunks)
    weight = [(-1, 0)] * len(parsed.chunks)
    for i, (definition, owner) in enumerate(zip(parsed.definitions, owners, strict=True)):
        rank = 2 if definition.kind in TYPE_KINDS or definition.kind in FUNCTION_KINDS else 1
        mine = (rank, definition.end_byte - definition.start_byte)
        if mine > weight[owner]:
            weight[owner] = mine
            shown[owner] = i
    open_definitions: list[int] = []
    following = 0
    for number, chunk in enumerate(parsed.chunks):
        while following < len(parsed.definitions) and parsed.definitions[following].start_byte < chunk.start_byte:
            open_definitions.append(following)
            following += 1
        open_definitions = [i for i in open_definitions if parsed.definitions[i].end_byte > chunk.start_byte]
        if shown[number] < 0 and open_definitions:
            shown[number] = open_definitions[-1]
    return shown


def _encode_definition(definition: Definition, file: int, unit: int, parts: int, strings: StringPool) -> tuple[int, ...]:
    return (
        file, unit, definition.start_byte, definition.end_byte, definition.start_line, definition.end_line,
        strings.put(definition.name), strings.put(definition.container), strings.put(definition.signature),
        _KIND_NUMBERS.get(definition.kind, 0), EXPORTED if definition.exported else 0,
        parts,
    )  # fmt: skip
