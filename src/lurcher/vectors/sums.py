"""Weighted sums of rows of whole numbers, exact: the same bytes whatever else is summed in the same call.

Amounts become whole numbers too, small enough that single precision holds every sum of products exactly; so neither the order
nor the blocks in which a matrix product adds up can be told from the result.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple
from lurcher.vectors.quantise import unpack
from lurcher.vectors.table import row_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

TOTAL = 1 << 17
"""What the amounts of one sum add up to: times the largest entry of a row (127), still below 2^24."""
_BLOCK = 32
"""Owners that are summed together: few enough for small matrices, enough to share many of their rows."""
_NATIVE_BLOCK = 1024
"""Owners whose sums the kernel gives at a time."""

Gather: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.int8]]"
Sums = tuple[slice, "NDArray[np.float32]", "NDArray[np.float64]"]


class Stored(NamedTuple):
    """All rows of a matrix, as quantise.py packs them."""

    rows: NDArray[np.uint8] | NDArray[np.int8]
    bits: int
    dims: int

    @property
    def height(self) -> int:
        return self.rows.size // row_bytes(self.dims, self.bits)

    def some(self, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
        """The rows of given numbers."""
        import numpy as np

        return unpack(self.rows.reshape(-1, row_bytes(self.dims, self.bits))[numbers].view(np.uint8), self.bits, self.dims)


class _Parts(NamedTuple):
    """What is summed, by owner."""

    owners: NDArray[np.int64]
    rows: NDArray[np.int64]
    whole: NDArray[np.float64]
    """Amounts as whole numbers."""
    ends: NDArray[np.int64]
    """Of each owner's part."""
    factors: NDArray[np.float64]
    """What takes each owner's whole numbers back to scale."""


def weighted_sums(
    owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int, gather: Gather, height: int,
    stored: Stored | None = None,
) -> Iterator[Sums]:  # fmt: skip
    """For owners 0 … total - 1, block by block: which they are, Σ amount · row, and the factor that takes it to scale.

    `owners`, `rows` and `amounts` say what belongs to whom; `gather` gives the rows of given numbers below `height`; `stored`,
    where it is given, holds all of them for the kernel.
    """
    parts = _sorted(owners, rows, amounts, total)
    if stored is None or native() is None:
        return _reference(parts, gather, height)
    return _native(parts, stored)


def unit_sums(
    owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int, stored: Stored
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each owner's Σ amount · row as bytes, and the scales that make them one long: what the kernel makes of counts at once."""
    import numpy as np

    numbers = np.zeros((total, stored.dims), np.int8)
    scales = np.zeros(total, np.float32)
    for here, sums, _ in _reference(_sorted(owners, rows, amounts, total), stored.some, stored.height):
        numbers[here], scales[here] = unit_length(sums)
    return numbers, scales


def unit_length(sums: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as bytes, and the scales that make them one long."""
    import numpy as np

    highest = np.abs(sums).max(axis=1, initial=0.0)
    numbers = np.rint(sums * (127 / np.where(highest > 0, highest, 1.0))[:, None].astype(np.float32)).astype(np.int8)
    wide = numbers.astype(np.int32)
    length = np.sqrt((wide * wide).sum(axis=1))
    return numbers, np.where(length > 0, 1 / np.where(length > 0, length, 1), 0).astype(np.float32)


def _sorted(owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int) -> _Parts:
    import numpy as np

    # Small numbers are sorted in linear time.
    order = np.argsort(owners.astype(np.uint16) if total <= 1 << 16 else owners, kind="stable")
    owners, rows, amounts = owners[order], rows[order], amounts[order]
    shares = np.bincount(owners, np.abs(amounts), total)
    factors = np.where(shares > 0, shares, 1.0) / TOTAL
    whole = np.trunc(amounts / factors[owners])
    return _Parts(owners, rows, whole, np.cumsum(np.bincount(owners, minlength=total)), factors)


def _reference(parts: _Parts, gather: Gather, height: int) -> Iterator[Sums]:
    import numpy as np

    owners, rows, whole, ends, factors = parts
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


def _native(parts: _Parts, stored: Stored) -> Iterator[Sums]:
    import numpy as np

    kernel = native()
    assert kernel is not None
    flat = stored.rows.ravel()
    for here, ends, span in _blocks(parts):
        found = kernel.row_sums(ends, parts.rows[span], parts.whole[span], flat, stored.bits, stored.dims)
        yield here, np.frombuffer(found, np.float32).reshape(-1, stored.dims), parts.factors[here]


def _blocks(parts: _Parts) -> Iterator[tuple[slice, NDArray[np.int64], slice]]:
    """Some owners at a time, where each one's part ends among theirs, and where theirs is among all."""
    for first in range(0, len(parts.ends), _NATIVE_BLOCK):
        here = slice(first, min(first + _NATIVE_BLOCK, len(parts.ends)))
        start = int(parts.ends[first - 1]) if first else 0
        yield here, parts.ends[here] - start, slice(start, int(parts.ends[here.stop - 1]))
