"""Rankings of commits: each is a function from a `HistoryContext` to a `HistoryRanking`; all use BM25F over the same fields.

`rank_default`: BM25F over the fields of a commit, for questions plus vectors, with factors for noise, fixes and recency.

    x = words + meaning · max(0, 1 − 4 · (largest cosine − cosine)), the same for the commit's nearest hunk

`words` is the share of the highest possible BM25F score: if no commit has many words of a question, vectors decide. Bug reports
and titles use the words of commits already, so for them vectors are not used.

`rank_classic`: reciprocal rank fusion of four lanes (vectors, text of hunks, symbols, messages), then recency.

`rank_linear`: a weighted sum of cosines and BM25 over messages, each scaled from 0 to 1; optionally diversified by MMR, as in
`ranking/linear.py`.

    hybrid = alpha · cosine + (1 − alpha) · BM25,   mmr = lambda · hybrid − (1 − lambda) · largest similarity to one before

`rank_by_cosine`: by the cosine of their vectors alone, for `--mode dense`.
"""

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
from lurcher.query import Group
from lurcher.ranking.linear import fuse_ranks, scale_min_max, select_diverse
from lurcher.runtime import find_installed
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
    """The function that ranks: one of this module, else that of an installed package."""
    found: Callable[[HistoryContext], HistoryRanking] | None = _RANKINGS.get(name)
    found = found or find_installed("lurcher.corpora.history.ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}' of history", f"known are: {', '.join(_RANKINGS)}")
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


WEIGHTS: Weights = {
    "subject": (3.0, 0.75),
    "body": (1.0, 0.5),
    "paths": (0.75, 0.75),
    "headings": (0.5, 0.75),
    "tests": (0.5, 0.9),
    "code": (0.05, 0.9),
}
"""Field → (weight, b): subject, rest of the message, paths of changed files, names of changed functions, added lines of tests
and of code. Chosen on the development tasks (issue → fixing commit), where one list over these fields scores 0.68 MRR@10 by
title and 0.76 by the whole text, against 0.47 and 0.29 of SQLite's full text search over messages."""
K1 = 1.6
"""How soon more of the same word counts for nothing; chosen with the weights."""
VARIANT = 0.4
"""What another form of a word counts."""
KEEP_TERMS = 60
"""Words of a query that are kept, by weight times rarity; as for reports over code."""
MEANING = 0.6
"""Weight of a commit's cosine against all words together, for questions only: on bug reports it gained nothing. On 30 questions
in the asker's own words, together with MEANING_HUNK, 0.37 MRR@10 against 0.15 of words alone."""
MEANING_HUNK = 0.2
"""Weight of the cosine of the commit's nearest hunk."""
_STEEPNESS = 4.0
"""How fast a cosine loses its value below the largest one."""
_MAX_COMPARED = 1000
"""Commits whose hunks are compared with a question: the best by their other scores."""


