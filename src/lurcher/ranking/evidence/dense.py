"""The file is near the question in meaning: its card, and the mean of its three nearest units.

    weight · (0.5 + 4 · (cosine − largest cosine)), for card and units each

so the nearest file gains half the weight, and one that is far away is pushed down. Units are compared only in files that
stand a chance: the best by all other evidence, and those with the nearest cards, which may have no other evidence at all if
they are near enough (`ALONE`).
"""

from __future__ import annotations

from lurcher.lanes.base import top_files
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEEPNESS = 4.0
OFFSET = 0.5
"""What the nearest file gains, as a share of the weight; the rest of the scale pushes down."""
MOST_FILES = 60
"""Files taken from each side: by other evidence, and by cards. From 30 to 400 the development set scores the same."""
UNITS = 3
ALONE = 0.4
"""The least cosine of a card that finds a file without any word of the query; hand-set with the built-in table."""
LOWEST = 0.95
"""The most that a file may lose of its other evidence: what was found by words stays found."""


def score(context: Context, others: NDArray[np.float64], card: float, units: float) -> NDArray[np.float64] | None:
    """What each file gains or loses, given the sum of all `others`; None where the lane has nothing to say."""
    lane = context.lanes.get("dense")
    if not isinstance(lane, DenseCosines) or not lane or not (card or units):
        return None
    snapshot = context.snapshot
    usable = context.allowed & (snapshot.file_column("units") > 0)
    if not usable.any():
        return None
    cards = lane.cards()
    kernel = native()
    if kernel is not None:
        near_from = ALONE if lane.known else np.inf
        chosen = kernel.contenders(
            cards, others, usable, snapshot.path_rank, card, OFFSET, STEEPNESS, near_from, MOST_FILES
        )
        if chosen is None or not len(chosen[1]):
            return None
        means = _average_nearest_units(context, lane, chosen[1])
        gains: NDArray[np.float64] = kernel.gained(
            chosen[0], others, usable, chosen[1], means, units, OFFSET, STEEPNESS, LOWEST
        )
        return gains
    nearness = card * (OFFSET + STEEPNESS * (cards - np.where(usable, cards, -np.inf).max()))
    found = usable & (others > 0)
    near = usable & (cards >= ALONE) & lane.known
    compared = np.zeros(len(usable), bool)
    compared[top_files(snapshot, np.flatnonzero(found), (others + nearness)[found], MOST_FILES)] = True
    compared[top_files(snapshot, np.flatnonzero(near), cards[near], MOST_FILES)] = True
    pool = np.flatnonzero(compared)
    if not len(pool):
        return None
    chunks = _average_nearest_units(context, lane, pool)
    gained = nearness + units * (OFFSET + STEEPNESS * (chunks.min() - chunks.max()))
    gained[pool] = nearness[pool] + units * (OFFSET + STEEPNESS * (chunks - chunks.max()))
    return np.where(found, np.maximum(gained, -LOWEST * others), np.where(compared, np.maximum(gained, 0.0), 0.0))


def _average_nearest_units(context: Context, lane: DenseCosines, pool: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean cosine of each file's nearest units. The nearest is remembered for files that no word leads to."""
    units, cosines = lane.units(pool)
    counts = context.snapshot.unit_counts[pool]
    means: NDArray[np.float64]
    kernel = native()
    if kernel is not None:
        means, best = kernel.nearest(cosines, counts, UNITS)
        context.nearest = units[best]
        return means
    starts = np.cumsum(counts) - counts
    number = np.repeat(np.arange(len(pool)), counts)
    left = cosines.copy()
    sums = np.zeros(len(pool))
    for turn in range(UNITS):
        best = _find_largest(left, starts, number)
        if not turn:
            context.nearest = units[best]
        there = counts > turn
        sums[there] += left[best[there]]
        left[best] = -np.inf
    means = sums / np.minimum(counts, UNITS)
    return means


def _find_largest(values: NDArray[np.float64], starts: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of the largest value of each run, the first of equals. Runs begin at `starts`, `number` tells them apart."""
    highest = np.flatnonzero(values == np.maximum.reduceat(values, starts)[number])[::-1]
    found = np.empty(len(starts), np.int64)
    found[number[highest]] = highest  # the last write stays
    return found
