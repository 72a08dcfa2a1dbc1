"""A segment: some files with their units, definitions, terms and text, as flat tables.

`SegmentData` is a segment in memory, as a build or a merge makes it; `encode` lays it out for disk and `decode` takes it
back. Rows are in path order, so the same files give the same bytes however they were gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.index.container import Container
from lurcher.index.vectors import Vectors, check_vectors, encode_vectors, merge_vectors, vectors_of
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 4

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
    vectors: Vectors | None = None
    """None where no model was in use."""


class StringPool:
    """Gathers strings, each kept once."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self._size = 0

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


def string_at(strings: bytes | memoryview, offset: int) -> str:
    """The zero-terminated string at `offset`."""
    if isinstance(strings, bytes):
        end = strings.find(b"\0", offset)
        return strings[offset : end if end >= 0 else None].decode("utf-8", "replace")
    end = offset
    step = 64
    while True:
        piece = bytes(strings[end : end + step])
        stop = piece.find(b"\0")
        if stop >= 0:
            return bytes(strings[offset : end + stop]).decode("utf-8", "replace")
        if len(piece) < step:
            return bytes(strings[offset:]).decode("utf-8", "replace")
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
    vectors, dims = encode_vectors(data.vectors)
    sections.update(vectors)
    sections["text"] = ("u1", b"".join(data.texts))
    meta = {
        "format": FORMAT,
        "files": len(data.files),
        "units": len(data.units),
        "definitions": len(data.definitions),
        "terms": len(data.terms),
        "languages": data.languages,
        "dims": dims,
    }
    return sections, meta


def check_shape(container: Container) -> Container:
    """The container, if it is a segment whose tables have the sizes that it names."""
    meta = container.meta
    for name, layout in (("files", FILE), ("units", UNIT), ("definitions", DEFINITION)):
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


def files_of(container: Container) -> NDArray[Any]:
    """The table of files, each row leading to what exists."""
    rows, meta = container.table("files", FILE), container.meta
    if len(rows) and (
        _furthest(rows, "unit", "units") > meta["units"]
        or _furthest(rows, "definition", "definitions") > meta["definitions"]
        or _furthest(rows, "text", "size") > container.length("text")
        or int(rows["path"].max()) >= container.length("strings")
        or int(rows["language"].max()) >= len(meta["languages"])
    ):
        raise container.corrupt("a file leads nowhere")
    return rows


def units_of(container: Container) -> NDArray[Any]:
    """The table of units, each row leading to what exists."""
    rows, meta = container.table("units", UNIT), container.meta
    if len(rows) and (
        int(rows["file"].max()) >= meta["files"]
        or int(rows["definition"].max()) >= meta["definitions"]
        or int(rows["definition"].min()) < -1
    ):
        raise container.corrupt("a unit leads nowhere")
    return rows


def definitions_of(container: Container) -> NDArray[Any]:
    """The table of definitions, each row leading to what exists."""
    rows, meta = container.table("definitions", DEFINITION), container.meta
    strings = container.length("strings")
    if len(rows) and (
        int(rows["file"].max()) >= meta["files"]
        or int(rows["unit"].max()) >= meta["units"]
        or int(rows["kind"].max()) >= len(KINDS)
        or any(int(rows[column].max()) >= strings for column in ("name", "container", "signature"))
    ):
        raise container.corrupt("a definition leads nowhere")
    return rows


def _furthest(rows: NDArray[Any], first: str, count: str) -> int:
    starts = rows[first].astype("u8")
    return int(starts.max()) + int(rows[count].max()) if int(starts.max()) >> 62 else int((starts + rows[count]).max())


def owners_in(container: Container, family: str) -> int:
    """How many owners the terms of `family` can have."""
    kind = "units" if family in UNIT_FIELDS else "files" if family in FILE_FIELDS else "definitions"
    return int(container.meta[kind])


