"""A segment: some files with their units, definitions, terms and text, as flat tables.

`SegmentData` is a segment in memory, as a build or a merge makes it; `encode` lays it out for disk and `decode` takes it
back. Rows are in path order, so the same files give the same bytes however they were gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.index.container import Container
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 2

UNIT_FIELDS = ("body", "comments", "symbols")
"""Fields whose terms belong to a unit; disjoint, so that a text is read once."""
FILE_FIELDS = ("name", "folder", "stem")
"""Fields whose terms belong to a file, and so to each of its units: the parts of its name, its last three folders, and its
whole name as one term (counted only where that differs from the parts)."""
DEFINITION_FIELDS = ("definitions", "types")
"""Fields that lead to definitions: the whole name of each, and the parts of the names of types."""
FAMILIES = (*UNIT_FIELDS, *FILE_FIELDS, *DEFINITION_FIELDS)

KINDS = (
    "other", "class", "struct", "enum", "interface", "trait", "type", "module", "function", "method", "constructor", "macro",
    "constant", "variable", "field", "property", "object", "union", "namespace", "record", "protocol", "extension", "instance",
)  # fmt: skip
TYPE_KINDS = frozenset(
    ("class", "struct", "enum", "interface", "trait", "type", "module", "object", "union", "namespace", "record", "protocol")
)
FUNCTION_KINDS = frozenset(("function", "method", "constructor", "macro"))

EXPORTED = 1

FILE = [
    ("text", "<u8"), ("size", "<u4"), ("unit", "<u4"), ("units", "<u4"), ("definition", "<u4"), ("definitions", "<u4"),
    ("path", "<u4"), ("crc", "<u4"), ("language", "<u2"), ("roles", "<u2"), ("name", "<u2"), ("folder", "<u2"), ("stem", "<u2"),
    ("spare", "<u2"),
]  # fmt: skip
UNIT = [
    ("file", "<u4"), ("start", "<u4"), ("end", "<u4"), ("line", "<u4"), ("last", "<u4"), ("definition", "<i4"),
    ("body", "<u4"), ("comments", "<u4"), ("symbols", "<u4"),
]  # fmt: skip
DEFINITION = [
    ("file", "<u4"), ("unit", "<u4"), ("start", "<u4"), ("end", "<u4"), ("line", "<u4"), ("last", "<u4"), ("name", "<u4"),
    ("container", "<u4"), ("signature", "<u4"), ("kind", "u1"), ("flags", "u1"), ("parts", "<u2"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SegmentData:
    files: NDArray[Any]
    units: NDArray[Any]
    definitions: NDArray[Any]
    terms: list[str]
    postings: dict[str, Postings]
    strings: bytes
    """Zero-terminated UTF-8; the tables hold offsets into it."""
    languages: list[str]
    texts: list[bytes | memoryview]
    """One per file, in file order."""


class StringPool:
    """Gathers strings, each kept once."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, text: str) -> int:
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = self._size
            data = text.replace("\0", " ").encode("utf-8", "replace") + b"\0"
            self._parts.append(data)
            self._size += len(data)
        return offset

    def data(self) -> bytes:
        return b"".join(self._parts)


def string_at(strings: bytes | memoryview, offset: int) -> str:
    """The zero-terminated string at `offset`."""
    end = offset
    step = 64
    while True:
        piece = bytes(strings[end : end + step])
        stop = piece.find(b"\0")
        if stop >= 0:
            return bytes(strings[offset : end + stop]).decode("utf-8")
        if len(piece) < step:
            return bytes(strings[offset:]).decode("utf-8")
        end += step


def encode(data: SegmentData) -> tuple[dict[str, tuple[str, bytes | memoryview]], dict[str, Any]]:
    """The sections and the meta entry of a segment's container."""
    import numpy as np

    encoded = [term.encode("utf-8", "surrogatepass") for term in data.terms]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "files": ("V", _bytes(data.files)),
        "units": ("V", _bytes(data.units)),
        "definitions": ("V", _bytes(data.definitions)),
        "strings": ("u1", data.strings),
        "terms": ("u1", b"".join(encoded)),
        "term_ends": ("<u4", _bytes(ends.astype("<u4"))),
    }
    for family in FAMILIES:
        for part, (kind, piece) in _encode_postings(data.postings[family]).items():
            sections[f"{family}.{part}"] = (kind, piece)
    sections["text"] = ("u1", b"".join(data.texts))
    meta = {
        "format": FORMAT,
        "files": len(data.files),
        "units": len(data.units),
        "definitions": len(data.definitions),
        "terms": len(data.terms),
        "languages": data.languages,
    }
    return sections, meta


