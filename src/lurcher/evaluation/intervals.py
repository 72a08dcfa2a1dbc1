"""How sure a mean is: bootstrap intervals and a paired permutation test, seeded, so that a run repeats exactly.

Values come as groups (one per repository). With enough groups whole groups are resampled, because queries of one
repository rise and fall together; with few, the queries inside each group are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

from lurcher.evaluation.metrics import mean, percentile

MIN_GROUPS = 8
SEED = 20240229
RESAMPLES = 2000
PERMUTATIONS = 10_000
EXACT_UP_TO = 12

Groups = Mapping[str, Sequence[float]]


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
    tail = sum(comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, tail / (1 << (total - 1)))


def _signed(parts: Sequence[float], signs: int) -> float:
    total = 0.0
    for part in parts:
        total += part if signs & 1 else -part
        signs >>= 1
    return total
