"""Rows as COPY takes them in binary: whole tables made by numpy, without a Python object for each number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TAIL = b"\xff\xff"
PART = 2048
"""Entries in one row of postings, at most."""
_BIGINT = 20
"""The number by which the server knows the type of entries."""
_AT_ONCE = 1 << 20


class Entries(NamedTuple):
    """Words of units: whose, which, how heavy."""

    terms: NDArray[np.int32]
    units: NDArray[np.int64]
    """Number of the file · 2^16 + place."""
    weights: NDArray[np.float32]


def postings(entries: Entries, project: int, segment: int) -> Iterator[bytes]:
    """The rows of `postings`: for each word its entries, the heaviest first, in parts; what weighs nothing is left out."""
    import numpy as np

    terms, units, weights = entries
    # One key for both: among positive numbers the bits of a larger one are larger too. Units are in order already.
    heaviness = weights.astype(np.float32).view(np.uint32).astype(np.uint64)
    order = np.argsort(
        terms.view(np.uint32).astype(np.uint64) << np.uint64(32) | (np.uint64(0xFFFFFFFF) - heaviness), kind="stable"
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
    starts = np.flatnonzero(place % PART == 0)
    ends = np.append(starts[1:], len(terms))
    counts = ends - starts
    heads = _fields(
        len(starts),
        [
            ("project", ">i4", project), ("term", ">i4", terms[starts]), ("segment", ">i4", segment),
            ("part", ">i4", place[starts] // PART), ("size", ">i4", counts), ("peak", ">f4", weights[starts]),
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


def vectors(
    project: int, cells: NDArray[np.int64], files: NDArray[np.int64], places: NDArray[np.int64], dense: NDArray[np.float16]
) -> Iterator[bytes]:
    """The rows of `vectors`: those of a cell next to each other, and cards apart from units."""
    import numpy as np

    order = np.lexsort((places, files, cells, places < 0))
    dims = dense.shape[1]
    for begin in range(0, len(order), max(1, _AT_ONCE // max(dims, 1))):
        some = order[begin : begin + max(1, _AT_ONCE // max(dims, 1))]
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
    """Rows that begin with fields of four bytes, each with its length before it."""
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
