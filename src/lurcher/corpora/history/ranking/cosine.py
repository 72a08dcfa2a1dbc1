"""Commits by nearness in meaning alone: the baseline that `--mode dense` shows."""

from __future__ import annotations

from lurcher.corpora.history.ranking.base import PastContext, PastRanking, ranked
from lurcher.types import LaneWhy, Why


def rank(context: PastContext) -> PastRanking:
    assert context.direction is not None, "without one, words decide"
    cosines = context.past.commit_cosines(context.direction)

    def why(commit: int, value: float) -> Why:
        rank = 1 + int((cosines[context.allowed] > cosines[commit]).sum())
        return Why({"dense": LaneWhy(rank, float(cosines[commit]))}, value, scores={"cosine": float(cosines[commit])})

    return ranked(context, cosines, why)
