"""A second look that prefers what stuck: commits that were reverted or had to be mended go down, as sure as that is."""

from __future__ import annotations

from dataclasses import replace

from lurcher.history.outcomes.verdicts import HOTFIXED, REVERTED, Outcome, Verdicts
from lurcher.history.ranking.context import PastContext, PastRanking
from lurcher.types import StageWhy, Why

LOSS = {REVERTED: 0.6, HOTFIXED: 0.3}
"""What a commit loses of its score when its verdict is certain."""


def prefer_stuck(context: PastContext, ranking: PastRanking, verdicts: Verdicts, most: int) -> PastRanking:
    """The first `most` commits in the order that their outcomes give them; the rest stay behind them."""
    import numpy as np

    commits, scores = ranking.commits.copy(), ranking.scores.copy()
    head = min(most, len(commits))
    outcomes = {commit: verdicts.of(context.past.sha(commit)) for commit in commits[:head].tolist()}
    factors = np.array([_factor(outcomes[commit]) for commit in commits[:head].tolist()])
    scores[:head] *= factors
    order = np.argsort(-scores[:head], kind="stable")
    commits[:head], scores[:head] = commits[:head][order], scores[:head][order]
    if head < len(scores):
        scores[head:] = np.minimum(scores[head:], scores[:head].min(initial=np.inf))

    def why(commit: int, score: float) -> Why:
        reasons = ranking.why(commit, score)
        outcome = outcomes.get(commit)
        if outcome is None or _factor(outcome) == 1.0:
            return reasons
        stage = StageWhy("outcome", factor=_factor(outcome), note=outcome.verdict)
        return replace(reasons, stages=(*reasons.stages, stage))

    return PastRanking(commits, scores, why)


def _factor(outcome: Outcome) -> float:
    return 1 - LOSS.get(outcome.verdict, 0.0) * outcome.confidence
