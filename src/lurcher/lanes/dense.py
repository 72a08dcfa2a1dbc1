"""Cosines of the query's vector with those of units, and with those of file cards (name, folders, comments, definitions)."""

from __future__ import annotations

from functools import cached_property
from math import sqrt

from lurcher.lanes import Request, count_above_and_equal, order_units
from lurcher.query import Plan, extract_terms
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import Direction, expand_runs, to_direction
from lurcher.types import LaneWhy
from lurcher.vectors import Model, find_mismatch
from lurcher.vectors import query_direction as direction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


MEAN, SPREAD = 0.25, 0.12
"""Mean and standard deviation of the cosines of all units with a query, for the built-in model. With other models all cosines
may lie between 0.7 and 0.9, so they are rescaled."""
MIN_UNITS, MAX_STRETCH = 20, 10.0
"""With fewer units the statistics say nothing and cosines are not stretched; the largest factor of stretching."""


class DenseCosines:
    """Cosines, computed only as far as a ranking needs them."""

    def __init__(self, snapshot: Snapshot, direction: Direction, known: bool, *, rescaled: bool = False) -> None:
        """With `rescaled`, cosines get the scale of the built-in model, for which the constants of rankings were chosen."""
        self._rescaled = rescaled
        self._snapshot = snapshot
        self._direction = direction
        self.known = known
        """Whether the model knows any word of the query; if not, cosines are a guess from the spelling."""
        self._cards: NDArray[np.float64] | None = None
        self._compared: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        self._counted: dict[int, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        """Whether the query has a vector other than zero."""
        return self._direction.length > 0

    def cards(self) -> NDArray[np.float64]:
        """One cosine per file, live or not."""
        if self._cards is None:
            self._cards = self._rescale(self._snapshot.cosines.for_files(self._direction))
        return self._cards

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The mean cosine of all units, and the factor by which differences from it are stretched."""
        cosines = self._snapshot.typical_cosines(self._direction)
        cosines = cosines[cosines != 0]
        if len(cosines) < MIN_UNITS:
            return MEAN, 1.0
        mean = float(cosines.sum()) / len(cosines)
        away = cosines - mean
        spread = sqrt(float((away * away).sum()) / len(cosines))
        return mean, min(MAX_STRETCH, SPREAD / max(spread, 1e-6))

    def _rescale(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self._rescaled:
            return cosines
        mean, factor = self._scale
        # What has no vector yet gets the mean.
        return np.where(cosines == 0, MEAN, MEAN + (cosines - mean) * factor)

    def units(self, files: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The units of `files`, which ascend, and their cosines."""
        units = expand_runs(self._snapshot.first_unit[files], self._snapshot.unit_counts[files])
        cosines = self._snapshot.cosines.for_units(units, self._direction)
        self._compared = units, cosines
        return units, self._rescale(cosines)

    def scan(self) -> NDArray[np.float64]:
        """One cosine per unit, live or not."""
        cosines = self._snapshot.cosines.for_all_units(self._direction)
        live = np.flatnonzero(self._snapshot.live_units)
        self._compared = live, cosines[live]
        return cosines

    @property
    def nearest(self) -> float:
        """The largest cosine of the units that were compared."""
        return 0.0 if self._compared is None else float(self._rescale(self._compared[1]).max(initial=0.0))

    def _position(self, unit: int) -> int | None:
        """The position of a unit among those that were compared."""
        if self._compared is None:
            return None
        units = self._compared[0]
        position = int(units.searchsorted(unit))
        return position if position < len(units) and units[position] == unit else None

    def prefetch(self, units: Sequence[int]) -> None:
        """Compute the ranks of several units in one pass."""
        places = {unit: place for unit in units if (place := self._position(unit)) is not None}
        if self._compared is not None:
            cosines = self._compared[1]
            counted = count_above_and_equal(cosines, [float(cosines[place]) for place in places.values()])
            self._counted.update(zip(places, counted, strict=True))

    def why(self, unit: int) -> LaneWhy | None:
        """A unit's rank among those that were compared."""
        if self._compared is None:
            return None
        units, cosines = self._compared
        position = self._position(unit)
        if position is None:
            return None
        value = float(cosines[position])
        ahead, equal = self._counted.get(unit) or count_above_and_equal(cosines, [value])[0]
        if equal > 1:
            tied = units[cosines == value]
            ahead += int(np.flatnonzero(tied[order_units(self._snapshot, tied, np.zeros(len(tied)))] == unit)[0])
        return LaneWhy(ahead + 1, value)


def run(request: Request) -> DenseCosines:
    model, snapshot, plan = request.model, request.snapshot, request.plan
    dims = snapshot.cosines.dims
    problem = find_mismatch(model, dims if snapshot.unit_total else None)
    if problem is not None:
        raise problem
    if model.textual and not snapshot.unit_total:
        return DenseCosines(snapshot, to_direction(np.zeros(0)), True)
    if plan.like is not None:
        return DenseCosines(snapshot, to_direction(snapshot.cosines.vector(plan.like)), True)
    return DenseCosines(snapshot, *find_direction(model, plan, dims), rescaled=model.textual)


def find_direction(model: Model, plan: Plan, dims: int) -> tuple[Direction, bool]:
    """The query's direction, and whether the model knows any of its words."""
    title = plan.report is not None and plan.mode != "dense"
    text = plan.report.title if plan.report is not None and title and plan.report.title.strip() else plan.text
    return direction(model, _count_words(plan), text, dims)


def _count_words(plan: Plan) -> dict[str, float]:
    """The query's words with their weights; for a report those of its title, since the rest is about too many things."""
    if plan.report is not None and plan.mode != "dense":
        title = extract_terms(plan.report.title)
        if title:
            return title
    return {group.word: group.weight for group in plan.groups}