def decode(container: Container) -> SegmentData:
    """The whole segment back in memory, for merging."""
    import numpy as np

    files = files_of(check_shape(container))
    text = container.section("text")
    blob = bytes(container.section("terms"))
    ends = container.array("term_ends", "<u4").tolist()
    starts = [0, *ends][: len(ends)]
    try:
        terms = [blob[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
    except UnicodeDecodeError as error:
        raise container.corrupt("a term is not text") from error
    return SegmentData(
        files,
        units_of(container),
        definitions_of(container),
        terms,
        {family: _decode_postings(container, family) for family in FAMILIES},
        bytes(container.section("strings")),
        list(container.meta["languages"]),
        [text[a : a + n] for a, n in zip(files["text"].astype(np.int64).tolist(), files["size"].tolist(), strict=True)],
        vectors_of(container),
    )


def _bytes(array: NDArray[Any]) -> memoryview:
    import numpy as np

    # np.uint8 arrays are buffers, though the annotations of older numpy versions do not say so.
    flat: Any = np.ascontiguousarray(array).view(np.uint8)
    return memoryview(flat).cast("B") if array.size else memoryview(b"")


# Postings on disk. Owners are stored as differences within a term, each term in the narrowest width (1, 2 or 4 bytes) that
# holds its largest difference: small, and decoded by one cumulative sum. The width follows from the byte and row counts.


def _encode_postings(postings: Postings) -> dict[str, tuple[str, memoryview]]:
    import numpy as np

    terms, owners = postings.terms, postings.owners
    starts = np.flatnonzero(np.diff(terms.astype(np.int64), prepend=-1))
    rows = np.diff(np.append(starts, len(terms)))
    steps: NDArray[np.int64] = np.diff(owners.astype(np.int64), prepend=np.int64(0)).astype(np.int64)
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

    terms = container.array(f"{family}.terms", "<u4")
    row_ends = container.array(f"{family}.rows", "<u4").astype(np.int64)
    byte_ends = container.array(f"{family}.ends", "<u4").astype(np.int64)
    raw = container.array(f"{family}.owners", "u1")
    counts = container.array(f"{family}.counts", "u1")
    if not len(terms) == len(row_ends) == len(byte_ends):
        raise container.corrupt(f"broken postings in '{family}'")
    rows = np.diff(row_ends, prepend=0)
    sizes = np.diff(byte_ends, prepend=0)
    widths = sizes // np.maximum(rows, 1)
    sound = len(counts) == len(raw) == 0
    if len(terms):
        sound = bool(
            (rows > 0).all()
            and (widths * rows == sizes).all()
            and np.isin(widths, (1, 2, 4)).all()
            and (np.diff(terms.astype(np.int64)) > 0).all()
            and int(terms[-1]) < container.meta["terms"]
            and row_ends[-1] == len(counts)
            and byte_ends[-1] == len(raw)
        )
    if not sound:
        raise container.corrupt(f"broken postings in '{family}'")
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
        if int(running.max()) >= owners_in(container, family):
            raise container.corrupt(f"broken postings in '{family}'")
    return Postings(np.repeat(terms, rows), running.astype(np.uint32), counts)


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
    languages: dict[str, int] = {}
    files = np.zeros(len(rows), FILE)
    unit_maps = [np.full(len(part.units), -1, np.int64) for part in parts]
    definition_maps = [np.full(len(part.definitions), -1, np.int64) for part in parts]
    file_maps = [np.full(len(part.files), -1, np.int64) for part in parts]
    texts: list[bytes | memoryview] = []
    unit = definition = text = 0
    for new, (_, number, old) in enumerate(rows):
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
        files[new]["language"] = languages.setdefault(part.languages[int(row["language"])], len(languages))
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
    strings = _copy_strings(files, definitions, [(path, parts[number].strings) for path, number, _ in rows])
    terms, postings = _merge_postings(parts, file_maps, unit_maps, definition_maps)
    vectors = merge_vectors([part.vectors for part in parts], unit_maps, file_maps)
    return SegmentData(files, units, definitions, terms, postings, strings, list(languages), texts, vectors)


def _copy_strings(files: NDArray[Any], definitions: NDArray[Any], sources: list[tuple[str, bytes]]) -> bytes:
    """Gather the strings of merged tables in the order in which a build meets them, so that both give the same bytes."""
    pool = StringPool()
    offsets = list(zip(*(definitions[column].tolist() for column in ("name", "container", "signature")), strict=True))
    moved: list[tuple[int, ...]] = []
    paths = []
    for (path, strings), count in zip(sources, files["definitions"].tolist(), strict=True):
        mine = offsets[len(moved) : len(moved) + count]
        moved += [tuple(pool.put(string_at(strings, offset)) for offset in triple) for triple in mine]
        paths.append(pool.put(path))
    files["path"] = paths
    for i, column in enumerate(("name", "container", "signature")):
        definitions[column] = [triple[i] for triple in moved]
    return pool.data()


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
