"""Orders units: what a ranking gets (`Context`: snapshot, plan, lane results, settings, allowed files) and returns (`Ranking`).

`default` sums the pieces of `evidence`, `classic` applies its stages; the others serve one mode each.
"""

from __future__ import annotations

from functools import lru_cache

from lurcher.config import Settings
from lurcher.errors import UsageError
from lurcher.lanes import LaneResult, lexical
from lurcher.lanes.lexical import LexicalScores
from lurcher.lanes.symbol import SymbolMatch, SymbolMatches
from lurcher.query import Plan
from lurcher.runtime import find
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import split, words
from lurcher.types import LaneWhy, Record, StageWhy, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


RANKINGS = ("default", "classic")
"""The rankings that error messages offer."""
_PLACES = {
    "cosine": ("linear", "rank_by_cosine"), "literal": ("matches", "rank_text_matches"),
    "structural": ("matches", "rank_syntax_matches"),
}  # fmt: skip
"""Rankings that serve one mode: module and function. Others are the function `rank` of a module of their own."""


class Context:
    __slots__ = (
        "snapshot", "plan", "settings", "lanes", "allowed", "limit", "own_words", "role_factors", "nearest", "cosines",
        "notes", "alpha", "mmr", "weighed", "best_files",
    )  # fmt: skip

    def __init__(
        self, snapshot: Snapshot, plan: Plan, settings: Settings, lanes: Mapping[str, LaneResult], allowed: NDArray[np.bool_],
        limit: int, own_words: frozenset[str], role_factors: dict[int, float] | None = None,
        nearest: NDArray[np.int64] | None = None, cosines: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
        notes: dict[tuple[str, int], str] | None = None, alpha: float | None = None, mmr: float | None = None,
    ) -> None:  # fmt: skip
        self.snapshot, self.plan, self.settings = snapshot, plan, settings
        self.lanes = lanes
        """Lane name → its result; a lane that failed or was not run is absent."""
        self.allowed = allowed
        """Which files may answer: live and accepted by the filter."""
        self.limit = limit
        """The number of hits on a page."""
        self.own_words = own_words
        """Words of the repository's own name, which do not distinguish its files."""
        self.role_factors: dict[int, float] = {} if role_factors is None else role_factors
        """Role of a file → factor on its score, for this query."""
        self.nearest = nearest
        """The unit with the largest cosine of each file whose units were compared."""
        self.cosines = cosines
        """The units that were compared with the question, and their cosines."""
        self.notes: dict[tuple[str, int], str] = {} if notes is None else notes
        """(evidence, file) → what the evidence found there, for `why`."""
        self.alpha = alpha
        """Weight of cosines in linear fusion; None: the setting."""
        self.mmr = mmr
        """Lambda of maximal marginal relevance; None: no diversification."""
        self.weighed: LexicalScores | None = None
        """What `evidence.weigh_units` made of the lexical scores."""
        self.best_files: Sequence[tuple[int, float]] = ()
        """The best files and their scores, best first, of the ranking that scores files."""

    @property
    def lexical(self) -> LexicalScores:
        """The lexical lane's scores; all zero where it did not run."""
        found = self.lanes.get("lexical")
        return found if isinstance(found, LexicalScores) else lexical.make_empty_scores(self.snapshot)

    @property
    def symbols(self) -> tuple[SymbolMatch, ...]:
        """Definitions of the names in the query."""
        found = self.lanes.get("symbol")
        return found.matches if isinstance(found, SymbolMatches) else ()


def defer_why(compute: Callable[[], Why]) -> Why:
    """The same as `compute` returns, but computed when somebody reads it. It must need nothing that can fail by then."""
    found = Why.__new__(Why)
    found.compute = compute
    return found


class UnorderedTail(Record):
    """Units that come after all others: counted now, sorted when a page reaches them."""

    __slots__ = ("count", "order")

    def __init__(self, count: int, order: Callable[[], tuple[NDArray[np.int64], NDArray[np.float64]]]) -> None:
        self.count, self.order = count, order


