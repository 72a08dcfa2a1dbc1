"""Lanes of installed packages, as `search.lanes` names them with their weights: `freshness=0.3 tickets`.

Such a lane gives every unit a score on a scale of its own; rankings use each score relative to the largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.errors import ConfigError, CorruptIndex
from lurcher.lanes import Request, describe_failure, lane_named, rank_of_unit
from lurcher.query import LANES
from lurcher.runtime.kernel import np
from lurcher.types import Degraded, LaneWhy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.storage.snapshot import Snapshot

DEFAULT_WEIGHT = 0.2
"""Weight of a lane that is named without one."""
MAX_WEIGHT = 10.0


class Scored:
    """The result of an installed lane: one score per unit, zero where it has nothing to say."""

    def __init__(self, snapshot: Snapshot, scores: NDArray[np.float64]) -> None:
        self._snapshot = snapshot
        self.scores = scores

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self._snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit])) if rank else None


def parse_lane_weights(setting: str) -> dict[str, float]:
    """The lanes of the setting `search.lanes`, each with its weight."""
    found: dict[str, float] = {}
    for item in setting.split():
        name, sign, text = item.partition("=")
        try:
            weight = float(text) if sign else DEFAULT_WEIGHT
        except ValueError:
            weight = -1.0
        if name in LANES:
            raise ConfigError(f"search.lanes has {name!r}, which is always asked", "leave it out")
        if not name or not 0 < weight <= MAX_WEIGHT:
            hint = f"write names with a weight above 0 and up to {MAX_WEIGHT:g}, such as freshness=0.3"
            raise ConfigError(f"search.lanes has {item!r}", hint)
        found[name] = weight
    return found


def run_installed_lanes(request: Request, done: Callable[[str], None]) -> tuple[dict[str, Scored], tuple[Degraded, ...]]:
    """The result of each installed lane, and a note for each that failed."""
    found: dict[str, Scored] = {}
    failed: list[Degraded] = []
    for name in parse_lane_weights(request.settings.search.lanes):
        try:
            found[name] = _check_scores(lane_named(name)(request), request.snapshot.unit_total)
        except CorruptIndex:
            raise
        except Exception as error:
            failed.append(describe_failure(name, error))
        done(name)
    return found, tuple(failed)


def _check_scores(found: Any, units: int) -> Scored:
    """Raise unless a lane returned finite scores of zero or more, one for each unit."""
    if not isinstance(found, Scored):
        raise TypeError("it gives something else than lurcher.lanes.installed.Scored")
    found.scores = np.asarray(found.scores, np.float64)
    if found.scores.shape != (units,):
        raise ValueError(f"it gives {found.scores.shape} scores for {units:,} units")
    if units and not (np.isfinite(found.scores).all() and found.scores.min() >= 0):
        raise ValueError("it gives scores below zero, or such that are no numbers")
    return found
