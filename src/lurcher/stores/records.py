"""Records of files: what a shared store holds of a file for ranking, and the segment that is assembled from some of them.

A *record* is what ranking needs of a file, without its text: its rows of the index's tables, its postings and its vectors. All
numbers in it count from the file's own beginning, so that records of any files can be joined by adding offsets:

    counts | file row | unit rows | definition rows | terms | rows of each term | family, owner, count of each row |
    vectors and scales of units | card and scale | strings | path | language

It is compressed, with a checksum. Whatever comes back from a store is checked before it is used.

In an assembled segment, tables are joined. Postings are not merged, which would take longer than the whole query: the rows of
a term are picked out when they are needed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from lurcher.errors import LurcherError, StoreError, Template
from lurcher.storage.container import Container
from lurcher.storage.merge import expand_ranges
from lurcher.storage.segment import DEFINITION, FAMILIES, FILE, FILE_FIELDS, UNIT, UNIT_FAMILIES, Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.tables import PostingSum


_HEADER = struct.Struct("<4sII")
_MAGIC = b"LUR1"
_MAX_BYTES = 1 << 28
"""The largest record or page; by default a file has at most one megabyte of text."""
SPARSE_MASK = 0xFFFFFFFF
"""The bits of a term's hash that a sparse vector has room for."""
RECORD_FORMAT = 2
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


_KIND = {
    family: "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions" for family in FAMILIES
}


