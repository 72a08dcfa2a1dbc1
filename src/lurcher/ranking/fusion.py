"""The formulas that combine several orders or scores into one; they know nothing of snapshots and lanes.

Reciprocal rank fusion: score(d) = Σ over lanes  weight / (k + rank(d)), with ranks from 1; an absent item gets 0.
Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009.

Min-max scaling: (x − min) / (max − min), which puts scores of different kinds on one scale.

Maximal marginal relevance: greedily the item with the largest lambda · relevance − (1 − lambda) · largest likeness to a chosen
one. Carbonell, Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, 1998.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from lurcher.runtime.kernel import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


Item = TypeVar("Item", bound=Hashable)


def fuse_ranks(rankings: Sequence[tuple[float, Sequence[Item]]], k: float = 60.0) -> dict[Item, float]:
    """Fused score of every item in (weight, best-first items) lists, in order of first appearance."""
    scores: dict[Item, float] = {}
    for weight, items in rankings:
        for rank, item in enumerate(items, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return scores


def scale_min_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale from 0 (the smallest) to 1 (the largest); where all are equal, all are 0."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def select_diverse(
    relevance: NDArray[np.float64], vectors: NDArray[np.float64], weight: float
) -> tuple[NDArray[np.int64], list[float]]:
    """The order in which items are chosen, and the value of each when it was chosen; of equals the earlier one comes first.

    `vectors` have length 1 or 0; `weight` is lambda.
    """
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