def decode(container: Container) -> SegmentData:
    """The whole segment back in memory, for merging."""
    import numpy as np

    files = table(container, "files", FILE)
    text = container.section("text")
    blob = bytes(container.section("terms"))
    ends = container.array("term_ends").tolist()
    starts = [0, *ends[:-1]]
    return SegmentData(
        files,
        table(container, "units", UNIT),
        table(container, "definitions", DEFINITION),
        [blob[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)],
        {family: _decode_postings(container, family) for family in FAMILIES},
        bytes(container.section("strings")),
        list(container.meta["languages"]),
        [
            text[a : a + n]
            for a, n in zip(files["text"].astype(np.int64).tolist(), files["size"].tolist(), strict=True)
        ],
    )


def table(container: Container, name: str, layout: list[tuple[str, str]]) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(container.section(name), np.dtype(layout))


def _bytes(array: NDArray[Any]) -> memoryview:
    import numpy as np

    return memoryview(np.ascontiguousarray(array).view(np.uint8)).cast("B") if array.size else memoryview(b"")


# Postings on disk. Owners are stored as differences within a term, each term in the narrowest width (1, 2 or 4 bytes) that
# holds its largest difference: small, and decoded by one cumulative sum. The width follows from the byte and row counts.


def _encode_postings(postings: Postings) -> dict[str, tuple[str, memoryview]]:
    import numpy as np

    terms, owners = postings.terms, postings.owners
    starts = np.flatnonzero(np.diff(terms.astype(np.int64), prepend=-1))
    rows = np.diff(np.append(starts, len(terms)))
    steps = np.diff(owners.astype(np.int64), prepend=0)
    if len(starts):
        steps[starts] = owners[starts]
        largest = np.maximum.reduceat(steps, starts)
    else:
        largest = steps
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4)).astype(np.int64)
    ends = np.cumsum(widths * rows)
    row_width = np.repeat(widths, rows)
    position = np.cumsum(row_width) - row_width
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for byte in range(4):
        wide = row_width > byte
        out[position[wide] + byte] = (steps[wide] >> (8 * byte)) & 0xFF
    return {
        "terms": ("<u4", _bytes(terms[starts].astype("<u4"))),
        "rows": ("<u4", _bytes(np.cumsum(rows).astype("<u4"))),
        "ends": ("<u4", _bytes(ends.astype("<u4"))),
        "owners": ("u1", _bytes(out)),
        "counts": ("u1", _bytes(postings.counts)),
    }


def decode_owners(data: memoryview, rows: int) -> NDArray[np.int64]:
    """One term's owners from their stored differences."""
    import numpy as np

    width = len(data) // rows if rows else 1
    return np.cumsum(np.frombuffer(data, f"<u{width}"), dtype=np.int64)


def _decode_postings(container: Container, family: str) -> Postings:
    import numpy as np

    terms = container.array(f"{family}.terms")
    row_ends = container.array(f"{family}.rows").astype(np.int64)
    byte_ends = container.array(f"{family}.ends").astype(np.int64)
    rows = np.diff(row_ends, prepend=0)
    widths = np.diff(byte_ends, prepend=0) // np.maximum(rows, 1)
    raw = container.array(f"{family}.owners")
    row_width = np.repeat(widths, rows)
    position = np.cumsum(row_width) - row_width
    steps = np.zeros(len(row_width), np.int64)
    for byte in range(4):
        wide = row_width > byte
        steps[wide] |= raw[position[wide] + byte].astype(np.int64) << (8 * byte)
    running = np.cumsum(steps)
    starts = row_ends - rows
    if len(starts):
        running -= np.repeat(running[starts] - steps[starts], rows)
    return Postings(
        np.repeat(terms, rows), running.astype(np.uint32), container.array(f"{family}.counts")
    )


