"""Quantised rows: whole numbers with one scale per row, how they are packed, and exact weighted sums of them.

**Packing.** With 8 bits a number is one signed byte; with 4 bits two numbers share a byte, the first in the low half, each
stored plus 8.

**Sums** are exact: the same bytes whatever else is summed in the same call. Amounts become whole numbers too, small enough that
single precision holds every sum of products exactly; so neither the order of additions nor the blocks of a matrix product can
change a result.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray


LARGEST = {8: 127, 4: 7}
_CLIPS = {8: (1.0,), 4: (1.0, 0.92, 0.84, 0.76, 0.68, 0.6)}
"""Shares of a row's largest number that its scale may reach; with few steps it pays to clip the largest."""


TOTAL = 1 << 17
"""What the amounts of one sum add up to. Times the largest entry of a row (127) it is still below 2^24."""
_BLOCK = 32
"""Owners summed together by numpy: few enough for small matrices, enough to share many rows."""
_NATIVE_BLOCK = 1024
"""Owners summed together by the kernel."""

Gather: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.int8]]"
Sums = tuple[slice, "NDArray[np.float32]", "NDArray[np.float64]"]


def row_bytes(dims: int, bits: int) -> int:
    """How many bytes a packed row has."""
    return (dims * bits + 7) // 8


def quantise(rows: NDArray[Any], bits: int = 8) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers (n, dims) and scales (n): `numbers · scale` is close to `rows`. A row of zeros has the scale 0."""
    import numpy as np

    values = np.asarray(rows, np.float32)
    highest = np.abs(values).max(axis=1, initial=0.0)
    best = np.full(len(values), np.inf)
    numbers = np.zeros(values.shape, np.int8)
    scales = np.zeros(len(values), np.float32)
    for clip in _CLIPS[bits]:
        scale = (highest * np.float32(clip) / LARGEST[bits]).astype(np.float32)
        divisor = np.where(scale > 0, scale, 1)[:, None]
        tried = np.clip(np.rint(values / divisor), -LARGEST[bits], LARGEST[bits])
        if len(_CLIPS[bits]) == 1:
            return tried.astype(np.int8), scale
        lost = ((tried * divisor - values) ** 2).sum(axis=1, dtype=np.float64)
        better = lost < best
        best[better] = lost[better]
        numbers[better] = tried[better]
        scales[better] = scale[better]
    return numbers, scales


def pack(numbers: NDArray[np.int8], bits: int) -> NDArray[np.uint8]:
    """Quantised rows as they are stored, (n, row_bytes)."""
    import numpy as np

    if bits == 8:
        return np.ascontiguousarray(numbers).view(np.uint8)
    halves = (numbers + 8).astype(np.uint8)
    if halves.shape[1] % 2:
        halves = np.concatenate((halves, np.full((len(halves), 1), 8, np.uint8)), axis=1)
    packed: NDArray[np.uint8] = np.bitwise_or(halves[:, ::2], halves[:, 1::2] << np.uint8(4))
    return packed


def unpack(packed: NDArray[np.uint8], bits: int, dims: int) -> NDArray[np.int8]:
    """Stored rows as whole numbers (n, dims)."""
    import numpy as np

    if bits == 8:
        return packed.view(np.int8)
    halves = np.empty((len(packed), 2 * packed.shape[1]), np.int8)
    halves[:, ::2] = packed & 15
    halves[:, 1::2] = packed >> 4
    numbers: NDArray[np.int8] = halves[:, :dims] - np.int8(8)
    return numbers


class PackedRows(Record):
    """All rows of a matrix, packed."""

    __slots__ = ("rows", "bits", "dims")

    def __init__(self, rows: NDArray[np.uint8] | NDArray[np.int8], bits: int, dims: int) -> None:
        self.rows, self.bits, self.dims = rows, bits, dims

    @property
    def height(self) -> int:
        return self.rows.size // row_bytes(self.dims, self.bits)

    def unpack_rows(self, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
        """The rows with these numbers, unpacked."""
        import numpy as np

        return unpack(self.rows.reshape(-1, row_bytes(self.dims, self.bits))[numbers].view(np.uint8), self.bits, self.dims)


class _OwnerParts(Record):
    """Rows and amounts, sorted by owner."""

    __slots__ = ("owners", "rows", "whole", "ends", "factors")

    def __init__(
        self, owners: NDArray[np.int64], rows: NDArray[np.int64], whole: NDArray[np.float64], ends: NDArray[np.int64],
        factors: NDArray[np.float64],
    ) -> None:  # fmt: skip
        self.owners, self.rows = owners, rows
        self.whole = whole
        """Amounts as whole numbers."""
        self.ends = ends
        """Where each owner's part ends."""
        self.factors = factors
        """What each owner's whole numbers are multiplied by to get amounts."""


