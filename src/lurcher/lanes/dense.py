"""Nearness in meaning: the cosine of the question's vector with the vectors of units and the cards of files."""

from __future__ import annotations

from math import sqrt

from lurcher.lanes.base import Request
from lurcher.query.expand import query_terms
from lurcher.query.plan import Plan
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, cached_property
from lurcher.storage.numbering import count_above_and_equal, order_units
from lurcher.storage.postings import expand_runs
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.vectors import Direction, to_direction
from lurcher.types import LaneWhy
from lurcher.vectors.model import Model
from lurcher.vectors.query import direction, unfit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


MEAN, SPREAD = 0.25, 0.12
"""Of the cosines of all units with a question, by the shipped model. Of others all may lie between 0.7 and 0.9."""
FEW, MOST = 20, 10.0
"""Units below which nothing is said of them all, and how far apart they are drawn at the most."""


class DenseCosines:
    """Cosines, worked out as far as a ranking asks for them."""

    def __init__(self, snapshot: Snapshot, direction: Direction, known: bool, *, levelled: bool = False) -> None:
        """`levelled` cosines are brought to the scale of the shipped model's, which rankings are made for."""
        self._levelled = levelled
        self._snapshot = snapshot
        self._direction = direction
        self.known = known
        """Whether the model has seen any word of the question; if not, nearness is a guess from its spelling."""
        self._cards: NDArray[np.float64] | None = None
        self._compared: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        self._standings: dict[int, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        """Whether the question has a direction at all."""
        return self._direction.length > 0

    def cards(self) -> NDArray[np.float64]:
        """One cosine per file, live or not."""
        if self._cards is None:
            self._cards = self._level(self._snapshot.cosines.for_files(self._direction))
        return self._cards

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The mean cosine of all units, and how much further apart they should be."""
        cosines = self._snapshot.typical_cosines(self._direction)
        cosines = cosines[cosines != 0]
        if len(cosines) < FEW:
            return MEAN, 1.0
        mean = float(cosines.sum()) / len(cosines)
        away = cosines - mean
        spread = sqrt(float((away * away).sum()) / len(cosines))
        return mean, min(MOST, SPREAD / max(spread, 1e-6))

    def _level(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self._levelled:
            return cosines
        mean, factor = self._scale
        # What has no vector yet is neither near nor far.
        return np.where(cosines == 0, MEAN, MEAN + (cosines - mean) * factor)

    def units(self, files: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The units of given files, which are sorted by number, and their cosines."""
        units = expand_runs(self._snapshot.first_unit[files], self._snapshot.unit_counts[files])
        cosines = self._snapshot.cosines.for_units(units, self._direction)
        self._compared = units, cosines
        return units, self._level(cosines)

    def scan(self) -> NDArray[np.float64]:
        """One cosine per unit, live or not."""
        cosines = self._snapshot.cosines.for_all_units(self._direction)
        live = np.flatnonzero(self._snapshot.live_units)
        self._compared = live, cosines[live]
        return cosines

    @property
    def nearest(self) -> float:
        """The largest cosine of those units that were compared."""
        return 0.0 if self._compared is None else float(self._level(self._compared[1]).max(initial=0.0))

    def _position(self, unit: int) -> int | None:
        """Where a unit is among those that were compared."""
        if self._compared is None:
            return None
        units = self._compared[0]
        position = int(units.searchsorted(unit))
        return position if position < len(units) and units[position] == unit else None

    def expect(self, units: Sequence[int]) -> None:
        """Count for all of some units at once where they stand."""
        places = {unit: place for unit in units if (place := self._position(unit)) is not None}
        if self._compared is not None:
            cosines = self._compared[1]
            counted = count_above_and_equal(cosines, [float(cosines[place]) for place in places.values()])
            self._standings.update(zip(places, counted, strict=True))

    def why(self, unit: int) -> LaneWhy | None:
        """A unit's place among those that were compared."""
        if self._compared is None:
            return None
        units, cosines = self._compared
        position = self._position(unit)
        if position is None:
            return None
        value = float(cosines[position])
        ahead, equal = self._standings.get(unit) or count_above_and_equal(cosines, [value])[0]
        if equal > 1:
            tied = units[cosines == value]
            ahead += int(np.flatnonzero(tied[order_units(self._snapshot, tied, np.zeros(len(tied)))] == unit)[0])
        return LaneWhy(ahead + 1, value)


def run(request: Request) -> DenseCosines:
    model, snapshot, plan = request.model, request.snapshot, request.plan
    dims = snapshot.cosines.dims
    problem = unfit(model, dims if snapshot.unit_total else None)
    if problem is not None:
        raise problem
    if model.textual and not snapshot.unit_total:
        return DenseCosines(snapshot, to_direction(np.zeros(0)), True)
    if plan.like is not None:
        return DenseCosines(snapshot, to_direction(snapshot.cosines.vector(plan.like)), True)
    return DenseCosines(snapshot, *pointing(model, plan, dims), levelled=model.textual)


def pointing(model: Model, plan: Plan, dims: int) -> tuple[Direction, bool]:
    """Where a question points, and whether the model knows any of its words."""
    title = plan.report is not None and plan.mode != "dense"
    text = plan.report.title if plan.report is not None and title and plan.report.title.strip() else plan.text
    return direction(model, _words(plan), text, dims)


def _words(plan: Plan) -> dict[str, float]:
    """The question's words with their number. Of a report the title says what it is about; the rest leads astray."""
    if plan.report is not None and plan.mode != "dense":
        title = query_terms(plan.report.title)
        if title:
            return title
    return {group.word: group.weight for group in plan.groups}
