"""What every ranking of commits takes and returns; BM25F over the fields of commits and hunks, and the factors on scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.config.schema import RecencySettings
from lurcher.corpora.history.classify import FACTORS, TRAITS, noise_factor
from lurcher.corpora.history.query import HistoryPlan
from lurcher.corpora.history.schema import HUNK_FIELDS
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import UsageError
from lurcher.lanes.lexical import FieldSum, WordScores, compute_group_idf, field_norms, keep_best, terms_of
from lurcher.query.plan import Group
from lurcher.registry import find
from lurcher.storage.tables import Direction
from lurcher.types import Degraded, LaneWhy, StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FIX = 1.1
"""Factor for a commit whose subject reads as a fix, if the query reports a fault; chosen on the development tasks."""
_DAY = 86_400


@dataclass(slots=True)
class HistoryContext:
    """The input of a ranking."""

    history: HistorySnapshot
    plan: HistoryPlan
    settings: Settings
    allowed: NDArray[np.bool_]
    """Which commits may be hits: live, and passed by the filters."""
    direction: Direction | None
    """The vector of the query; None without a model whose vectors the index has."""
    limit: int
    alpha: float
    """Weight of cosines against BM25, for the ranking `linear`."""
    mmr: float | None
    """Weight of relevance against diversity; None: no MMR."""
    notes: list[Degraded] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The date of the newest commit, so that recency does not depend on the day of the query."""
        return self.history.newest_date


@dataclass(frozen=True, slots=True)
class HistoryRanking:
    """Commits, best first, each patch once; `why` explains the score of one, and is called only for those that are shown."""

    commits: NDArray[np.int64]
    scores: NDArray[np.float64]
    why: Callable[[int, float], Why]


