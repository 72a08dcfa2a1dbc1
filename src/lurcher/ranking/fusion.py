"""Reciprocal rank fusion: score(d) = Σ over lanes  weight / (k + rank(d)), 1-based, absent = 0.

Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Item = TypeVar("Item", bound=Hashable)


def fuse(rankings: Sequence[tuple[float, Sequence[Item]]], k: float = 60.0) -> dict[Item, float]:
    """Fused score of every item in (weight, best-first items) lists, in order of first appearance."""
    scores: dict[Item, float] = {}
    for weight, items in rankings:
        for rank, item in enumerate(items, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return scores

# ----------------------------------------------------------------------------------------------------------------------
# Scores of different kinds put on one scale.


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 0 (the smallest) to 1 (the largest); where all are equal nobody is ahead, so all are 0."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))

# ----------------------------------------------------------------------------------------------------------------------
# Maximal marginal relevance: greedily what is relevant and unlike what was chosen before.
#
# lambda · relevance − (1 − lambda) · largest likeness to a chosen one


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
