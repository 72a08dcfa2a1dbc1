"""Weighted sums of rows of whole numbers, exact: the same bytes whatever else is summed in the same call.

Amounts become whole numbers too, small enough that single precision holds every sum of products exactly; so neither the order
nor the blocks in which a matrix product adds up can be told from the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOTAL = 1 << 17
"""What the amounts of one sum add up to: times the largest entry of a row (127), still below 2^24."""
_BLOCK = 32
"""Owners that are summed together: few enough for small matrices, enough to share many of their rows."""

Gather = Callable[["NDArray[np.int64]"], "NDArray[np.int8]"]


def weighted_sums(
    owners: NDArray[np.int64], rows: NDArray[np.int64], amounts: NDArray[np.float64], total: int, gather: Gather, height: int
) -> Iterator[tuple[slice, NDArray[np.float32], NDArray[np.float64]]]:
    """For owners 0 … total - 1, block by block: which they are, Σ amount · row, and the factor that takes it to scale.

    `owners`, `rows` and `amounts` say what belongs to whom; `gather` gives the rows of given numbers below `height`.
    """
    import numpy as np

    # Small numbers are sorted in linear time.
    order = np.argsort(owners.astype(np.uint16) if total <= 1 << 16 else owners, kind="stable")
    owners, rows, amounts = owners[order], rows[order], amounts[order]
    shares = np.bincount(owners, np.abs(amounts), total)
    factors = np.where(shares > 0, shares, 1.0) / TOTAL
    whole = np.trunc(amounts / factors[owners])
    ends = np.cumsum(np.bincount(owners, minlength=total))
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
