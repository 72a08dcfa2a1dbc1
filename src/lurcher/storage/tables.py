"""What the sections of a segment hold, read without numpy where the kernel is in use: rows of tables, postings, vectors.

Postings are, for each term of a family, its owners (units, say, or commits) and their counts. On disk, owners are stored as
differences within a term, in the narrowest width (1, 2 or 4 bytes) that holds the largest one, followed by the counts, a byte
each. One cumulative sum decodes a list; its width follows from its bytes and rows.

Vectors are signed bytes with a scale per row: row times scale has length 1, or at most 1 for the card of a file, which is a
short description of it.
"""

from __future__ import annotations

from _thread import _local
from bisect import bisect_left
from functools import cache
from math import fsum, sqrt
from struct import Struct

from lurcher.runtime.kernel import native, np
from lurcher.storage.container import Container, Layout
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType
    from typing import Any

    from numpy.typing import NDArray

_STRUCT_CODES = {"u1": "B", "<u2": "H", "<u4": "I", "<i4": "i", "<u8": "Q", "<i8": "q"}
_SIZES = {"u1": 1, "<u2": 2, "<u4": 4, "<i4": -4, "<u8": 8}
"""Bytes of a number; negative for signed ones, as the kernel expects."""
_MAX_LIMIT = (1 << 62) - 1


def read_rows(container: Container, name: str, layout: Layout) -> NDArray[Any]:
    """A whole section as rows: `TableRows` where the kernel is in use, so that no query has to load numpy."""
    if native() is None or not isinstance(container, Container):
        return container.table(name, layout)
    data, rows = container.section(name), row_layout(tuple(layout))
    if len(data) % rows.struct.size:
        raise container.corrupt(f"section '{name}' ends in the middle of a row")
    found: Any = TableRows(data, rows)
    return found  # type: ignore[no-any-return]


class RowLayout:
    """The columns of a table: number, offset in a row, and kind of each."""

    def __init__(self, layout: tuple[tuple[str, str], ...]) -> None:
        self.struct = Struct("<" + "".join(_STRUCT_CODES[kind] for _, kind in layout))
        self.columns: dict[str, tuple[int, int, str]] = {}
        offset = 0
        for number, (name, kind) in enumerate(layout):
            self.columns[name] = number, offset, kind
            offset += int(kind[-1])


@cache
def row_layout(layout: tuple[tuple[str, str], ...]) -> RowLayout:
    return RowLayout(layout)


def _kernel() -> ModuleType:
    kernel = native()
    assert kernel is not None, "without the kernel tables are numpy arrays"
    return kernel


class TableRow:
    """One row: a number by the name of its column, or all numbers."""

    __slots__ = ("_layout", "_numbers")

    def __init__(self, layout: RowLayout, numbers: tuple[int, ...]) -> None:
        self._layout = layout
        self._numbers = numbers

    def __getitem__(self, name: str) -> int:
        return self._numbers[self._layout.columns[name][0]]

    def item(self) -> tuple[int, ...]:
        return self._numbers