class Ranking:
    """Every unit that matched, best first. Reasons are computed only for the units that are shown."""

    def __init__(
        self,
        units: NDArray[np.int64],
        scores: NDArray[np.float64],
        why: Callable[[int, float], Why],
        more: UnorderedTail | None = None,
        prefetch: Callable[[Sequence[int]], None] | None = None,
    ) -> None:
        """`why` returns the reasons for a unit and its score; `prefetch` gets the units whose reasons will be needed."""
        self._units = units
        self._scores = scores
        self._why = why
        self._more = more
        self._prefetch = prefetch
        self._last: StageWhy | None = None

    def weigh(self, stage: StageWhy) -> None:
        """Multiply every score by the factor of a stage, the last one; the order stays."""
        self._last = stage

    def _weigh(self, score: float) -> float:
        return score if self._last is None or self._last.factor is None else score * self._last.factor

    def __len__(self) -> int:
        return len(self._units) + (self._more.count if self._more else 0)

    def _order_until(self, position: int) -> None:
        if position >= len(self._units) and self._more is not None:
            units, scores = self._more.order()
            self._units = np.concatenate((self._units, units))
            self._scores = np.concatenate((self._scores, scores))
            self._more = None

    def at(self, position: int) -> tuple[int, float]:
        """A unit and its score."""
        self._order_until(position)
        return int(self._units[position]), self._weigh(float(self._scores[position]))

    def unit(self, position: int) -> int:
        self._order_until(position)
        return int(self._units[position])

    def score(self, position: int) -> float:
        return self.at(position)[1]

    def why(self, position: int) -> Why:
        found, last = self._why(self.unit(position), float(self._scores[position])), self._last
        if last is None:
            return found
        return defer_why(lambda: Why(found.lanes, found.fused, (*found.stages, last), found.scores))

    def why_of(self, unit: int, score: float) -> Why:
        """The reasons for a unit that has this score."""
        return self._why(unit, score)

    def prefetch(self, positions: Sequence[int]) -> None:
        """Announce the positions whose reasons will be needed, so that lanes can compute them together."""
        self.prefetch_units([self.unit(position) for position in positions])

    def prefetch_units(self, units: Sequence[int]) -> None:
        if self._prefetch is not None:
            self._prefetch(units)

    @property
    def head(self) -> list[int]:
        """The units that are sorted already."""
        found: list[int] = self._units.tolist()
        return found

    @property
    def units(self) -> list[int]:
        """Every unit in order."""
        self._order_until(len(self))
        found: list[int] = self._units.tolist()
        return found

    @property
    def scores(self) -> list[float]:
        self._order_until(len(self))
        return [self._weigh(score) for score in self._scores.tolist()]


_COMMON_FOLDER_SHARE = 0.5
"""A folder name that more than this share of the files have in their path does not distinguish files."""


def find_own_words(snapshot: Snapshot, plan: Plan, root_names: Sequence[str]) -> frozenset[str]:
    """Words that only name the repository: those of its root folders, and query words that are folders of most files."""
    many = _COMMON_FOLDER_SHARE * snapshot.file_count
    everywhere = [group.word for group in plan.groups if snapshot.folder_frequency(group.word) > many]
    return _split_names(tuple(root_names)).union(everywhere)


@lru_cache(maxsize=64)
def _split_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(term for name in names for word in words(name) for term in split(word))


def prefetch_whys(context: Context, units: Sequence[int]) -> None:
    """Let lanes that can explain many units at once do so."""
    for found in context.lanes.values():
        prefetch = getattr(found, "prefetch", None)
        if prefetch is not None:
            prefetch(units)


def weigh_installed_lanes(context: Context) -> list[tuple[str, float, NDArray[np.float64]]]:
    """Each installed lane that was run: name, weight, and scores, which are 0 for units of files that may not answer."""
    if not context.settings.search.lanes:
        return []
    from lurcher.lanes.installed import Scored, parse_lane_weights

    allowed = context.allowed[context.snapshot.unit_file]
    return [
        (name, weight, np.where(allowed, lane.scores, 0.0))
        for name, weight in parse_lane_weights(context.settings.search.lanes).items()
        if isinstance(lane := context.lanes.get(name), Scored)
    ]


def collect_lane_whys(context: Context, unit: int) -> dict[str, LaneWhy]:
    """Lane name → rank and score of a unit, for the lanes that found it."""
    whys = {}
    for name, found in context.lanes.items():
        why = found.why(unit)
        if why is not None:
            whys[name] = why
    return whys


def ranking_named(name: str) -> Callable[[Context], Ranking]:
    module, function = _PLACES.get(name, (name, "rank"))
    found = find("ranking", module, function)
    if found is None:
        raise UsageError(f"unknown ranking '{name}'", f"known are: {', '.join(RANKINGS)}")
    ranking: Callable[[Context], Ranking] = found
    return ranking


def ranking_lanes(name: str, plan: Plan, settings: Settings) -> tuple[str, ...]:
    """The lanes that a ranking uses for a plan: what its `lanes` function returns, else all that the plan allows."""
    if name == "structural":
        return ("structural",)
    choose: Callable[[Plan, Settings], tuple[str, ...]] | None = find("ranking", _PLACES.get(name, (name, ""))[0], "lanes")
    return plan.lanes if choose is None else choose(plan, settings)
