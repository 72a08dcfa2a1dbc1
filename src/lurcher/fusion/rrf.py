"""Reciprocal rank fusion: score(d) = Σ over lanes  weight / (k + rank(d)), 1-based, absent = 0.

Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def fuse(rankings: Sequence[tuple[float, Sequence[Item]]], k: float = 60.0) -> dict[Item, float]:
    """Fused score of every item in (weight, best-first items) lists, in order of first appearance."""
    scores: dict[Item, float] = {}
    for weight, items in rankings:
        for rank, item in enumerate(items, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return scores
