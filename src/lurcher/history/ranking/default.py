"""One list over the fields of a commit, with what it says counting most; noise is held back; hunks only choose what to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.config import PastRankingSettings
from lurcher.history.ranking import nudges
from lurcher.history.ranking.context import PastContext, PastRanking, ranked
from lurcher.history.ranking.fields import Weights, score
from lurcher.types import LaneWhy, StageWhy, Why

if TYPE_CHECKING:
    pass


def weights_of(settings: PastRankingSettings) -> Weights:
    return {
        "subject": (settings.subject, 0.75),
        "body": (settings.body, 0.5),
        "paths": (settings.paths, 0.75),
        "headings": (settings.headings, 0.75),
        "tests": (settings.tests, 0.9),
        "code": (settings.code, 0.9),
    }


def rank(context: PastContext) -> PastRanking:
    import numpy as np

    past, settings = context.past, context.settings.past
    fields = score(past, context.plan.groups, weights_of(settings), settings.k1, settings.variant, settings.keep_terms)
    words = fields.scores / (fields.most or 1.0)
    dense = settings.dense if context.plan.mode != "lexical" and context.direction is not None else 0.0
    cosines = np.zeros(past.commit_total)
    if dense and context.direction is not None:
        cosines = np.maximum(past.commit_cosines(context.direction), 0.0)
    scores = (words + dense * cosines) / (1 + dense)
    scores *= nudges.noise(context) * nudges.fixes(context) * nudges.recency(context)
    if not settings.dense_alone:
        scores[words <= 0] = 0

    def why(commit: int, value: float) -> Why:
        lanes: dict[str, LaneWhy] = {}
        said = fields.why(commit)
        if said is not None:
            lanes["fields"] = said
        stages = [StageWhy("words", amount=float(words[commit]) / (1 + dense))]
        if dense:
            lanes["dense"] = LaneWhy(1 + int((cosines > cosines[commit]).sum()), float(cosines[commit]))
            stages.append(StageWhy("meaning", amount=float(dense * cosines[commit]) / (1 + dense)))
        return Why(lanes, float(words[commit]), (*stages, *nudges.told(context, commit)))

    return ranked(context, scores, why)
