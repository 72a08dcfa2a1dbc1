"""What a ranking works with: the snapshot, the plan, the lanes' scores, the settings, and which files may answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.index.reader import Snapshot
from lurcher.lanes.lexical import LexicalScores
from lurcher.lanes.symbol import SymbolMatch
from lurcher.planning.plan import Plan
from lurcher.terms.split import split, words
from lurcher.types import LaneWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class Context:
    snapshot: Snapshot
    plan: Plan
    settings: Settings
    lexical: LexicalScores
    symbols: tuple[SymbolMatch, ...]
    allowed: NDArray[np.bool_]
    """Which files may answer: live, and passed by the filter."""
    own_words: frozenset[str]
    """Words of the repository's own name: they say nothing about a file."""
    role_factors: dict[int, float] = field(default_factory=dict)
    """What each role of a file multiplies by, for this query."""
    notes: dict[tuple[str, int], str] = field(default_factory=dict)
    """(evidence, file) → what it found, for `why`."""


@dataclass(frozen=True, slots=True)
class Unordered:
    """Units that come after all others: counted now, put in order when a page gets to them."""

    count: int
    order: Callable[[], tuple[NDArray[np.int64], NDArray[np.float64]]]


class Ranking:
    """Every unit that matched, best first; the reasons are worked out for those that are shown."""

    def __init__(
        self,
        units: NDArray[np.int64],
        scores: NDArray[np.float64],
        why: Callable[[int, float], Why],
        more: Unordered | None = None,
    ) -> None:
        """`why` gives the reasons for a unit and its score."""
        self._units = units
        self._scores = scores
        self._why = why
        self._more = more

    def __len__(self) -> int:
        return len(self._units) + (self._more.count if self._more else 0)

    def _reach(self, position: int) -> None:
        if position >= len(self._units) and self._more is not None:
            import numpy as np

            units, scores = self._more.order()
            self._units = np.concatenate((self._units, units))
            self._scores = np.concatenate((self._scores, scores))
            self._more = None

    def unit(self, position: int) -> int:
        self._reach(position)
        return int(self._units[position])

    def score(self, position: int) -> float:
        self._reach(position)
        return float(self._scores[position])

    def why(self, position: int) -> Why:
        return self._why(self.unit(position), self.score(position))

    @property
    def units(self) -> list[int]:
        """Every unit in order."""
        self._reach(len(self))
        found: list[int] = self._units.tolist()
        return found

    @property
    def scores(self) -> list[float]:
        self._reach(len(self))
        found: list[float] = self._scores.tolist()
        return found


_EVERYWHERE = 0.5
"""A folder name shared by more than this share of the files says nothing about one of them."""


def own_words(snapshot: Snapshot, plan: Plan, root_names: Sequence[str]) -> frozenset[str]:
    """Words of the query that only name the repository: its folder's name, and folders that most files lie in."""
    own = {term for name in root_names for word in words(name) for term in split(word)}
    for group in plan.groups:
        owners, _ = snapshot.postings("folder", group.word)
        if len(owners) > _EVERYWHERE * snapshot.file_count:
            own.add(group.word)
    return frozenset(own)


def best_first(context: Context, units: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of `units` by value, then path, then line: a total order."""
    import numpy as np

    files = context.snapshot.unit_file[units]
    return np.lexsort((units, context.snapshot.path_rank[files], -values))


def lane_rank(context: Context, scores: NDArray[np.float64], unit: int) -> int:
    """A unit's place in a lane, 1-based and in the total order; 0 where the lane has nothing."""
    import numpy as np

    value = scores[unit]
    if not value > 0:
        return 0
    tied = np.flatnonzero(scores == value)
    ahead = int(np.flatnonzero(tied[best_first(context, tied, scores[tied])] == unit)[0]) if len(tied) > 1 else 0
    return int(np.count_nonzero(scores > value)) + ahead + 1


def lane_whys(context: Context, unit: int) -> dict[str, LaneWhy]:
    """What each lane says about a unit."""
    lanes = {}
    rank = lane_rank(context, context.lexical.scores, unit)
    if rank:
        lanes["lexical"] = LaneWhy(rank, float(context.lexical.scores[unit]), context.lexical.terms_of(unit))
    here = [match.strength for match in context.symbols if match.unit == unit]
    if here:
        better = sum(match.strength > max(here) for match in context.symbols)
        lanes["symbol"] = LaneWhy(better + 1, max(here))
    return lanes
