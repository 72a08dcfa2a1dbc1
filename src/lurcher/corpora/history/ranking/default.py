"""One list over the fields of a commit, with what it says counting most; noise is held back; hunks only choose what to show.

    x = words + meaning · max(0, 1 − 4 · (largest cosine − cosine)), the same for the commit's nearest hunk

Words are told as the share of what a commit would score that said them all: where no commit says much of a question, meaning
decides. A report or a title is in the words of the trade already, so there meaning has no say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.corpora.history.ranking import factors
from lurcher.corpora.history.ranking.base import PastContext, PastRanking, in_order, ranked
from lurcher.corpora.history.ranking.fields import Weights, score
from lurcher.storage.vectors import Direction
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
_STEEP = 4.0
_COMPARED = 1000
"""Commits whose hunks are compared with a question: the best by all else."""


def rank(context: PastContext) -> PastRanking:
    fields = score(context.past, context.plan.groups, WEIGHTS, K1, VARIANT, KEEP_TERMS)
    words = fields.scores / (fields.most or 1.0)
    meaning = _meaning(context, words)
    scale = 1 + sum(weight for weight, _, _ in meaning.values())
    scores = words.copy()
    for weight, near, _ in meaning.values():
        scores += weight * near
    scores = scores / scale * factors.noise(context) * factors.fixes(context) * factors.recency(context)

    def why(commit: int, value: float) -> Why:
        lanes: dict[str, LaneWhy] = {}
        said = fields.why(commit)
        if said is not None:
            lanes["fields"] = said
        stages = [StageWhy("words", amount=float(words[commit]) / scale)]
        for name, (weight, near, cosines) in meaning.items():
            lanes[name] = LaneWhy(1 + int((cosines > cosines[commit]).sum()), float(cosines[commit]))
            stages.append(StageWhy(name, amount=float(weight * near[commit]) / scale))
        together = sum(stage.amount or 0.0 for stage in stages)
        return Why(lanes, together, (*stages, *factors.told(context, commit)))

    return ranked(context, scores, why)


def _meaning(
    context: PastContext, words: NDArray[np.float64]
) -> dict[str, tuple[float, NDArray[np.float64], NDArray[np.float64]]]:
    """Lane → (weight, nearness, cosines) of every commit: its message, and its nearest hunk."""
    import numpy as np

    past, plan = context.past, context.plan
    if context.direction is None or not plan.question or plan.mode == "lexical":
        return {}
    cosines = np.where(past.live, past.commit_cosines(context.direction), 0.0)
    near = _near(cosines)
    best = _nearest_hunks(context, context.direction, words + MEANING * near)
    return {"meaning": (MEANING, near, cosines), "hunk": (MEANING_HUNK, _near(best), best)}


def _nearest_hunks(context: PastContext, direction: Direction, others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine of each commit's nearest hunk, for those that stand a chance by all else."""
    import numpy as np

    past = context.past
    best = np.zeros(past.commit_total)
    usable = np.flatnonzero(context.allowed & (past.commit_hunks > 0) & (others > 0))
    pool = np.sort(usable[in_order(past, usable, others[usable])][:_COMPARED])
    if len(pool):
        counts = past.commit_hunks[pool].astype(np.int64)
        before = np.cumsum(counts) - counts
        # The hunks of a commit are numbered one after the other.
        hunks = np.repeat(past.first_hunk[pool] - before, counts) + np.arange(int(counts.sum()))
        best[pool] = np.maximum.reduceat(past.cosines_of_hunks(hunks, direction), before)
    return best


def _near(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return np.where(cosines > 0, np.maximum(0.0, 1 - _STEEP * (cosines.max(initial=0.0) - cosines)), 0.0)