def weighted_sums(
    owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int, gather: Gather, height: int,
    stored: PackedRows | None = None,
) -> Iterator[Sums]:  # fmt: skip
    """For owners 0 … total - 1, block by block: which they are, Σ amount · row in whole numbers, and the factor for each.

    `owners`, `rows` and `amounts` are parallel arrays; `gather` returns the rows with given numbers below `height`; `stored`
    holds all rows for the kernel, if given.
    """
    parts = _sort_by_owner(owners, rows, amounts, total)
    if stored is None or native() is None:
        return _sum_numpy(parts, gather, height)
    return _sum_native(parts, stored)


def unit_sums(
    owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int, stored: PackedRows
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each owner's Σ amount · row as bytes, and the scales that give it length 1. The kernel's `owner_sums` does the same."""
    import numpy as np

    numbers = np.zeros((total, stored.dims), np.int8)
    scales = np.zeros(total, np.float32)
    for here, sums, _ in _sum_numpy(_sort_by_owner(owners, rows, amounts, total), stored.unpack_rows, stored.height):
        numbers[here], scales[here] = normalise_sums(sums)
    return numbers, scales


def normalise_sums(sums: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as bytes, and the scales that give them length 1."""
    import numpy as np

    highest = np.abs(sums).max(axis=1, initial=0.0)
    numbers = np.rint(sums * (127 / np.where(highest > 0, highest, 1.0))[:, None].astype(np.float32)).astype(np.int8)
    wide = numbers.astype(np.int32)
    length = np.sqrt((wide * wide).sum(axis=1))
    return numbers, np.where(length > 0, 1 / np.where(length > 0, length, 1), 0).astype(np.float32)


def _sort_by_owner(owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int) -> _OwnerParts:
    import numpy as np

    # numpy sorts 16-bit numbers in linear time.
    order = np.argsort(owners.astype(np.uint16) if total <= 1 << 16 else owners, kind="stable")
    owners, rows, amounts = owners[order], rows[order], amounts[order]
    shares = np.bincount(owners, np.abs(amounts), total)
    factors = np.where(shares > 0, shares, 1.0) / TOTAL
    whole = np.trunc(amounts / factors[owners])
    return _OwnerParts(owners, rows, whole, np.cumsum(np.bincount(owners, minlength=total)), factors)


def _sum_numpy(parts: _OwnerParts, gather: Gather, height: int) -> Iterator[Sums]:
    import numpy as np

    owners, rows, whole, ends, factors = parts.owners, parts.rows, parts.whole, parts.ends, parts.factors
    total = len(ends)
    column = np.zeros(height, np.int64)
    mark = np.zeros(height, bool)
    for first in range(0, total, _BLOCK):
        last = min(first + _BLOCK, total)
        start, end = (int(ends[first - 1]) if first else 0), int(ends[last - 1])
        here = rows[start:end]
        mark[here] = True
        distinct = np.flatnonzero(mark)
        mark[distinct] = False
        column[distinct] = np.arange(len(distinct))
        cells = (owners[start:end] - first) * len(distinct) + column[here]
        block = np.bincount(cells, whole[start:end], (last - first) * len(distinct)).astype(np.float32)
        sums = block.reshape(last - first, len(distinct)) @ gather(distinct).astype(np.float32)
        yield slice(first, last), sums, factors[first:last]


def _sum_native(parts: _OwnerParts, stored: PackedRows) -> Iterator[Sums]:
    import numpy as np

    kernel = native()
    assert kernel is not None
    flat = stored.rows.ravel()
    for here, ends, span in _blocks(parts):
        found = kernel.row_sums(ends, parts.rows[span], parts.whole[span], flat, stored.bits, stored.dims)
        yield here, np.frombuffer(found, np.float32).reshape(-1, stored.dims), parts.factors[here]


def _blocks(parts: _OwnerParts) -> Iterator[tuple[slice, NDArray[np.int64], slice]]:
    """Blocks of owners: which they are, where each one's part ends within the block, and the block's span in all rows."""
    for first in range(0, len(parts.ends), _NATIVE_BLOCK):
        here = slice(first, min(first + _NATIVE_BLOCK, len(parts.ends)))
        start = int(parts.ends[first - 1]) if first else 0
        yield here, parts.ends[here] - start, slice(start, int(parts.ends[here.stop - 1]))
