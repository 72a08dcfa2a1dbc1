"""What a ranking of commits works with, and what it answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.corpora.history.query import PastPlan
from lurcher.corpora.history.reader import Past
from lurcher.errors import UsageError
from lurcher.registry import find
from lurcher.storage.vectors import Direction
from lurcher.types import Degraded, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class PastContext:
    past: Past
    plan: PastPlan
    settings: Settings
    allowed: NDArray[np.bool_]
    """Which commits may answer: live, and passed by the filter."""
    direction: Direction | None
    """Where the question points; None without a model that knows the index."""
    limit: int
    alpha: float
    """Weight of cosines where scores are added up."""
    mmr: float | None
    """How much relevance counts against being unlike what is already there; None: no such choice is made."""
    notes: list[Degraded] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The date of the newest commit: what is young must not depend on the day of the question."""
        return self.past.newest_date


@dataclass(frozen=True, slots=True)
class PastRanking:
    """Commits, best first, each change once; the reasons are worked out for those that are shown."""

    commits: NDArray[np.int64]
    scores: NDArray[np.float64]
    why: Callable[[int, float], Why]


def in_order(past: Past, commits: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of commits by value, then the newest first: a total order that does not depend on how they are numbered."""
    import numpy as np

    return np.lexsort((past.rank[commits], -values))


def once_each(past: Past, commits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some commits, best first, make a change that none before them made."""
    import numpy as np

    same = past.same_change[commits]
    _, first = np.unique(same, return_index=True)
    kept = np.zeros(len(commits), bool)
    kept[first] = True
    return kept


def ranked(context: PastContext, scores: NDArray[np.float64], why: Callable[[int, float], Why]) -> PastRanking:
    """Allowed commits with a score, in order, each change once."""
    import numpy as np

    commits = np.flatnonzero((scores > 0) & context.allowed)
    commits = commits[in_order(context.past, commits, scores[commits])]
    commits = commits[once_each(context.past, commits)]
    return PastRanking(commits, scores[commits], why)


def past_ranking_named(name: str) -> Callable[[PastContext], PastRanking]:
    found = find("corpora.history.ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}' of history", "a ranking is a file of lurcher.corpora.history.ranking")
    ranking: Callable[[PastContext], PastRanking] = found
    return ranking