def sort_commits(history: HistorySnapshot, commits: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of commits by value, then the newest first: a total order that is independent of the numbering."""
    import numpy as np

    return np.lexsort((history.rank[commits], -values))


def first_of_each_change(history: HistorySnapshot, commits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the first of the commits with the same patch, in a list that is sorted best first."""
    import numpy as np

    same = history.same_change[commits]
    _, first = np.unique(same, return_index=True)
    kept = np.zeros(len(commits), bool)
    kept[first] = True
    return kept


def make_ranking(context: HistoryContext, scores: NDArray[np.float64], why: Callable[[int, float], Why]) -> HistoryRanking:
    """The allowed commits with a positive score, in order, each patch once."""
    import numpy as np

    commits = np.flatnonzero((scores > 0) & context.allowed)
    commits = commits[sort_commits(context.history, commits, scores[commits])]
    commits = commits[first_of_each_change(context.history, commits)]
    return HistoryRanking(commits, scores[commits], why)


def find_ranking(name: str) -> Callable[[HistoryContext], HistoryRanking]:
    """The function that ranks, by the name of its module in history/ranking/."""
    found: Callable[[HistoryContext], HistoryRanking] | None = find("corpora.history.ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}' of history", "a ranking is a file of lurcher.corpora.history.ranking")
    return found


def noise_factors(context: HistoryContext) -> NDArray[np.float64]:
    """For every commit the product of the factors of its traits."""
    import numpy as np

    traits = context.history.commit_traits
    kinds, places = np.unique(traits, return_inverse=True)
    factors = np.array([noise_factor(_traits(int(kind))) for kind in kinds.tolist()] or [1.0])
    found: NDArray[np.float64] = factors[places] if len(traits) else np.zeros(0)
    return found


def fix_factors(context: HistoryContext) -> NDArray[np.float64]:
    """For a query that reports a fault, a factor on commits whose subject reads as a fix."""
    import numpy as np

    if not context.plan.reports_fault:
        return np.ones(context.history.commit_total)
    return np.where(context.history.reads_as_fix, FIX, 1.0)


def recency_factors(context: HistoryContext) -> NDArray[np.float64]:
    """For every commit 1 + weight · exp(−age / days)."""
    import numpy as np

    settings = context.settings.recency
    ages = np.maximum(context.now - context.history.committed, 0) / _DAY
    found: NDArray[np.float64] = 1.0 + settings.weight * np.exp(-ages / settings.days)
    return found


def recency_factor(committed: int, now: int, settings: RecencySettings) -> float:
    """The recency factor of one commit; a date in the future counts as now."""
    return 1.0 + settings.weight * exp(-max(now - committed, 0) / _DAY / settings.days)


def explain_factors(context: HistoryContext, commit: int) -> list[StageWhy]:
    """The factors that changed the score of one commit."""
    found = [
        StageWhy("noise", factor=FACTORS[trait], note=trait)
        for trait in _traits(int(context.history.commit_traits[commit]))
    ]
    if context.plan.reports_fault and context.history.reads_as_fix[commit]:
        found.append(StageWhy("fix", factor=FIX, note="its subject reads as a fix"))
    committed = int(context.history.committed[commit])
    days = int(max(context.now - committed, 0) / _DAY)
    factor = recency_factor(committed, context.now, context.settings.recency)
    found.append(StageWhy("recency", factor=factor, note=f"{days:,} days before the newest commit"))
    return found


def _traits(bits: int) -> list[str]:
    """The traits of a commit, from bits: bit i stands for TRAITS[i]."""
    return [trait for place, trait in enumerate(TRAITS) if bits >> place & 1]


MESSAGE = ("subject", "body")
Weights = Mapping[str, tuple[float, float]]
"""Field → (weight, b)."""


@dataclass(frozen=True, slots=True)
class FieldScores:
    """One score per commit or hunk, and the contribution of each word."""

    scores: NDArray[np.float64]
    shares: Sequence[WordScores]
    most: float
    """The limit of the score as every word occurs ever more often."""

    def why(self, number: int) -> LaneWhy | None:
        """The rank, score and words of one commit or hunk; None if it has no score."""
        value = float(self.scores[number])
        if value <= 0:
            return None
        return LaneWhy(1 + int((self.scores > value).sum()), value, terms_of(self.shares, number))


def score_fields(
    history: HistorySnapshot, groups: Sequence[Group], weights: Weights, k1: float, variant: float, keep: int | None = None
) -> FieldScores:
    """Score every commit by fields of commits, or every hunk by fields of hunks.

    The rarity of a word is counted in messages only: in diffs nearly every word occurs everywhere. `variant` is the weight of
    other forms of a word; `keep` limits the number of words.
    """
    hunks = any(field in HUNK_FIELDS for field in weights)
    rare_in = tuple(weights) if hunks else tuple(field for field in MESSAGE if field in weights) or tuple(weights)
    found = [(group, _rarity(history, group, rare_in, variant)) for group in groups]
    fields = [(field, weight, field_norms(*history.lengths(field), b)) for field, (weight, b) in weights.items()]
    words = FieldSum(history.hunk_total if hunks else history.commit_total, k1, fields, history.postings)
    most = 0.0
    for group, idf in keep_best(found, keep):
        for form, worth in ((group.word, 1.0), *((form, variant) for form in (group.forms if variant else ()))):
            if history.knows(form):
                words.add(form, worth)
        times = group.weight * idf * (k1 + 1)
        words.finish_word(group.word, times)
        most += times
    words.scores[~(history.live_hunks if hunks else history.live)] = 0
    return FieldScores(words.scores, words.shares, most)


def _rarity(history: HistorySnapshot, group: Group, fields: Sequence[str], variant: float) -> float:
    """The IDF of a word among the commits or hunks that have it in one of some fields."""
    import numpy as np

    hunks = any(field in HUNK_FIELDS for field in fields)
    seen = np.zeros(history.hunk_total if hunks else history.commit_total, bool)

    def count(form: str) -> int:
        for family in fields:
            seen[history.postings(family, form)[0]] = True
        return int(np.count_nonzero(seen))

    alone = together = count(group.word)
    for form in group.forms if variant else ():
        together = count(form)
    return compute_group_idf(history.hunk_count if hunks else history.commit_count, alone, together)
