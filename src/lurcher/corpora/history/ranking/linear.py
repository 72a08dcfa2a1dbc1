"""A weighted sum of cosines and BM25 over messages, each scaled from 0 to 1; optionally diversified by MMR.

    hybrid = alpha · cosine + (1 − alpha) · BM25,   mmr = lambda · hybrid − (1 − lambda) · largest similarity to one before

(Carbonell and Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, 1998.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.corpora.history.ranking.base import (
    HistoryContext,
    HistoryRanking,
    Weights,
    first_of_each_change,
    score_fields,
    sort_commits,
)
from lurcher.corpora.history.ranking.default import KEEP_TERMS
from lurcher.ranking.fusion import scale_min_max, select_diverse
from lurcher.types import Degraded, LaneWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MESSAGES: Weights = {"subject": (1.0, 0.75), "body": (1.0, 0.75)}


def rank(context: HistoryContext) -> HistoryRanking:
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
