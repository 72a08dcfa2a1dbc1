"""Maximal marginal relevance: greedily what is relevant and unlike what was chosen before.

    lambda · relevance − (1 − lambda) · largest likeness to a chosen one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def choose(
    relevance: NDArray[np.float64], vectors: NDArray[np.float64], weight: float
) -> tuple[NDArray[np.int64], list[float]]:
    """The order in which items are chosen, and what each gained; of equals the earlier one. Vectors have length 1 or 0."""
    import numpy as np

    likeness = vectors @ vectors.T
    nearest = np.zeros(len(relevance))
    left = np.ones(len(relevance), bool)
    order: list[int] = []
    gains: list[float] = []
    for _ in range(len(relevance)):
        gain = np.where(left, weight * relevance - (1 - weight) * nearest, -np.inf)
        best = int(np.argmax(gain))
        order.append(best)
        gains.append(float(gain[best]))
        left[best] = False
        nearest = np.maximum(nearest, likeness[best])
    return np.array(order, np.int64), gains
