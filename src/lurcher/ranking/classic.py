"""The classic ranking: lanes → reciprocal rank fusion → coherence → definition → stem → noise → saturation.

The dense lane's weight is alpha, the lexical one's 1 − alpha; while a lane is absent the other has all the weight.
"""

from __future__ import annotations

from lurcher.fusion.rrf import fuse
from lurcher.index.order import best_first
from lurcher.ranking.context import Context, Ranking, lane_whys
from lurcher.ranking.stages import coherence, definition, noise, saturation, stem
from lurcher.types import StageWhy, Why

STAGES = (coherence, definition, stem, noise, saturation)


def rank(context: Context) -> Ranking:
    import numpy as np

    lexical = np.where(context.allowed[context.snapshot.unit_file], context.lexical.scores, 0.0)
    matched = np.flatnonzero(lexical > 0)
    candidates = matched[best_first(context.snapshot, matched, lexical[matched])]
    fused = fuse([(1.0, candidates.tolist())], context.settings.classic.rrf_k)
    scores = dict(fused)
    log: dict[int, list[StageWhy]] = {}
    for stage in STAGES:
        stage.apply(context, scores, log)
    units = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = best_first(context.snapshot, units, values)
    units, values = units[order], values[order]

    def why(unit: int, score: float) -> Why:
        return Why(lane_whys(context, unit), fused.get(unit, 0.0), tuple(log.get(unit, ())))

    return Ranking(units, values, why)