class TableRows:
    """The part of numpy's structured arrays that readers use: `rows["size"]`, `rows[3]`, `rows[2:5]`, `rows[[4, 1]]`."""

    def __init__(self, data: memoryview | bytes, layout: RowLayout) -> None:
        self._data = data
        self._layout = layout
        self._arrays: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._data) // self._layout.struct.size

    def numbers(self, row: int) -> tuple[int, ...]:
        """The numbers of one row; `row` is not negative."""
        struct = self._layout.struct
        if (row + 1) * struct.size > len(self._data):
            raise IndexError(row)
        return struct.unpack_from(self._data, row * struct.size)

    def packed(self, *columns: str) -> tuple[Any, ...]:
        """The bytes of all rows, the bytes per row, and the offsets of some columns."""
        return self._data, self._layout.struct.size, *(self._layout.columns[column][1] for column in columns)

    def innermost(self, first: int, count: int, byte: int, marks: bytes) -> int:
        """The shortest of `count` rows whose range from `start` to `end` holds a byte and whose `kind` is marked; or -1."""
        size, columns = self._layout.struct.size, self._layout.columns
        start, end, kind = columns["start"][1], columns["end"][1], columns["kind"][1]
        found: int = _kernel().innermost(self._data, size, start, end, kind, first, count, byte, marks)
        return found

    def __getitem__(self, key: Any) -> Any:
        layout = self._layout
        if type(key) is str:
            known = self._arrays.get(key)
            if known is None:
                _, offset, kind = layout.columns[key]
                known = self._arrays[key] = _kernel().column(self._data, offset, layout.struct.size, kind)
            return known
        size = layout.struct.size
        if type(key) is int:
            if not -len(self) <= key < len(self):
                raise IndexError(key)
            return TableRow(layout, layout.struct.unpack_from(self._data, (key % len(self)) * size))
        if type(key) is slice:
            start, stop, step = key.indices(len(self))
            if step == 1:
                return TableRows(self._data[start * size : max(start, stop) * size], layout)
            return self[range(start, stop, step)]
        return TableRows(b"".join(self._data[row * size : (row + 1) * size] for row in self._row_numbers(key)), layout)

    def _row_numbers(self, key: Any) -> list[int]:
        """The rows that a mask or a list selects; IndexError where one does not exist."""
        numbers, total = np.asarray(key), len(self)
        if str(numbers.dtype) == "bool":
            if len(numbers) != total:
                raise IndexError(f"a mask over {len(numbers)} of {total} rows")
            numbers = np.flatnonzero(numbers)
        rows: list[int] = numbers.tolist()
        if rows and not -total <= min(rows) <= max(rows) < total:
            raise IndexError(f"rows {min(rows)} to {max(rows)} of {total}")
        return [row + total if row < 0 else row for row in rows]

    def as_numbers(self, column: str, more: int) -> Any:
        """A column as 64-bit numbers, `more` added to each."""
        _, offset, kind = self._layout.columns[column]
        return _kernel().numbers(self._data, offset, self._layout.struct.size, kind, more)

    def lengths(self, files: TableRows, live: Any, fields: Mapping[str, float], out: Any, first: int) -> tuple[int, ...]:
        """For rows of units: writes the weighted length of each into `out`, from `first` on.

        A field is a column of the unit or of its file. Returns the sum of each field over units of live files, and the
        number of these units.
        """
        unit_columns, file_columns = self._layout.columns, files._layout.columns
        given = []
        for name, weight in fields.items():
            _, offset, kind = unit_columns.get(name) or file_columns[name]
            given.append((name not in unit_columns, offset, _SIZES[kind], weight))
        found: tuple[int, ...] = _kernel().lengths(
            self._data, self._layout.struct.size, files._data, files._layout.struct.size, unit_columns["file"][1], live,
            tuple(given), out, first,
        )  # fmt: skip
        return found

    def within(self, limits: Iterable[tuple[str, str, int, int]]) -> bool:
        """Whether all numbers keep their limits: (column, column to add or "", lowest, highest)."""
        columns = self._layout.columns
        given = []
        for column, added, low, high in limits:
            _, offset, kind = columns[column]
            other = columns.get(added)
            addend = (-1, 0) if other is None else (other[1], _SIZES[other[2]])
            given.append((offset, _SIZES[kind], *addend, low, min(high, _MAX_LIMIT)))
        found: bool = _kernel().within(self._data, self._layout.struct.size, tuple(given))
        return found

    def tolist(self) -> list[tuple[int, ...]]:
        return list(self._layout.struct.iter_unpack(self._data))


def normalise_lengths(lengths: Any, mean: float, k1: float, b: float) -> Any:
    """Replaces each length, in place, by BM25's k1 · (1 − b + b · length / mean)."""
    _kernel().normed(lengths, mean, k1, b)
    return lengths




