"""The measures of one ranked list and of a set of them: pure functions, each rank 1-based, a miss is None.

A target's rank is that of the first hit that satisfies it (in its file, overlapping its lines if it names any).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Rank = int | None


def target_ranks(hits: Sequence[Item], targets: Sequence[Callable[[Item], bool]]) -> tuple[Rank, ...]:
    """The rank of the first hit that satisfies each target."""
    return tuple(next((rank for rank, hit in enumerate(hits, 1) if wanted(hit)), None) for wanted in targets)


def first_of_each(hits: Iterable[Item], key: Callable[[Item], Hashable]) -> list[Item]:
    """The hits without those whose key (their file, their commit) came before."""
    seen: set[Hashable] = set()
    kept = []
    for hit in hits:
        name = key(hit)
        if name not in seen:
            seen.add(name)
            kept.append(hit)
    return kept


def ndcg(ranks: Sequence[Rank], k: int) -> float:
    """Normalised discounted cumulative gain with binary gain (Järvelin and Kekäläinen 2002), ideal = min(k, targets).

    One hit may satisfy two targets (two ranges of one file), which would exceed the ideal: it is capped at 1.
    """
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(ranks)) + 1))
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    return min(1.0, gained / ideal) if ideal else 0.0


def hit_at(ranks: Sequence[Rank], k: int) -> float:
    """1 when any target is among the first k, else 0."""
    return float(any(rank is not None and rank <= k for rank in ranks))


def reciprocal_rank(ranks: Sequence[Rank], k: int) -> float:
    """1 / rank of the first target found, 0 when it is below k."""
    best = min((rank for rank in ranks if rank is not None), default=None)
    return 1 / best if best is not None and best <= k else 0.0


def token_recall(
    hits: Sequence[Item], targets: Sequence[Callable[[Item], bool]], tokens: Callable[[Item], int], budget: int
) -> float:
    """The share of targets found in the hits that a budget of tokens has room for.

    Hits are taken in order; one that does not fit is skipped and the next is tried, as packing does.
    """
    if not targets:
        return 0.0
    left = budget
    packed = []
    for hit in hits:
        if tokens(hit) <= left:
            left -= tokens(hit)
            packed.append(hit)
    return sum(rank is not None for rank in target_ranks(packed, targets)) / len(targets)


def match_rate(counts: Sequence[int]) -> float:
    """The share of queries that returned any hit at all."""
    return sum(count > 0 for count in counts) / len(counts) if counts else 0.0


def top1_diversity(tops: Sequence[Sequence[Hashable]]) -> float:
    """Distinct first hits per query: low when one document answers everything."""
    return len({top[0] for top in tops if top}) / len(tops) if tops else 0.0


def top3_duplicate_rate(tops: Sequence[Sequence[Hashable]]) -> float:
    """The share of queries whose first three hits name a file twice."""
    return sum(len(set(top[:3])) < len(top[:3]) for top in tops) / len(tops) if tops else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share lies, interpolated between neighbours."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = math.ceil(position)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean, 0 of nothing; summed exactly, so that order cannot change the last digit."""
    kept = list(values)
    return math.fsum(kept) / len(kept) if kept else 0.0
