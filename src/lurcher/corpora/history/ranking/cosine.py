"""Ranks commits by the cosine of their vectors alone, for `--mode dense`."""

from __future__ import annotations

from lurcher.corpora.history.ranking.base import HistoryContext, HistoryRanking, make_ranking
from lurcher.types import LaneWhy, Why


def rank(context: HistoryContext) -> HistoryRanking:
    """Rank the commits by their cosines; the query must have a vector."""
    assert context.direction is not None, "search_history ranks by words if there is no vector"
    cosines = context.history.commit_cosines(context.direction)

    def why(commit: int, value: float) -> Why:
        rank = 1 + int((cosines[context.allowed] > cosines[commit]).sum())
        return Why({"dense": LaneWhy(rank, float(cosines[commit]))}, value, scores={"cosine": float(cosines[commit])})

    return make_ranking(context, cosines, why)
