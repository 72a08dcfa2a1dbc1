"""Reciprocal rank fusion of four lanes (vectors, text of hunks, symbols, messages), then recency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.corpora.history.ranking import base
from lurcher.corpora.history.ranking.base import (
    HistoryContext,
    HistoryRanking,
    Weights,
    first_of_each_change,
    score_fields,
    sort_commits,
)
from lurcher.corpora.history.ranking.default import KEEP_TERMS
from lurcher.ranking.fusion import fuse_ranks
from lurcher.types import LaneWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HUNKS: dict[str, Weights] = {"hunks": {"hunk": (1.0, 0.75)}, "symbols": {"symbols": (1.0, 0.75)}}
_MESSAGES: Weights = {"subject": (1.0, 0.75), "body": (1.0, 0.75)}


def rank(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by the fused ranks of the lanes."""
    import numpy as np

    settings = context.settings
    lanes = _lanes(context)
    fused = fuse_ranks([(1.0, best) for best, _ in lanes.values()], settings.classic.rrf_k)
    first = {commit: place for place, commit in enumerate(fused)}
    # Ties go to the commit that came first in the lanes.
    best = sorted(fused, key=lambda commit: (-fused[commit], first[commit]))[: settings.history.candidates]
    commits = np.array(best, np.int64)
    young = base.recency_factors(context)
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
        recency = tuple(stage for stage in base.explain_factors(context, commit) if stage.stage == "recency")
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