def check_lists(container: Container, family: str, found: Any) -> None:
    """Raise unless the terms, rows and ends of a family fit each other."""
    count = len(found.terms)
    if not count == len(found.rows) == len(found.ends) or (count and int(found.terms[-1]) >= container.meta["terms"]):
        raise broken_postings(container, family)


def broken_postings(container: Container, family: str) -> Exception:
    return container.corrupt(f"broken postings in '{family}'")


class VectorGroup(Record):
    """The sections of one group of vectors: numbers, scales and (in sidecars) keys; and the table with one row per vector."""

    __slots__ = ("numbers", "scales", "owners")

    def __init__(self, numbers: str, scales: str, owners: str) -> None:
        self.numbers, self.scales, self.owners = numbers, scales, owners

    @property
    def keys(self) -> str:
        return f"{self.numbers}_keys"


FILE_VECTORS = (VectorGroup("vectors", "vector_scales", "units"), VectorGroup("cards", "card_scales", "files"))
"""Of files: one vector per unit, and one per file, its card."""


class PostingViews(Record):
    """The same as memoryviews, for looking up single terms without numpy."""

    __slots__ = ("terms", "rows", "ends")

    def __init__(self, terms: memoryview, rows: memoryview, ends: memoryview) -> None:
        self.terms, self.rows, self.ends = terms, rows, ends

    def place(self, term: int) -> int:
        """The position of a term, or -1."""
        position = bisect_left(self.terms, term)
        return position if position < len(self.terms) and self.terms[position] == term else -1


def open_views(container: Container, family: str) -> PostingViews:
    found = PostingViews(*(container.typed_section(f"{family}.{part}", "<u4").cast("I") for part in ("terms", "rows", "ends")))
    check_lists(container, family, found)
    return found


def stored_list(container: Container, family: str, views: PostingViews, position: int) -> tuple[memoryview, int]:
    """The stored list of the term at `position`, and its number of rows."""
    first, start = (views.rows[position - 1], views.ends[position - 1]) if position else (0, 0)
    rows, size = views.rows[position] - first, views.ends[position] - start
    if rows <= 0 or size not in (2 * rows, 3 * rows, 5 * rows):
        raise broken_postings(container, family)
    return container.section(f"{family}.data", start, start + size), rows


