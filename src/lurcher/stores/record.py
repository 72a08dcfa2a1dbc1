"""What the store keeps of a file for the ranking: its rows of the index's tables, its postings and vectors, without its text.

All numbers in it count from the file's own beginning, so that records of any files can be put together by adding what stands
before each (`lurcher.stores.assemble`).

    counts | file row | unit rows | definition rows | words | rows of each word | family, owner, count of each row |
    vectors and scales of units | card and scale | strings | path | language
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.storage.segment import DEFINITION, FILE, UNIT
from lurcher.stores.codec import damaged, opened, sealed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
_COUNTS = struct.Struct("<9I")


@dataclass(frozen=True, slots=True)
class Parts:
    """A record before it is put into bytes."""

    file: NDArray[Any]
    """One row."""
    units: NDArray[Any]
    definitions: NDArray[Any]
    words: NDArray[np.uint64]
    """Distinct; rows of the postings follow each other in their order."""
    rows: NDArray[np.uint32]
    """Of each word."""
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


SECTIONS = (
    "file", "units", "definitions", "words", "rows", "families", "owners", "counts", "vectors", "scales", "card", "card_scale",
    "strings", "path", "language",
)  # fmt: skip


def width_of(layout: list[tuple[str, str]]) -> int:
    return sum(int(kind[-1]) for _, kind in layout)


_FILE, _UNIT, _DEFINITION = width_of(FILE), width_of(UNIT), width_of(DEFINITION)


def _sizes(units: int, definitions: int, words: int, rows: int, dims: int, strings: int, path: int, language: int) -> list[int]:
    """The bytes of each section."""
    return [
        _FILE, units * _UNIT, definitions * _DEFINITION, words * 8, words * 4, rows, rows * 4, rows,
        units * dims, 4 * units * bool(dims), dims, 4 * bool(dims), strings, path, language,
    ]  # fmt: skip


def packed(parts: Parts) -> bytes:
    dims = 0 if parts.vectors is None else int(parts.vectors.shape[1])
    path, language = parts.path.encode("utf-8", "surrogatepass") + b"\0", parts.language.encode()
    counts = (
        len(parts.units), len(parts.definitions), len(parts.words), len(parts.families), dims, len(parts.strings),
        len(path), len(language),
    )  # fmt: skip
    pieces = [
        _COUNTS.pack(FORMAT, *counts), parts.file.tobytes(), parts.units.tobytes(), parts.definitions.tobytes(),
        parts.words.astype("<u8").tobytes(), parts.rows.astype("<u4").tobytes(), parts.families.tobytes(),
        parts.owners.astype("<u4").tobytes(), parts.counts.tobytes(),
    ]  # fmt: skip
    if parts.vectors is not None and parts.scales is not None and parts.card is not None:
        pieces += [parts.vectors.tobytes(), parts.scales.astype("<f4").tobytes(), parts.card.tobytes()]
        pieces.append(struct.pack("<f", parts.card_scale))
    return sealed(b"".join([*pieces, parts.strings, path, language]))


@dataclass(frozen=True, slots=True)
class Record:
    """A record taken apart; its sections are views of one buffer."""

    units: int
    definitions: int
    words: int
    rows: int
    dims: int
    sections: tuple[memoryview, ...]
    """As `SECTIONS` names them."""
    path: str
    language: str


def unpacked(data: bytes) -> Record:
    raw = memoryview(opened(data, "record"))
    try:
        format_, units, definitions, words, rows, dims, strings, path, language = _COUNTS.unpack_from(raw)
    except struct.error as error:
        raise damaged("record") from error
    sizes = _sizes(units, definitions, words, rows, dims, strings, path, language)
    if format_ != FORMAT or _COUNTS.size + sum(sizes) != len(raw) or not path:
        raise damaged("record")
    sections, place = [], _COUNTS.size
    for size in sizes:
        sections.append(raw[place : place + size])
        place += size
    try:
        named = bytes(sections[-2][:-1]).decode("utf-8", "surrogatepass"), bytes(sections[-1]).decode()
    except UnicodeDecodeError as error:
        raise damaged("record") from error
    if not {"", ".", ".."}.isdisjoint(named[0].split("/")):  # it would lead out of the project
        raise damaged("record")
    return Record(units, definitions, words, rows, dims, tuple(sections), *named)
