"""Values as PostgreSQL stores them: escaped text, vectors as bytes, and rows for COPY in binary format.

Rows of whole tables are made by numpy, without a Python object for each number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
PART_ENTRIES = 2048
"""The most entries that one row of `postings` has."""
_BIGINT = 20
"""PostgreSQL's number of the type of an entry."""
_BATCH_NUMBERS = 1 << 20
"""Numbers of vectors that are encoded at a time."""


_SPARE = 0x10F000
"""The first code point of a private range that no text uses."""
_ESCAPED = {0: chr(_SPARE + 0x800), **{0xD800 + place: chr(_SPARE + place) for place in range(0x800)}}
_UNESCAPED = {_SPARE + 0x800: "\0", **{_SPARE + place: chr(0xD800 + place) for place in range(0x800)}}


def escape_text(text: str) -> str:
    """Text as PostgreSQL can store it: zeros and lone surrogates become characters of a private range."""
    if "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    return text.translate(_ESCAPED)


def unescape_text(text: str) -> str:
    """The inverse of `escape_text`."""
    return text if text.isascii() or max(text) < chr(_SPARE) else text.translate(_UNESCAPED)


def encode_half(vector: Any) -> bytes | None:
    """A vector in half precision; None for none, or for one of length zero."""
    if vector is None:
        return None
    import numpy as np

    halves = np.asarray(vector, np.float32).astype("<f2")
    return halves.tobytes() if np.isfinite(halves).all() and halves.any() else None


def encode_terms(numbers: Any, weights: Any) -> bytes:
    """A sparse vector: the term numbers as four bytes each, then the weights."""
    import numpy as np

    return np.asarray(numbers).astype("<u4").tobytes() + np.asarray(weights).astype("<f4").tobytes()


class PostingEntries(NamedTuple):
    """Terms of units with their weights."""

    terms: NDArray[np.int32]
    units: NDArray[np.int64]
    """Number of the file · 2^16 + place of the unit in it."""
    weights: NDArray[np.float32]


def encode_postings(entries: PostingEntries, project: int, segment: int) -> Iterator[bytes]:
    """The rows of the table `postings`: entries of each term, the heaviest first, in parts. All weights are positive."""
    import numpy as np

    terms, units, weights = entries
    # One sort key for term and weight: for positive floats the order of the bits is that of the numbers.
    weight_bits = weights.astype(np.float32).view(np.uint32).astype(np.uint64)
    order = np.argsort(
        terms.view(np.uint32).astype(np.uint64) << np.uint64(32) | (np.uint64(0xFFFFFFFF) - weight_bits), kind="stable"
    )
    terms, units, weights = terms[order], units[order], weights[order]
    first = np.flatnonzero(np.diff(terms.astype(np.int64), prepend=np.int64(1) << 40))
    sizes = np.diff(np.append(first, len(terms)))
    scales = weights[first] / np.float32(65535)
    row = np.repeat(np.arange(len(first)), sizes)
    amounts = np.clip(np.rint(weights / scales[row]), 1, 65535).astype(np.int64)
    items = np.empty(len(terms), [("length", ">i4"), ("entry", ">i8")])
    items["length"], items["entry"] = 8, units << 16 | amounts
    place = np.arange(len(terms)) - first[row]
    starts = np.flatnonzero(place % PART_ENTRIES == 0)
    ends = np.append(starts[1:], len(terms))
    counts = ends - starts
    heads = _fields(
        len(starts),
        [
            ("project", ">i4", project), ("term", ">i4", terms[starts]), ("segment", ">i4", segment),
            ("part", ">i4", place[starts] // PART_ENTRIES), ("size", ">i4", counts), ("peak", ">f4", weights[starts]),
            ("scale", ">f4", scales[row[starts]]),
        ],
        [
            ("bytes", ">i4", 20 + 12 * counts), ("ndim", ">i4", 1), ("flags", ">i4", 0), ("type", ">i4", _BIGINT),
            ("count", ">i4", counts), ("lower", ">i4", 1),
        ],
        8,
    )  # fmt: skip
    width = heads.dtype.itemsize
    head, body = memoryview(heads.tobytes()), memoryview(items.tobytes())
    for begin in range(0, len(starts), 8192):
        pieces = []
        for number in range(begin, min(begin + 8192, len(starts))):
            pieces += [head[number * width : (number + 1) * width], body[12 * starts[number] : 12 * ends[number]]]
        yield b"".join(pieces)


def encode_vectors(
    project: int, cells: NDArray[np.int64], files: NDArray[np.int64], places: NDArray[np.int64], dense: NDArray[np.float16]
) -> Iterator[bytes]:
    """The rows of the table `vectors`: those of a cell next to each other, cards after units."""
    import numpy as np

    order = np.lexsort((places, files, cells, places < 0))
    dims = dense.shape[1]
    for begin in range(0, len(order), max(1, _BATCH_NUMBERS // max(dims, 1))):
        some = order[begin : begin + max(1, _BATCH_NUMBERS // max(dims, 1))]
        rows = _fields(
            len(some),
            [
                ("project", ">i4", project), ("cell", ">i4", cells[some]), ("file", ">i4", files[some]),
                ("place", ">i4", places[some]), ("dims", ">i4", dims),
            ],
            [
                ("bytes", ">i4", 4 + 2 * dims), ("numbers", ">i2", dims), ("unused", ">i2", 0),
                ("dense", (">f2", (dims,)), dense[some]),
            ],
            6,
        )  # fmt: skip
        yield rows.tobytes()


def _fields(
    count: int, fixed: list[tuple[str, str, object]], last: list[tuple[str, object, object]], columns: int
) -> NDArray[np.void]:
    """Rows for COPY: `fixed` fields of four bytes, each preceded by its length, then the `last` field."""
    import numpy as np

    layout: list[tuple[str, object]] = [("columns", ">i2")]
    for name, kind, _ in fixed:
        layout += [(f"{name} length", ">i4"), (name, kind)]
    rows = np.zeros(count, [*layout, *((name, kind) for name, kind, _ in last)])
    rows["columns"] = columns
    for name, _, value in fixed:
        rows[f"{name} length"], rows[name] = 4, value
    for name, _, value in last:
        rows[name] = value
    return rows