def read_list(
    container: Container, family: str, views: PostingViews, position: int, total: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The owners of the term at `position`, each below `total`, and their counts."""
    data, rows = stored_list(container, family, views, position)
    kernel = native()
    if kernel is not None:
        found: tuple[NDArray[np.int64], NDArray[np.uint8]] | None = kernel.postings(data, rows, total)
        if found is None:
            raise broken_postings(container, family)
        return found
    import numpy as np

    width = len(data) // rows - 1
    owners = np.cumsum(np.frombuffer(data[: width * rows], f"<u{width}"), dtype=np.int64)
    if int(owners[-1]) >= total:
        raise broken_postings(container, family)
    return owners, np.frombuffer(data[width * rows :], np.uint8)


def expand_runs(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of all runs, concatenated; a run is given by its first number and its length."""
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


class _SumBuffer(_local):
    """Memory in which the kernel adds up, one per thread: zeros before and after each use."""

    def __init__(self) -> None:
        self._room: NDArray[np.float64] | None = None

    def zeros(self, total: int) -> NDArray[np.float64]:
        if self._room is None or len(self._room) < total:
            self._room = np.zeros(total)
        return self._room
SUM_BUFFER = _SumBuffer()


class PostingSum:
    """Adds up the weighted counts of many terms, in one pass at the end: several times faster than term by term."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._broken: dict[int, Callable[[], Exception]] = {}

    def add_list(
        self, list: memoryview, rows: int, limit: int, first: int, weight: float, broken: Callable[[], Exception]
    ) -> None:
        """Add a stored list, for the kernel, which decodes and adds in one pass.

        Its owners are below `limit`; `first` is added to their numbers. `broken` makes the error for a damaged list.
        """
        self._broken[len(self._parts)] = broken
        self._parts.append((list, rows, limit, first, float(weight)))

    def add(self, owners: NDArray[np.int64], counts: NDArray[Any], weight: float) -> None:
        if len(owners):
            self._parts.append((owners, counts, float(weight)))

    def dense(self, total: int) -> NDArray[np.float64] | None:
        """One sum per owner 0 … total - 1; None where nothing was added."""
        if not self._parts:
            return None
        if native() is not None:
            there, sums = self.sparse(total)
            every = np.zeros(total)
            every[there] = sums
            return every
        owners = np.concatenate([owners for owners, _, _ in self._parts])
        values = np.concatenate([counts * weight for _, counts, weight in self._parts])
        return np.bincount(owners, values, total).astype(np.float64, copy=False)

    def sparse(self, total: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ascending owners with a sum other than zero, and their sums."""
        kernel = native()
        if kernel is not None and self._parts:
            found = kernel.tally(self._parts, total)
            if type(found) is int:
                raise self._broken[found]()
            owners, sums = found
            return np.frombuffer(owners, np.int64), np.frombuffer(sums)
        every = self.dense(total)
        if every is None:
            return np.zeros(0, np.int64), np.zeros(0)
        there = np.flatnonzero(every)
        return there, every[there]

_BLOCK_ROWS = 256
"""Rows that are converted at a time: few enough for the processor's cache."""


class VectorRows(Record):
    """A section of vectors, and the scale of each row."""

    __slots__ = ("container", "name", "dims", "scales")

    def __init__(self, container: Container, name: str, dims: int, scales: NDArray[np.float32]) -> None:
        self.container, self.name, self.dims, self.scales = container, name, dims, scales

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def data(self) -> memoryview:
        """All rows, mapped."""
        return self.container.typed_section(self.name, "i1")

    def data_for(self, rows: NDArray[np.int64] | None) -> memoryview:
        """The same where only some rows are read: the others need not be verified."""
        if rows is None or native() is None or not len(rows):
            return self.data
        starts = rows * self.dims
        return self.container.section_with_parts(self.name, starts, starts + self.dims)

    def vector(self, row: int) -> NDArray[np.float64]:
        bytes_ = np.frombuffer(self.data[row * self.dims : (row + 1) * self.dims], np.int8)
        vector: NDArray[np.float64] = bytes_.astype(np.float64) * float(self.scales[row])
        return vector


def open_vectors(container: Container, groups: Sequence[VectorGroup]) -> dict[str, VectorRows] | None:
    """The vectors of a segment by group, as far as the container has them; None where it has none."""
    dims = container.meta["dims"]
    if not dims:
        return None
    found = {}
    for group in groups:
        if container.has_section(group.numbers):
            scales = np.frombuffer(container.typed_section(group.scales, "<f4"), np.float32)
            if len(scales) and not 0 <= float(scales.min()) <= float(scales.max()) <= 1:
                raise container.corrupt("a scale of its vectors is out of range")
            found[group.numbers] = VectorRows(container, group.numbers, dims, scales)
    return found


class Direction(Record):
    """A query vector as whole numbers, and its length; length 0 if it is empty."""

    __slots__ = ("numbers", "length")

    def __init__(self, numbers: NDArray[np.float32], length: float) -> None:
        self.numbers, self.length = numbers, length


def to_direction(vector: NDArray[np.float64]) -> Direction:
    """Numbers small enough that single precision represents every product with a row exactly.

    So a cosine does not depend on how rows are grouped, and an index that grew answers like one that was built at once.
    """
    total = fsum(np.abs(vector).tolist())
    numbers = np.trunc(vector * ((1 << 17) / total)) if total > 0 else np.zeros(len(vector))
    return Direction(numbers.astype(np.float32), sqrt(fsum((numbers * numbers).tolist())))


class ProductBuffer(_local):
    """Memory for converted rows, one per thread: allocating it for each query would cost more than the work."""

    def __init__(self) -> None:
        self._bytes: NDArray[np.int8] | None = None
        self._numbers: NDArray[np.float32] | None = None

    def _numbers_for(self, dims: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        import numpy as np

        if self._bytes is None or self._numbers is None or self._bytes.shape[1] != dims:
            self._bytes, self._numbers = np.empty((_BLOCK_ROWS, dims), np.int8), np.empty((_BLOCK_ROWS, dims), np.float32)
        return self._bytes, self._numbers

    def products(
        self, data: memoryview, dims: int, places: NDArray[np.int64] | None, direction: Direction
    ) -> NDArray[np.float64]:
        """The products of a direction with all rows, or with those at some places."""
        height = len(data) // dims
        count = height if places is None else len(places)
        kernel = native()
        if kernel is not None and height:
            found = np.empty(count)
            kernel.products(data, places, direction.numbers, found)
            return found
        return self._reference(data, dims, places, count, direction)

    def _reference(
        self, data: memoryview, dims: int, places: NDArray[np.int64] | None, count: int, direction: Direction
    ) -> NDArray[np.float64]:
        import numpy as np

        rows = np.frombuffer(data, np.int8).reshape(-1, dims)
        products = np.empty(count, np.float32)
        chosen, numbers = self._numbers_for(rows.shape[1])
        for first in range(0, count, _BLOCK_ROWS):
            last = min(first + _BLOCK_ROWS, count)
            block = numbers[: last - first]
            if places is None:
                block[...] = rows[first:last]
            else:
                # Every place is valid; "clip" only saves a copy.
                rows.take(places[first:last], axis=0, out=chosen[: last - first], mode="clip")
                block[...] = chosen[: last - first]
            np.matmul(block, direction.numbers, out=products[first:last])
        return products.astype(np.float64)


class CosineIndex:
    """Cosines of all rows of a snapshot that have vectors, live and dead, with a direction.

    Rows stay bytes and are converted block by block for each query: fetching them from memory is what costs, and single
    precision would be four times as much to fetch.
    """

    def __init__(self, containers: Sequence[Container | None], groups: Sequence[VectorGroup] = FILE_VECTORS) -> None:
        found = [open_vectors(container, groups) if container is not None else None for container in containers]
        self._parts = [part for part in found if part is not None]
        sizes = {rows.dims for part in self._parts for rows in part.values()}
        self.dims: int = sizes.pop() if len(self._parts) == len(found) and len(sizes) == 1 else 0
        """Dimensions; 0 where not all segments have vectors of one size."""
        self._buffer = ProductBuffer()

    def has(self, group: str) -> bool:
        """Whether all segments have the vectors of a group."""
        return self.dims > 0 and all(group in part for part in self._parts)

    def vector(self, unit: int) -> NDArray[np.float64]:
        """A unit's own vector."""
        for part in self._parts:
            rows = part["vectors"]
            if unit < len(rows):
                return rows.vector(unit)
            unit -= len(rows)
        raise IndexError(unit)

    def for_files(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per file."""
        return self.of_all("cards", direction)

    def for_all_units(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per unit."""
        return self.of_all("vectors", direction)

    def for_units(self, units: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some units."""
        return self.of_some("vectors", units, direction)

    def of_all(self, group: str, direction: Direction) -> NDArray[np.float64]:
        """One cosine per row of a group."""
        parts = [self._cosines(part[group], direction) for part in self._parts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)

    def of_some(self, group: str, rows: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some rows of a group."""
        if len(self._parts) == 1:
            return self._cosines(self._parts[0][group], direction, rows)
        cosines = np.zeros(len(rows))
        base = 0
        for part in self._parts:
            here = np.flatnonzero((rows >= base) & (rows < base + len(part[group])))
            cosines[here] = self._cosines(part[group], direction, rows[here] - base)
            base += len(part[group])
        return cosines

    def _cosines(
        self, rows: VectorRows, direction: Direction, places: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        products = self._buffer.products(rows.data_for(places), rows.dims, places, direction)
        products *= rows.scales if places is None else rows.scales[places]
        products /= direction.length or 1.0
        return products
