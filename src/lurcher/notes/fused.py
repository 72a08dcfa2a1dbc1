"""The order of sections where it is asked for by a formula: ranks fused, or scores added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.fusion.rrf import fuse
from lurcher.index.order import best_first
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import linear
from lurcher.ranking.context import Context, Ranking, lane_whys
from lurcher.types import Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def rank(
    context: Context, how: str, words: NDArray[np.float64], near: DenseCosines | None, may: NDArray[np.bool_]
) -> Ranking:
    """`how` is rrf or linear; `words` is what each unit says of the question, `may` which of them may answer."""
    import numpy as np

    if how == "linear":
        return linear.added(context, words, may)
    snapshot, settings = context.snapshot, context.settings.classic
    lists: list[tuple[float, list[int]]] = []
    # As everywhere, what has no word of the question must be near to it, unless nearness is all that was asked for.
    alone = 0.0 if context.plan.mode == "dense" else context.settings.notes.alone
    close = None if near is None or not near else np.asarray(near.scan())
    for values in (words, close):
        if values is not None:
            units = np.flatnonzero((values > 0) & ((words > 0) | (values >= alone)) & may)
            best = units[best_first(snapshot, units, values[units])][: max(settings.candidates, 5 * context.limit)]
            lists.append((1.0, best.tolist()))
    fused = fuse(lists, settings.rrf_k)
    units = np.fromiter(fused, np.int64, len(fused))
    scores = np.fromiter(fused.values(), np.float64, len(fused))
    order = best_first(snapshot, units, scores)

    def why(unit: int, score: float) -> Why:
        return Why(lane_whys(context, unit), score)

    return Ranking(units[order], scores[order], why)
