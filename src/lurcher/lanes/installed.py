"""Lanes beyond our own, as `search.lanes` names them with their weights: `freshness=0.3 tickets`.

Such a lane gives every unit a score, on a scale of its own; what counts is how a unit compares to the best one.
"""

from __future__ import annotations

from lurcher.errors import ConfigError, CorruptIndex
from lurcher.lanes.base import Request, failure, lane_named
from lurcher.query.plan import LANES
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.types import Degraded, LaneWhy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.ranking.context import Context
    from lurcher.storage.snapshot import Snapshot

WEIGHT = 0.2
"""Of a lane that is named without one."""
MOST = 10.0


class Scored:
    """What most lanes can give back: one score per unit, zero where there is nothing to say, and their order."""

    def __init__(self, snapshot: Snapshot, scores: NDArray[np.float64]) -> None:
        self._snapshot = snapshot
        self.scores = scores

    def why(self, unit: int) -> LaneWhy | None:
        from lurcher.storage.numbering import rank_of_unit

        rank = rank_of_unit(self._snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit])) if rank else None


def further_lanes(setting: str) -> dict[str, float]:
    """Each lane with its weight, as `search.lanes` has them."""
    found: dict[str, float] = {}
    for item in setting.split():
        name, sign, text = item.partition("=")
        try:
            weight = float(text) if sign else WEIGHT
        except ValueError:
            weight = -1.0
        if name in LANES:
            raise ConfigError(f"search.lanes has {name!r}, which is always asked", "leave it out")
        if not name or not 0 < weight <= MOST:
            hint = f"write names with a weight above 0 and up to {MOST:g}, such as freshness=0.3"
            raise ConfigError(f"search.lanes has {item!r}", hint)
        found[name] = weight
    return found


def run_further(request: Request, done: Callable[[str], None]) -> tuple[dict[str, Scored], tuple[Degraded, ...]]:
    """What each further lane found, and what is to be told of those that failed."""
    found: dict[str, Scored] = {}
    failed: list[Degraded] = []
    for name in further_lanes(request.settings.search.lanes):
        try:
            found[name] = _checked(lane_named(name)(request), request.snapshot.unit_total)
        except CorruptIndex:
            raise
        except Exception as error:
            failed.append(failure(name, error))
        done(name)
    return found, tuple(failed)


def weighed(context: Context) -> list[tuple[str, float, NDArray[np.float64]]]:
    """Each further lane that was run: its name, what it counts, and its scores, without those of files that may not answer."""
    if not context.settings.search.lanes:
        return []
    may = context.allowed[context.snapshot.unit_file]
    return [
        (name, weight, np.where(may, lane.scores, 0.0))
        for name, weight in further_lanes(context.settings.search.lanes).items()
        if isinstance(lane := context.lanes.get(name), Scored)
    ]


def _checked(found: Any, units: int) -> Scored:
    """A lane's scores, which rankings rely on."""
    if not isinstance(found, Scored):
        raise TypeError("it gives something else than lurcher.lanes.installed.Scored")
    found.scores = np.asarray(found.scores, np.float64)
    if found.scores.shape != (units,):
        raise ValueError(f"it gives {found.scores.shape} scores for {units:,} units")
    if units and not (np.isfinite(found.scores).all() and found.scores.min() >= 0):
        raise ValueError("it gives scores below zero, or such that are no numbers")
    return found
