"""Binary formats of what a shared store holds: a compressed envelope with a checksum, hashes of terms, and records of files.

Whatever comes back from a store is checked before it is used.

A *record* is what ranking needs of a file, without its text: its rows of the index's tables, its postings and its vectors. All
numbers in it count from the file's own beginning, so that records of any files can be joined by adding offsets (`assemble`):

    counts | file row | unit rows | definition rows | terms | rows of each term | family, owner, count of each row |
    vectors and scales of units | card and scale | strings | path | language
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lurcher.errors import StoreError, Template
from lurcher.storage.segment import DEFINITION, FILE, UNIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_HEADER = struct.Struct("<4sII")
_MAGIC = b"LUR1"
_MAX_BYTES = 1 << 28
"""The largest record or page; by default a file has at most one megabyte of text."""
SPARSE_MASK = 0xFFFFFFFF
"""The bits of a term's hash that a sparse vector has room for."""
RECORD_FORMAT = 1
_COUNTS = struct.Struct("<9I")
RECORD_SECTIONS = (
    "file", "units", "definitions", "words", "rows", "families", "owners", "counts", "vectors", "scales", "card", "card_scale",
    "strings", "path", "language",
)  # fmt: skip


def encode(raw: bytes) -> bytes:
    """Bytes in the envelope: compressed, with their size and checksum."""
    from lz4.block import compress

    if len(raw) > _MAX_BYTES:
        raise StoreError("a file is too large for a shared store", "leave it out: index.max_file_bytes")
    packed: bytes = compress(raw, store_size=False)
    return _HEADER.pack(_MAGIC, len(raw), zlib.crc32(raw)) + packed


def decode(data: bytes, what: str) -> bytes:
    """The bytes in an envelope; a StoreError that names `what` where it is damaged."""
    from lz4.block import LZ4BlockError, decompress

    try:
        magic, size, checksum = _HEADER.unpack_from(data)
        if magic != _MAGIC or size > _MAX_BYTES:
            raise ValueError("not an envelope")
        raw: bytes = decompress(memoryview(data)[_HEADER.size :], uncompressed_size=size)
        if len(raw) != size or zlib.crc32(raw) != checksum:
            raise ValueError("wrong checksum")
    except (struct.error, LZ4BlockError, ValueError, TypeError) as error:
        raise damaged_error(what) from error
    return raw


def damaged_error(what: str) -> StoreError:
    return StoreError(f"the shared store has a damaged {what}", Template("write it again: {index: rebuild store=URL}"))


def hash_bytes(term: bytes) -> int:
    """The number of a term, the same in every project and on every machine."""
    return int.from_bytes(blake2b(term, digest_size=8).digest(), "little")


@lru_cache(maxsize=4096)
def hash_term(term: str) -> int:
    return hash_bytes(term.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class RecordParts:
    """The parts of a record before it is encoded."""

    file: NDArray[Any]
    """One row."""
    units: NDArray[Any]
    definitions: NDArray[Any]
    words: NDArray[np.uint64]
    """Hashes of the distinct terms; the rows of the postings follow in the same order."""
    rows: NDArray[np.uint32]
    """How many rows each term has."""
    families: NDArray[np.uint8]
    owners: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    vectors: NDArray[np.int8] | None
    scales: NDArray[np.float32] | None
    card: NDArray[np.int8] | None
    card_scale: float
    strings: bytes
    path: str
    language: str


def row_width(layout: list[tuple[str, str]]) -> int:
    return sum(int(kind[-1]) for _, kind in layout)


_FILE, _UNIT, _DEFINITION = row_width(FILE), row_width(UNIT), row_width(DEFINITION)


def _section_sizes(
    units: int, definitions: int, words: int, rows: int, dims: int, strings: int, path: int, language: int
) -> list[int]:
    """The bytes of each section."""
    return [
        _FILE, units * _UNIT, definitions * _DEFINITION, words * 8, words * 4, rows, rows * 4, rows,
        units * dims, 4 * units * bool(dims), dims, 4 * bool(dims), strings, path, language,
    ]  # fmt: skip


def encode_record(parts: RecordParts) -> bytes:
    dims = 0 if parts.vectors is None else int(parts.vectors.shape[1])
    path, language = parts.path.encode("utf-8", "surrogatepass") + b"\0", parts.language.encode()
    counts = (
        len(parts.units), len(parts.definitions), len(parts.words), len(parts.families), dims, len(parts.strings),
        len(path), len(language),
    )  # fmt: skip
    pieces = [
        _COUNTS.pack(RECORD_FORMAT, *counts), parts.file.tobytes(), parts.units.tobytes(), parts.definitions.tobytes(),
        parts.words.astype("<u8").tobytes(), parts.rows.astype("<u4").tobytes(), parts.families.tobytes(),
        parts.owners.astype("<u4").tobytes(), parts.counts.tobytes(),
    ]  # fmt: skip
    if parts.vectors is not None and parts.scales is not None and parts.card is not None:
        pieces += [parts.vectors.tobytes(), parts.scales.astype("<f4").tobytes(), parts.card.tobytes()]
        pieces.append(struct.pack("<f", parts.card_scale))
    return encode(b"".join([*pieces, parts.strings, path, language]))


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record; its sections are views of one buffer."""

    units: int
    definitions: int
    words: int
    rows: int
    dims: int
    sections: tuple[memoryview, ...]
    """In the order of `RECORD_SECTIONS`."""
    path: str
    language: str


def decode_record(data: bytes) -> Record:
    raw = memoryview(decode(data, "record"))
    try:
        format_, units, definitions, words, rows, dims, strings, path, language = _COUNTS.unpack_from(raw)
    except struct.error as error:
        raise damaged_error("record") from error
    sizes = _section_sizes(units, definitions, words, rows, dims, strings, path, language)
    if format_ != RECORD_FORMAT or _COUNTS.size + sum(sizes) != len(raw) or not path:
        raise damaged_error("record")
    sections, place = [], _COUNTS.size
    for size in sizes:
        sections.append(raw[place : place + size])
        place += size
    try:
        named = bytes(sections[-2][:-1]).decode("utf-8", "surrogatepass"), bytes(sections[-1]).decode()
    except UnicodeDecodeError as error:
        raise damaged_error("record") from error
    if not {"", ".", ".."}.isdisjoint(named[0].split("/")):  # such a path would lead out of the project
        raise damaged_error("record")
    return Record(units, definitions, words, rows, dims, tuple(sections), *named)
