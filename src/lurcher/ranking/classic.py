"""The classic ranking: lanes → reciprocal rank fusion → coherence → definition → proximity → stem → noise → saturation.

The dense lane's weight is alpha, the lexical one's 1 − alpha; while a lane is absent the other has all the weight.
"""

from __future__ import annotations

from lurcher.lanes.dense import DenseCosines
from lurcher.lanes.installed import weighed
from lurcher.lanes.literal import LiteralMatches
from lurcher.query.intent import SYMBOL
from lurcher.ranking.context import Context, Ranking, lane_whys
from lurcher.ranking.fusion import fuse
from lurcher.ranking.stages import coherence, definition, noise, proximity, saturation, stem
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.numbering import order_units
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
    near = _nearest(context)
    settings = context.settings.classic
    alpha = 0.0 if not len(near) else settings.alpha_symbol if context.plan.intent == SYMBOL else settings.alpha_language
    lanes = [(1 - alpha, candidates.tolist()), (alpha, near.tolist()), (PHRASE, _with_phrase(context))]
    for _, weight, given in weighed(context):
        matched = np.flatnonzero(given > 0)
        best = matched[order_units(context.snapshot, matched, given[matched])]
        lanes.append((weight, best[: max(settings.candidates, 5 * context.limit)].tolist()))
    fused = fuse(lanes, settings.rrf_k)
    scores = dict(fused)
    log: dict[int, list[StageWhy]] = {}
    for stage in STAGES:
        stage.apply(context, scores, log)
    units = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = order_units(context.snapshot, units, values)
    units, values = units[order], values[order]

    def why(unit: int, score: float) -> Why:
        return Why(lane_whys(context, unit), fused.get(unit, 0.0), tuple(log.get(unit, ())))

    return Ranking(units, values, why)


def _with_phrase(context: Context) -> list[int]:
    """Units that have a short query as it stands, those with the most first."""
    lane = context.lanes.get("literal")
    if not isinstance(lane, LiteralMatches) or not len(lane.units):
        return []
    best: list[int] = lane.units[order_units(context.snapshot, lane.units, lane.counts.astype("f8"))].tolist()
    return best


def _nearest(context: Context) -> NDArray[np.int64]:
    """The dense lane's candidates, best first: those of the lexical lane are all that match, but everything is near somehow."""
    lane = context.lanes.get("dense")
    if not isinstance(lane, DenseCosines) or not lane:
        return np.zeros(0, np.int64)
    cosines = lane.scan()
    units = np.flatnonzero((cosines > 0) & context.allowed[context.snapshot.unit_file])
    best = units[order_units(context.snapshot, units, cosines[units])]
    return best[: max(context.settings.classic.candidates, 5 * context.limit)]