class RecordSections:
    """Joined records, with the interface of the container that a segment reads its sections from."""

    trusted = False
    """Whether values are used unchecked; those of a store are not."""

    def __init__(self, records: Sequence[Record], dims: int) -> None:
        import numpy as np

        def join(section: str) -> bytes:
            place = RECORD_SECTIONS.index(section)
            return b"".join([record.sections[place] for record in records])

        units = np.array([record.units for record in records], np.int64)
        definitions = np.array([record.definitions for record in records], np.int64)
        languages: dict[str, int] = {}
        numbers = [languages.setdefault(record.language, len(languages)) for record in records]
        self.meta: dict[str, Any] = {
            "files": len(records), "units": int(units.sum()), "definitions": int(definitions.sum()), "imports": 0,
            "languages": list(languages), "dims": dims,
        }  # fmt: skip
        files = np.frombuffer(join("file"), FILE).copy()
        if (files["units"] != units).any() or (files["definitions"] != definitions).any():
            raise damaged_error("record")
        strings, paths = (
            [len(record.sections[RECORD_SECTIONS.index(name)]) for record in records] for name in ("strings", "path")
        )
        files["text"], files["unit"], files["definition"] = _starts(files["size"]), _starts(units), _starts(definitions)
        files["path"], files["strings"], files["language"] = _starts(paths), _starts(strings), numbers
        files["occurrences"] = 0
        owner = np.arange(len(records))
        unit_rows = np.frombuffer(join("units"), UNIT).copy()
        unit_rows["file"] = np.repeat(owner, units)
        named = unit_rows["definition"] >= 0
        unit_rows["definition"][named] += np.repeat(files["definition"], units)[named].astype(np.int32)
        rows = np.frombuffer(join("definitions"), DEFINITION).copy()
        holders = np.repeat(owner, definitions)
        rows["file"] = holders
        rows["unit"] += files["unit"][holders]
        for column in ("name", "container", "signature"):
            rows[column] += files["strings"][holders]
        self._tables = {"files": files, "units": unit_rows, "definitions": rows}
        self._bytes = {
            "strings": join("strings"), "paths": join("path"), "imports": b"", "import_texts": b"", "occurrences": b"",
        }  # fmt: skip
        self._text = int(files["size"].sum(dtype=np.int64))
        self._arrays: dict[str, NDArray[Any]] = {}
        if dims:
            for name, section, kind in (
                ("vectors", "vectors", "i1"), ("vector_scales", "scales", "<f4"), ("cards", "card", "i1"),
                ("card_scales", "card_scale", "<f4"),
            ):  # fmt: skip
                self._arrays[name] = np.frombuffer(join(section), kind)

    def section(self, name: str, start: int = 0, end: int | None = None) -> memoryview:
        whole = self._bytes.get(name)
        end = len(whole) if whole is not None and end is None else end
        if whole is None or end is None or not 0 <= start <= end <= len(whole):
            raise self.corrupt(name)
        return memoryview(whole)[start:end]

    def length(self, name: str) -> int:
        if name == "text":
            return self._text
        return len(self._bytes.get(name, b""))

    def array(self, name: str, kind: str) -> NDArray[Any]:
        return self._arrays[name]

    def typed_section(self, name: str, kind: str) -> memoryview:
        return memoryview(self._arrays[name].tobytes())

    def section_with_parts(self, name: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> memoryview:
        return self.typed_section(name, "i1")

    def table(self, name: str, layout: list[tuple[str, str]]) -> NDArray[Any]:
        import numpy as np

        return self._tables[name] if name in self._tables else np.zeros(0, layout)

    def has_section(self, name: str) -> bool:
        return name in self._bytes or name in self._tables or name in self._arrays

    def corrupt(self, reason: str) -> LurcherError:
        return damaged_error("record")


class AssembledSegment(Segment):
    """Some files of a project, in path order."""

    def __init__(self, records: Sequence[Record], dims: int, prefix: str = "") -> None:
        """`dims` of the vectors, 0 to leave them out; a record with other dimensions leaves them out for all."""
        import numpy as np

        dims = dims if all(record.dims == dims for record in records) else 0
        super().__init__(cast(Container, RecordSections(records, dims)), None, prefix)
        self._records = list(records)
        self._words = self._join_section("words", "<u8")
        self._counts = self._join_section("rows", "<u4").astype(np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        if int(self._counts.sum()) != sum(record.rows for record in records):
            raise damaged_error("record")
        self._found: list[dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]]] = []
        """By the number of a term, which it gets when it is first looked up: its postings in each family."""

    def _join_section(self, section: str, kind: str) -> NDArray[Any]:
        import numpy as np

        place = RECORD_SECTIONS.index(section)
        return np.frombuffer(b"".join([record.sections[place] for record in self._records]), kind)

    @cached_property
    def _rows(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return self._join_section("families", "u1"), self._join_section("owners", "<u4"), self._join_section("counts", "u1")

    @cached_property
    def _holder(self) -> NDArray[np.int64]:
        """The file of each entry of `_words`."""
        import numpy as np

        return np.repeat(np.arange(len(self._records)), [record.words for record in self._records])

    def _find(self, term: str) -> int:
        found = self._find_term(term)
        if not found:
            return -1
        self._found.append(found)
        return len(self._found) - 1

    def _postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        return self._found[term].get(family)

    def add_postings(self, total: PostingSum, family: str, term: int, first: int, weight: float) -> None:
        self._add_decoded(total, family, term, first, weight)

    def _find_term(self, term: str) -> dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        """By family: the owners of a term, and how often it occurs in each."""
        import numpy as np

        places = np.flatnonzero(self._words == np.uint64(hash_term(term)))
        if not len(places):
            return {}
        rows = expand_ranges(self._starts[places], self._counts[places])
        families, owners, counts = (column[rows] for column in self._rows)
        files = np.repeat(self._holder[places], self._counts[places])
        found = {}
        for number in sorted(set(families.tolist())):
            if number >= len(FAMILIES):
                raise damaged_error("record")
            family, here = FAMILIES[number], families == number
            numbers = owners[here].astype(np.int64) + self._bases[_KIND[family]][files[here]]
            if int(numbers.max()) >= int(self.meta[_KIND[family]]):
                raise damaged_error("record")
            found[family] = numbers, counts[here]
        return found

    @cached_property
    def _bases(self) -> dict[str, NDArray[np.int64]]:
        """What to add to the numbers of each file."""
        import numpy as np

        rows = self.files
        return {
            "units": rows["unit"].astype(np.int64), "files": np.arange(len(rows)),
            "definitions": rows["definition"].astype(np.int64),
        }  # fmt: skip


def _starts(counts: Any) -> NDArray[np.int64]:
    import numpy as np

    sizes = np.asarray(counts).astype(np.int64)
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts
