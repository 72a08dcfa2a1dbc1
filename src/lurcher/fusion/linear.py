"""Scores of different kinds put on one scale."""

from __future__ import annotations

from lurcher.arrays import np
from lurcher.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 0 (the smallest) to 1 (the largest); where all are equal nobody is ahead, so all are 0."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))
