"""Factors on a commit's score: noise, a fix for a fault, what is young, and on demand what stuck."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from lurcher.corpora.history.noise import FACTORS, TRAITS
from lurcher.corpora.history.ranking.base import PastContext
from lurcher.types import StageWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIX = 1.1
"""Factor for a commit whose subject reads as a fix, when the query reports a fault; chosen on the development tasks."""
_DAY = 86_400


def noise(context: PastContext) -> NDArray[np.float64]:
    """The product of what each kind of noise counts, for every commit."""
    import numpy as np

    traits = context.past.commit_traits
    kinds, places = np.unique(traits, return_inverse=True)
    factors = np.array([_product(int(kind)) for kind in kinds.tolist()] or [1.0])
    found: NDArray[np.float64] = factors[places] if len(traits) else np.zeros(0)
    return found


def _product(bits: int) -> float:
    product = 1.0
    for place, trait in enumerate(TRAITS):
        if bits >> place & 1:
            product *= FACTORS[trait]
    return product


def fixes(context: PastContext) -> NDArray[np.float64]:
    import numpy as np

    if not context.plan.fault:
        return np.ones(context.past.commit_total)
    return np.where(context.past.reads_as_fix, FIX, 1.0)


def recency(context: PastContext) -> NDArray[np.float64]:
    """1 + weight · exp(−age / days)."""
    import numpy as np

    settings = context.settings.recency
    ages = np.maximum(context.now - context.past.committed, 0) / _DAY
    found: NDArray[np.float64] = 1.0 + settings.weight * np.exp(-ages / settings.days)
    return found


def told(context: PastContext, commit: int, *, with_fix: bool = True) -> list[StageWhy]:
    """The factors that moved one commit."""
    found = []
    bits = int(context.past.commit_traits[commit])
    for place, trait in enumerate(TRAITS):
        if bits >> place & 1:
            found.append(StageWhy("noise", factor=FACTORS[trait], note=trait))
    if with_fix and context.plan.fault and context.past.reads_as_fix[commit]:
        found.append(StageWhy("fix", factor=FIX, note="its subject reads as a fix"))
    settings = context.settings.recency
    age = max(context.now - int(context.past.committed[commit]), 0) / _DAY
    factor = 1.0 + settings.weight * exp(-age / settings.days)
    found.append(StageWhy("recency", factor=factor, note=f"{int(age):,} days before the newest commit"))
    return found