def merge(parts: Sequence[SegmentData], live: Sequence[NDArray[np.bool_] | None]) -> SegmentData:
    """One segment that holds the live files of all parts, in path order. `None` means that every file is live."""
    import numpy as np

    rows: list[tuple[str, int, int]] = []
    for number, part in enumerate(parts):
        mask = live[number]
        for i, offset in enumerate(part.files["path"].tolist()):
            if mask is None or mask[i]:
                rows.append((string_at(part.strings, offset), number, i))
    rows.sort()
    languages = sorted({language for part in parts for language in part.languages})
    strings = StringPool()
    files = np.zeros(len(rows), FILE)
    unit_maps = [np.full(len(part.units), -1, np.int64) for part in parts]
    definition_maps = [np.full(len(part.definitions), -1, np.int64) for part in parts]
    file_maps = [np.full(len(part.files), -1, np.int64) for part in parts]
    texts: list[bytes | memoryview] = []
    unit = definition = text = 0
    for new, (path, number, old) in enumerate(rows):
        part = parts[number]
        row = part.files[old]
        files[new] = row
        file_maps[number][old] = new
        first, count = int(row["unit"]), int(row["units"])
        unit_maps[number][first : first + count] = np.arange(unit, unit + count)
        files[new]["unit"] = unit
        unit += count
        first, count = int(row["definition"]), int(row["definitions"])
        definition_maps[number][first : first + count] = np.arange(definition, definition + count)
        files[new]["definition"] = definition
        definition += count
        files[new]["text"] = text
        text += int(row["size"])
        texts.append(part.texts[old])
        files[new]["path"] = strings.put(path)
        files[new]["language"] = languages.index(part.languages[int(row["language"])])
    units = np.zeros(unit, UNIT)
    definitions = np.zeros(definition, DEFINITION)
    for number, part in enumerate(parts):
        kept = unit_maps[number] >= 0
        moved = part.units[kept].copy()
        moved["file"] = file_maps[number][moved["file"]]
        owned = moved["definition"] >= 0
        moved["definition"][owned] = definition_maps[number][moved["definition"][owned]]
        units[unit_maps[number][kept]] = moved
        kept = definition_maps[number] >= 0
        moved = part.definitions[kept].copy()
        moved["file"] = file_maps[number][moved["file"]]
        moved["unit"] = unit_maps[number][moved["unit"]]
        definitions[definition_maps[number][kept]] = moved
    owner = np.full(definition, -1, np.int64)
    for number, old_to_new in enumerate(definition_maps):
        owner[old_to_new[old_to_new >= 0]] = number
    _copy_strings(definitions, owner, [part.strings for part in parts], strings)
    terms, postings = _merge_postings(parts, file_maps, unit_maps, definition_maps)
    return SegmentData(files, units, definitions, terms, postings, strings.data(), languages, texts)


def _copy_strings(definitions: NDArray[Any], owner: NDArray[np.int64], sources: list[bytes], pool: StringPool) -> None:
    for column in ("name", "container", "signature"):
        offsets = definitions[column].tolist()
        definitions[column] = [
            pool.put(string_at(sources[part], offset)) for part, offset in zip(owner.tolist(), offsets, strict=True)
        ]


def _merge_postings(
    parts: Sequence[SegmentData],
    file_maps: list[NDArray[np.int64]],
    unit_maps: list[NDArray[np.int64]],
    definition_maps: list[NDArray[np.int64]],
) -> tuple[list[str], dict[str, Postings]]:
    import numpy as np

    union = sorted(set().union(*(part.terms for part in parts)))
    number = {term: i for i, term in enumerate(union)}
    term_maps = [np.fromiter((number[term] for term in part.terms), np.int64, len(part.terms)) for part in parts]
    del number
    merged: dict[str, Postings] = {}
    used = np.zeros(len(union), bool)
    for family in FAMILIES:
        maps = unit_maps if family in UNIT_FIELDS else file_maps if family in FILE_FIELDS else definition_maps
        keys, counts = [], []
        for part, terms, owners in zip(parts, term_maps, maps, strict=True):
            rows = part.postings[family]
            moved = owners[rows.owners]
            kept = moved >= 0
            keys.append((terms[rows.terms[kept]] << 32) | moved[kept])
            counts.append(rows.counts[kept])
        key = np.concatenate(keys) if keys else np.zeros(0, np.int64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        columns = (key >> 32).astype(np.uint32)
        used[columns] = True
        merged[family] = Postings(columns, (key & 0xFFFFFFFF).astype(np.uint32), np.concatenate(counts)[order])
    if used.all():
        return union, merged
    renumber = (np.cumsum(used) - 1).astype(np.uint32)
    return (
        [term for term, keep in zip(union, used.tolist(), strict=True) if keep],
        {family: Postings(renumber[rows.terms], rows.owners, rows.counts) for family, rows in merged.items()},
    )
