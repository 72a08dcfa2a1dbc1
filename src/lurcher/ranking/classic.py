"""The classic ranking: lanes → reciprocal rank fusion → coherence → definition → proximity → stem → noise → saturation.

The dense lane's weight is alpha, the lexical one's 1 − alpha; while a lane is absent the other has all the weight.
"""

from __future__ import annotations

from lurcher.lanes.base import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.lanes.literal import LiteralMatches
from lurcher.query.intent import SYMBOL
from lurcher.ranking.context import Context, Ranking, collect_lane_whys, weigh_installed_lanes
from lurcher.ranking.fusion import fuse_ranks
from lurcher.ranking.stages import coherence, definition, noise, proximity, saturation, stem
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    from numpy.typing import NDArray

PHRASE = 0.25
"""Weight of the literal lane, for a query of a few words; hand-set: the code set does not move (0.8555) with it or without."""
STAGES = (coherence, definition, proximity, stem, noise, saturation)


def rank(context: Context) -> Ranking:
    lexical = np.where(context.allowed[context.snapshot.unit_file], context.lexical.scores, 0.0)
    matched = np.flatnonzero(lexical > 0)
    candidates = matched[order_units(context.snapshot, matched, lexical[matched])]
    near = _find_nearest(context)
    settings = context.settings.classic
    alpha = 0.0 if not len(near) else settings.alpha_symbol if context.plan.intent == SYMBOL else settings.alpha_language
    lanes = [(1 - alpha, candidates.tolist()), (alpha, near.tolist()), (PHRASE, _find_phrase_units(context))]
    for _, weight, lane_scores in weigh_installed_lanes(context):
        matched = np.flatnonzero(lane_scores > 0)
        best = matched[order_units(context.snapshot, matched, lane_scores[matched])]
        lanes.append((weight, best[: max(settings.candidates, 5 * context.limit)].tolist()))
    fused = fuse_ranks(lanes, settings.rrf_k)
    scores = dict(fused)
    log: dict[int, list[StageWhy]] = {}
    for stage in STAGES:
        stage.apply(context, scores, log)
    units = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = order_units(context.snapshot, units, values)
    units, values = units[order], values[order]

    def why(unit: int, score: float) -> Why:
        return Why(collect_lane_whys(context, unit), fused.get(unit, 0.0), tuple(log.get(unit, ())))

    return Ranking(units, values, why)


def _find_phrase_units(context: Context) -> list[int]:
    """Units that contain a short query word for word, those with the most matches first."""
    lane = context.lanes.get("literal")
    if not isinstance(lane, LiteralMatches) or not len(lane.units):
        return []
    best: list[int] = lane.units[order_units(context.snapshot, lane.units, lane.counts.astype("f8"))].tolist()
    return best


def _find_nearest(context: Context) -> NDArray[np.int64]:
    """The dense lane's candidates, best first. Their number is limited, since every unit has some cosine."""
    lane = context.lanes.get("dense")
    if not isinstance(lane, DenseCosines) or not lane:
        return np.zeros(0, np.int64)
    cosines = lane.scan()
    units = np.flatnonzero((cosines > 0) & context.allowed[context.snapshot.unit_file])
    best = units[order_units(context.snapshot, units, cosines[units])]
    return best[: max(context.settings.classic.candidates, 5 * context.limit)]
