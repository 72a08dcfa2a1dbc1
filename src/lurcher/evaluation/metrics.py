"""Measures of one ranked list and of many: pure functions. Ranks count from 1, and a miss is None.

A target's rank is that of the first hit that satisfies it (in its file, overlapping its lines if it names any).

Means come with bootstrap intervals, and differences with a paired permutation test; both are seeded, so that a run
repeats exactly. Values come in groups, one per repository. With enough groups whole groups are resampled, because
the queries of one repository are not independent; with few, the queries inside each group are.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

MIN_GROUPS = 8
SEED = 20240229
RESAMPLES = 2000
PERMUTATIONS = 10_000
EXACT_UP_TO = 12
Item = TypeVar("Item")
Rank = int | None
Groups = Mapping[str, Sequence[float]]
Outcomes = tuple[list[float], list[float]]
"""What was predicted for right ones, and for wrong ones."""


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


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds between which 95 % of resampled means fall."""

    mean: float
    low: float
    high: float
    over: str
    """What was averaged: repositories or queries."""
    resampled: str
    """What was resampled: repositories or queries."""

    def to_dict(self) -> dict[str, float | str]:
        return {
            "mean": round(self.mean, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
            "over": self.over,
            "resampled": self.resampled,
        }


def average(groups: Groups, over: str) -> float:
    """The mean of the groups' means, or of all their values."""
    if over == "repositories":
        return mean(mean(values) for values in groups.values() if values)
    return mean(value for values in groups.values() for value in values)


def bootstrap(groups: Groups, over: str) -> Interval:
    """The average with its 95 % percentile interval."""
    kept = [list(groups[name]) for name in sorted(groups) if groups[name]]
    by_group = over == "repositories" and len(kept) >= MIN_GROUPS
    resampled = "repositories" if by_group else "queries"
    centre = average(groups, over)
    if not kept:
        return Interval(0.0, 0.0, 0.0, over, resampled)
    dice = random.Random(SEED)
    if by_group:
        samples = [[mean(values) for values in kept]]
    elif over == "repositories":
        samples = kept
    else:
        samples = [[value for values in kept for value in values]]
    draws = [
        sum(sum(dice.choices(sample, k=len(sample))) / len(sample) for sample in samples) / len(samples)
        for _ in range(RESAMPLES)
    ]
    return Interval(centre, percentile(draws, 0.025), percentile(draws, 0.975), over, resampled)


def median_change(pairs: Sequence[tuple[float, float]]) -> Interval:
    """How much the median of the second values is above that of the first, with its 95 % interval over resampled pairs."""

    def change(sample: Sequence[tuple[float, float]]) -> float:
        return percentile([after for _, after in sample], 0.5) - percentile([before for before, _ in sample], 0.5)

    dice = random.Random(SEED)
    draws = [change(dice.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES)] if pairs else []
    return Interval(change(pairs), percentile(draws, 0.025), percentile(draws, 0.975), "queries", "queries")


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The chance that of a right and a wrong one, each drawn at random, the right one has the larger value; ties count half."""
    ordered = sorted(wrong)
    below = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in right)
    return below / (2 * len(right) * len(wrong))


def auc_interval(groups: Mapping[str, Outcomes]) -> Interval | None:
    """The AUC over all groups with its 95 % interval; None unless there are right and wrong ones.

    Whole groups are resampled where there are enough, else the right ones and the wrong ones.
    """
    kept = [groups[name] for name in sorted(groups)]
    right, wrong = [value for pair in kept for value in pair[0]], [value for pair in kept for value in pair[1]]
    if not right or not wrong:
        return None
    dice = random.Random(SEED)
    draws = []
    for _ in range(RESAMPLES):
        if len(kept) < MIN_GROUPS:
            draws.append(auc(dice.choices(right, k=len(right)), dice.choices(wrong, k=len(wrong))))
            continue
        sample = dice.choices(kept, k=len(kept))
        ones, others = [value for pair in sample for value in pair[0]], [value for pair in sample for value in pair[1]]
        if ones and others:
            draws.append(auc(ones, others))
    resampled = "queries" if len(kept) < MIN_GROUPS else "repositories"
    return Interval(auc(right, wrong), percentile(draws, 0.025), percentile(draws, 0.975), "queries", resampled)


def permutation_test(groups: Groups, over: str) -> float:
    """Two-sided p-value of the paired differences under random signs: exact when they are few, sampled otherwise."""
    kept = [list(groups[name]) for name in sorted(groups) if groups[name]]
    if over == "repositories" and len(kept) >= MIN_GROUPS:
        parts = [mean(values) for values in kept]
    elif over == "repositories":
        parts = [value / len(values) for values in kept for value in values]
    else:
        parts = [value for values in kept for value in values]
    parts = [part for part in parts if part]  # a zero has no sign to flip
    if not parts:
        return 1.0
    observed = abs(sum(parts)) * (1 - 1e-9)  # sums in another order may differ in the last digit
    if len(parts) <= EXACT_UP_TO:
        outcomes = 1 << len(parts)
        return sum(abs(_signed(parts, signs)) >= observed for signs in range(outcomes)) / outcomes
    dice = random.Random(SEED)
    extreme = sum(abs(_signed(parts, dice.getrandbits(len(parts)))) >= observed for _ in range(PERMUTATIONS))
    return (extreme + 1) / (PERMUTATIONS + 1)


def sign_test(differences: Sequence[float]) -> float:
    """Two-sided exact binomial p-value of wins against losses; ties are left out."""
    wins = sum(value > 0 for value in differences)
    losses = sum(value < 0 for value in differences)
    total = wins + losses
    if not total:
        return 1.0
    tail = sum(math.comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, tail / (1 << (total - 1)))


def _signed(parts: Sequence[float], signs: int) -> float:
    total = 0.0
    for part in parts:
        total += part if signs & 1 else -part
        signs >>= 1
    return total
