"""What a ranking works with: the snapshot, the plan, the lanes' scores, the settings, and which files may answer."""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import UsageError
from lurcher.lanes import lexical
from lurcher.lanes.base import Found
from lurcher.lanes.lexical import LexicalScores
from lurcher.lanes.symbol import SymbolMatch, SymbolMatches
from lurcher.query.plan import Plan
from lurcher.registry import find
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, dataclass, field, lru_cache
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import split, words
from lurcher.types import LaneWhy, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


RANKINGS = ("default", "classic")
"""The rankings that error messages offer."""


@dataclass(slots=True)
class Context:
    snapshot: Snapshot
    plan: Plan
    settings: Settings
    lanes: Mapping[str, Found]
    """What each lane found, by its name; one that failed or was not asked for is not there."""
    allowed: NDArray[np.bool_]
    """Which files may answer: live, and passed by the filter."""
    limit: int
    """How many hits were asked for."""
    own_words: frozenset[str]
    """Words of the repository's own name: they say nothing about a file."""
    role_factors: dict[int, float] = field(default_factory=dict)
    """What each role of a file multiplies by, for this query."""
    nearest: NDArray[np.int64] | None = None
    """Units that are nearest to the question in meaning, one for each file that was compared."""
    notes: dict[tuple[str, int], str] = field(default_factory=dict)
    """(evidence, file) → what it found, for `why`."""
    alpha: float | None = None
    """Weight of cosines where scores are added up; None: as it is set."""
    mmr: float | None = None
    """How much relevance counts against being unlike what is already there; None: no such choice is made."""

    @property
    def lexical(self) -> LexicalScores:
        """The lexical lane's scores; all zero where it did not run."""
        found = self.lanes.get("lexical")
        return found if isinstance(found, LexicalScores) else lexical.nothing(self.snapshot)

    @property
    def symbols(self) -> tuple[SymbolMatch, ...]:
        """Definitions of the names that the query asks for."""
        found = self.lanes.get("symbol")
        return found.matches if isinstance(found, SymbolMatches) else ()


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
        expect: Callable[[Sequence[int]], None] | None = None,
    ) -> None:
        """`why` gives the reasons for a unit and its score; `expect` is told of which units somebody will ask."""
        self._units = units
        self._scores = scores
        self._why = why
        self._more = more
        self._expect = expect

    def __len__(self) -> int:
        return len(self._units) + (self._more.count if self._more else 0)

    def _reach(self, position: int) -> None:
        if position >= len(self._units) and self._more is not None:
            units, scores = self._more.order()
            self._units = np.concatenate((self._units, units))
            self._scores = np.concatenate((self._scores, scores))
            self._more = None

    def at(self, position: int) -> tuple[int, float]:
        """A unit and its score."""
        self._reach(position)
        return int(self._units[position]), float(self._scores[position])

    def unit(self, position: int) -> int:
        return self.at(position)[0]

    def score(self, position: int) -> float:
        return self.at(position)[1]

    def why(self, position: int) -> Why:
        return self._why(*self.at(position))

    def why_of(self, unit: int, score: float) -> Why:
        """The reasons for a unit that has this score."""
        return self._why(unit, score)

    def expect(self, positions: Sequence[int]) -> None:
        """Somebody will ask why these are there."""
        self.expect_units([self.unit(position) for position in positions])

    def expect_units(self, units: Sequence[int]) -> None:
        if self._expect is not None:
            self._expect(units)

    @property
    def head(self) -> list[int]:
        """The units that are in order already."""
        found: list[int] = self._units.tolist()
        return found

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
    many = _EVERYWHERE * snapshot.file_count
    everywhere = [group.word for group in plan.groups if snapshot.folder_frequency(group.word) > many]
    return _terms_of(tuple(root_names)).union(everywhere)


@lru_cache(maxsize=64)
def _terms_of(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(term for name in names for word in words(name) for term in split(word))


def expect_whys(context: Context, units: Sequence[int]) -> None:
    """Lanes that can tell of many units at once for less are told which."""
    for found in context.lanes.values():
        expect = getattr(found, "expect", None)
        if expect is not None:
            expect(units)


def lane_whys(context: Context, unit: int) -> dict[str, LaneWhy]:
    """What each lane says about a unit."""
    whys = {}
    for name, found in context.lanes.items():
        why = found.why(unit)
        if why is not None:
            whys[name] = why
    return whys


def ranking_named(name: str) -> Callable[[Context], Ranking]:
    found = find("ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}'", f"known are: {', '.join(RANKINGS)}")
    ranking: Callable[[Context], Ranking] = found
    return ranking


def ranking_lanes(name: str, plan: Plan, settings: Settings) -> tuple[str, ...]:
    """The lanes that a ranking uses for a plan: what its `lanes` function returns, else all that the plan allows."""
    choose: Callable[[Plan, Settings], tuple[str, ...]] | None = find("ranking", name, "lanes")
    return plan.lanes if choose is None else choose(plan, settings)
