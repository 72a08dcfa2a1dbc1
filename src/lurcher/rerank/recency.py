"""A small push for what is young, so that of two equal answers the newer comes first."""

from __future__ import annotations

import math

from lurcher.settings.past import RecencySettings

_DAY = 86_400


def factor(authored: int, now: int, settings: RecencySettings) -> float:
    """1 + weight · exp(−age / days); a date in the future counts as now."""
    age = max(0, now - authored) / _DAY
    return 1.0 + settings.weight * math.exp(-age / settings.days)


def nudged(score: float, authored: int, now: int, settings: RecencySettings) -> float:
    """A score in (0, 1) with its push; what is not such a score goes through a sigmoid before."""
    return score * factor(authored, now, settings)
