"""BM25F over the fields of a commit, for questions plus vectors, with factors for noise, fixes and recency.

    x = words + meaning · max(0, 1 − 4 · (largest cosine − cosine)), the same for the commit's nearest hunk

`words` is the share of the highest possible BM25F score: if no commit has many words of a question, vectors decide. Bug reports
and titles use the words of commits already, so for them vectors are not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.corpora.history.ranking import base
from lurcher.corpora.history.ranking.base import (
    HistoryContext,
    HistoryRanking,
    Weights,
    make_ranking,
    score_fields,
    sort_commits,
)
from lurcher.storage.tables import Direction
from lurcher.types import LaneWhy, StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def rank(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by words, for questions also by vectors, times the factors."""
    fields = score_fields(context.history, context.plan.groups, WEIGHTS, K1, VARIANT, KEEP_TERMS)
    words = fields.scores / (fields.most or 1.0)
    meaning = _dense_scores(context, words)
    scale = 1 + sum(weight for weight, _, _ in meaning.values())
    scores = words.copy()
    for weight, near, _ in meaning.values():
        scores += weight * near
    scores = scores / scale * base.noise_factors(context) * base.fix_factors(context) * base.recency_factors(context)

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
        return Why(lanes, total, (*stages, *base.explain_factors(context, commit)))

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
