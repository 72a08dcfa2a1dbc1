"""Four lanes of a hundred each, fused by their ranks, then recency: meaning, the text of hunks, messages, names touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.corpora.history.ranking import factors
from lurcher.corpora.history.ranking.base import PastContext, PastRanking, in_order, once_each
from lurcher.corpora.history.ranking.default import KEEP_TERMS
from lurcher.corpora.history.ranking.fields import Weights, score
from lurcher.ranking.fusion import fuse_ranks
from lurcher.types import LaneWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HUNKS: dict[str, Weights] = {"hunks": {"hunk": (1.0, 0.75)}, "symbols": {"symbols": (1.0, 0.75)}}
_MESSAGES: Weights = {"subject": (1.0, 0.75), "body": (1.0, 0.75)}


def rank(context: PastContext) -> PastRanking:
    import numpy as np

    settings = context.settings
    lanes = _lanes(context)
    fused = fuse_ranks([(1.0, best) for best, _ in lanes.values()], settings.classic.rrf_k)
    first = {commit: place for place, commit in enumerate(fused)}
    # Ties go to whoever appeared first in the lanes.
    best = sorted(fused, key=lambda commit: (-fused[commit], first[commit]))[: settings.history.candidates]
    commits = np.array(best, np.int64)
    young = factors.recency(context)
    scores = np.array([fused[commit] for commit in best]) * young[commits] if best else np.zeros(0)
    order = np.argsort(-scores, kind="stable")
    commits, scores = commits[order], scores[order]
    kept = once_each(context.past, commits)
    commits, scores = commits[kept], scores[kept]

    def why(commit: int, value: float) -> Why:
        said = {
            name: LaneWhy(items.index(commit) + 1, values[commit])
            for name, (items, values) in lanes.items()
            if commit in values
        }
        return Why(said, fused[commit], tuple(stage for stage in factors.told(context, commit) if stage.stage == "recency"))

    return PastRanking(commits, scores, why)


Lane = tuple[list[int], dict[int, float]]
"""Commits best first, and the score of each."""


def _lanes(context: PastContext) -> dict[str, Lane]:
    past, plan, k1 = context.past, context.plan, context.settings.lexical.k1
    lanes: dict[str, Lane] = {}
    if context.direction is not None and plan.mode != "lexical":
        if past.knows_hunks:
            lanes["dense"] = _of_hunks(context, past.hunk_cosines(context.direction))
        else:
            lanes["dense"] = _of_commits(context, past.commit_cosines(context.direction))
    if plan.mode != "dense":
        for name, weights in _HUNKS.items():
            found = score(past, plan.groups, weights, k1, 0.0, KEEP_TERMS)
            lanes[name] = _of_hunks(context, found.scores)
        messages = score(past, plan.groups, _MESSAGES, k1, 0.0, KEEP_TERMS)
        lanes["messages"] = _of_commits(context, messages.scores)
    return lanes


def _of_commits(context: PastContext, scores: NDArray[np.float64]) -> Lane:
    import numpy as np

    commits = np.flatnonzero((scores > 0) & context.allowed)
    best = commits[in_order(context.past, commits, scores[commits])][: context.settings.classic.candidates].tolist()
    return best, {commit: float(scores[commit]) for commit in best}


def _of_hunks(context: PastContext, scores: NDArray[np.float64]) -> Lane:
    """The best hunks, each standing for its commit."""
    import numpy as np

    past = context.past
    hunks = np.flatnonzero((scores > 0) & past.live_hunks)
    hunks = hunks[context.allowed[past.hunk_commit[hunks]]]
    ranks = past.rank[past.hunk_commit[hunks]]
    hunks = hunks[np.lexsort((hunks - past.first_hunk[past.hunk_commit[hunks]], ranks, -scores[hunks]))]
    found: dict[int, float] = {}
    for hunk in hunks[: context.settings.classic.candidates].tolist():
        found.setdefault(int(past.hunk_commit[hunk]), float(scores[hunk]))
    return list(found), found
