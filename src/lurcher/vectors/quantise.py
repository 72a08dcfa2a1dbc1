"""Rows of numbers as small whole numbers with one scale per row, symmetric around zero.

With 8 bits a number is one signed byte; with 4 bits two share one, the first in the low half, each stored plus 8.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

LARGEST = {8: 127, 4: 7}
_CLIPS = {8: (1.0,), 4: (1.0, 0.92, 0.84, 0.76, 0.68, 0.6)}
"""Shares of a row's largest number that its scale may reach; with few steps it pays to cut the largest short."""


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