def rank_default(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by words, for questions also by vectors, times the factors."""
    fields = score_fields(context.history, context.plan.groups, WEIGHTS, K1, VARIANT, KEEP_TERMS)
    words = fields.scores / (fields.most or 1.0)
    meaning = _dense_scores(context, words)
    scale = 1 + sum(weight for weight, _, _ in meaning.values())
    scores = words.copy()
    for weight, near, _ in meaning.values():
        scores += weight * near
    scores = scores / scale * noise_factors(context) * fix_factors(context) * recency_factors(context)

    def why(commit: int, value: float) -> Why:
        lanes: dict[str, LaneWhy] = {}
        field_why = fields.why(commit)
        if field_why is not None:
            lanes["fields"] = field_why
        stages = [StageWhy("words", amount=float(words[commit]) / scale)]
        for name, (weight, near, cosines) in meaning.items():
            # Of live commits only: a dead one has 0, and a cosine may be less.
            better = int((cosines[context.history.live] > cosines[commit]).sum())
            lanes[name] = LaneWhy(1 + better, float(cosines[commit]))
            stages.append(StageWhy(name, amount=float(weight * near[commit]) / scale))
        total = sum(stage.amount or 0.0 for stage in stages)
        return Why(lanes, total, (*stages, *explain_factors(context, commit)))

    return make_ranking(context, scores, why)


def _dense_scores(
    context: HistoryContext, words: NDArray[np.float64]
) -> dict[str, tuple[float, NDArray[np.float64], NDArray[np.float64]]]:
    """Lane → (weight, nearness, cosines) for every commit, by its message and by its nearest hunk; empty if not used."""
    import numpy as np

    history, plan = context.history, context.plan
    if context.direction is None or not plan.is_question or plan.mode == "lexical":
        return {}
    cosines = np.where(history.live, history.commit_cosines(context.direction), 0.0)
    near = _nearness(cosines)
    best = _nearest_hunks(context, context.direction, words + MEANING * near)
    return {"meaning": (MEANING, near, cosines), "hunk": (MEANING_HUNK, _nearness(best), best)}


def _nearest_hunks(context: HistoryContext, direction: Direction, others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine of each commit's nearest hunk, for the best commits by their other scores."""
    import numpy as np

    history = context.history
    best = np.zeros(history.commit_total)
    usable = np.flatnonzero(context.allowed & (history.commit_hunks > 0) & (others > 0))
    pool = np.sort(usable[sort_commits(history, usable, others[usable])][:_MAX_COMPARED])
    if len(pool):
        counts = history.commit_hunks[pool].astype(np.int64)
        before = np.cumsum(counts) - counts
        # The hunks of a commit are numbered one after the other.
        hunks = np.repeat(history.first_hunk[pool] - before, counts) + np.arange(int(counts.sum()))
        best[pool] = np.maximum.reduceat(history.cosines_of_hunks(hunks, direction), before)
    return best


def _nearness(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines as values from 0 to 1, relative to the largest."""
    import numpy as np

    return np.where(cosines > 0, np.maximum(0.0, 1 - _STEEPNESS * (cosines.max(initial=0.0) - cosines)), 0.0)


_HUNKS: dict[str, Weights] = {"hunks": {"hunk": (1.0, 0.75)}, "symbols": {"symbols": (1.0, 0.75)}}
_MESSAGES: Weights = {"subject": (1.0, 0.75), "body": (1.0, 0.75)}


def rank_classic(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by the fused ranks of the lanes."""
    import numpy as np

    settings = context.settings
    lanes = _lanes(context)
    fused = fuse_ranks([(1.0, best) for best, _ in lanes.values()], settings.classic.rrf_k)
    first = {commit: place for place, commit in enumerate(fused)}
    # Ties go to the commit that came first in the lanes.
    best = sorted(fused, key=lambda commit: (-fused[commit], first[commit]))[: settings.history.candidates]
    commits = np.array(best, np.int64)
    young = recency_factors(context)
    scores = np.array([fused[commit] for commit in best]) * young[commits] if best else np.zeros(0)
    order = np.argsort(-scores, kind="stable")
    commits, scores = commits[order], scores[order]
    kept = first_of_each_change(context.history, commits)
    commits, scores = commits[kept], scores[kept]

    def why(commit: int, value: float) -> Why:
        lane_ranks = {
            name: LaneWhy(items.index(commit) + 1, values[commit])
            for name, (items, values) in lanes.items()
            if commit in values
        }
        recency = tuple(stage for stage in explain_factors(context, commit) if stage.stage == "recency")
        return Why(lane_ranks, fused[commit], recency)

    return HistoryRanking(commits, scores, why)


Lane = tuple[list[int], dict[int, float]]
"""Commits best first, and the score of each."""


def _lanes(context: HistoryContext) -> dict[str, Lane]:
    history, plan, k1 = context.history, context.plan, context.settings.lexical.k1
    lanes: dict[str, Lane] = {}
    if context.direction is not None and plan.mode != "lexical":
        if history.has_hunk_vectors:
            lanes["dense"] = _rank_hunks(context, history.hunk_cosines(context.direction))
        else:
            lanes["dense"] = _rank_commits(context, history.commit_cosines(context.direction))
    if plan.mode != "dense":
        for name, weights in _HUNKS.items():
            found = score_fields(history, plan.groups, weights, k1, 0.0, KEEP_TERMS)
            lanes[name] = _rank_hunks(context, found.scores)
        messages = score_fields(history, plan.groups, _MESSAGES, k1, 0.0, KEEP_TERMS)
        lanes["messages"] = _rank_commits(context, messages.scores)
    return lanes


def _rank_commits(context: HistoryContext, scores: NDArray[np.float64]) -> Lane:
    import numpy as np

    commits = np.flatnonzero((scores > 0) & context.allowed)
    best = commits[sort_commits(context.history, commits, scores[commits])][: context.settings.classic.candidates].tolist()
    return best, {commit: float(scores[commit]) for commit in best}


def _rank_hunks(context: HistoryContext, scores: NDArray[np.float64]) -> Lane:
    """The commits of the best hunks, each once."""
    import numpy as np

    history = context.history
    hunks = np.flatnonzero((scores > 0) & history.live_hunks)
    hunks = hunks[context.allowed[history.hunk_commit[hunks]]]
    ranks = history.rank[history.hunk_commit[hunks]]
    hunks = hunks[np.lexsort((hunks - history.first_hunk[history.hunk_commit[hunks]], ranks, -scores[hunks]))]
    found: dict[int, float] = {}
    for hunk in hunks[: context.settings.classic.candidates].tolist():
        found.setdefault(int(history.hunk_commit[hunk]), float(scores[hunk]))
    return list(found), found


def rank_linear(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by the weighted sum."""
    import numpy as np

    history, settings = context.history, context.settings
    fields = score_fields(history, context.plan.groups, _MESSAGES, settings.lexical.k1, 0.0, KEEP_TERMS)
    bm25, cosines = fields.scores, np.zeros(history.commit_total)
    alpha = context.alpha if context.plan.mode != "lexical" else 0.0
    if context.direction is not None and alpha:
        cosines = history.commit_cosines(context.direction)
    elif alpha:
        alpha = 0.0
        hint = "choose a model: lurcher model use builtin"
        context.notes.append(Degraded("dense", "there are no vectors: BM25 alone decides", hint))
    usable = np.flatnonzero(context.allowed)
    hybrid = np.zeros(history.commit_total)
    hybrid[usable] = alpha * scale_min_max(cosines[usable]) + (1 - alpha) * scale_min_max(bm25[usable])
    found = usable[(hybrid[usable] > 0) & ((bm25[usable] > 0) | (cosines[usable] > 0))]
    best = found[sort_commits(history, found, hybrid[found])]
    best = best[first_of_each_change(history, best)]
    values = hybrid[best]
    chosen: dict[int, float] = {}
    if context.mmr is not None and context.direction is not None and len(best):
        most = settings.history.candidates
        head = best[:most]
        order, gains = select_diverse(values[:most], history.commit_vectors(head), context.mmr)
        chosen = {int(head[place]): gain for place, gain in zip(order, gains, strict=True)}
        best = np.concatenate((head[order], best[most:]))
        values = hybrid[best]

    def why(commit: int, value: float) -> Why:
        lanes = {"dense": LaneWhy(1 + int((cosines[usable] > cosines[commit]).sum()), float(cosines[commit]))} if alpha else {}
        field_why = fields.why(commit)
        if field_why is not None:
            lanes["bm25"] = field_why
        scores = {"hybrid": float(hybrid[commit]), "cosine": float(cosines[commit]), "bm25": float(bm25[commit])}
        if commit in chosen:
            scores["mmr"] = chosen[commit]
        return Why(lanes, float(hybrid[commit]), scores=scores)

    return HistoryRanking(best, _non_increasing(values), why)


def _non_increasing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores that do not increase along the order: a commit that MMR put back scores no more than those before it."""
    import numpy as np

    found: NDArray[np.float64] = np.minimum.accumulate(values) if len(values) else values
    return found


def rank_by_cosine(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by their cosines; the query must have a vector."""
    assert context.direction is not None, "search_history ranks by words if there is no vector"
    cosines = context.history.commit_cosines(context.direction)

    def why(commit: int, value: float) -> Why:
        rank_by_cosine = 1 + int((cosines[context.allowed] > cosines[commit]).sum())
        return Why({"dense": LaneWhy(rank_by_cosine, float(cosines[commit]))}, value, scores={"cosine": float(cosines[commit])})

    return make_ranking(context, cosines, why)


_RANKINGS = {"default": rank_default, "classic": rank_classic, "linear": rank_linear, "cosine": rank_by_cosine}
