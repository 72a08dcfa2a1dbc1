"""Cosines and BM25 of units, each scaled from 0 to 1, added up by alpha; then, on demand, a choice of unlike ones.

    hybrid = alpha · cosine + (1 − alpha) · BM25,   mmr = lambda · hybrid − (1 − lambda) · largest likeness to what is there

(Carbonell and Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, 1998.)
"""

from __future__ import annotations

from lurcher.lanes.dense import DenseCosines
from lurcher.ranking.context import Context, Ranking, lane_whys
from lurcher.ranking.fusion import choose, scaled
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.numbering import order_units
from lurcher.types import Why

if TYPE_CHECKING:
    from numpy.typing import NDArray


MMR_TOP = 50
"""Units among which `--mmr` chooses, as many as commits in history (`history.candidates`); hand-set."""


def rank(context: Context) -> Ranking:
    return added(context, context.lexical.scores, context.allowed[context.snapshot.unit_file])


def added(context: Context, lexical: NDArray[np.float64], may: NDArray[np.bool_]) -> Ranking:
    """The order by words and meaning, of the units that may answer."""
    snapshot, settings = context.snapshot, context.settings
    alpha = settings.linear.alpha if context.alpha is None else context.alpha
    lane = context.lanes.get("dense")
    usable = np.flatnonzero(may)
    found = usable[lexical[usable] > 0]
    cosines = np.zeros(snapshot.unit_total)
    if isinstance(lane, DenseCosines) and lane and alpha:
        cosines = lane.scan()
        near = usable[cosines[usable] > 0]
        near = near[order_units(snapshot, near, cosines[near])][: max(settings.classic.candidates, 5 * context.limit)]
        found = np.union1d(found, near)
    else:
        alpha = 0.0  # words alone decide
    hybrid = np.zeros(snapshot.unit_total)
    hybrid[usable] = alpha * scaled(cosines[usable]) + (1 - alpha) * scaled(lexical[usable])
    found = found[hybrid[found] > 0] if len(found) > 1 else found  # where all are equal, scaled values say nothing
    units = found[order_units(snapshot, found, hybrid[found])]
    chosen: dict[int, float] = {}
    if context.mmr is not None and alpha and len(units):
        head = units[: MMR_TOP]
        order, gains = choose(hybrid[head], _vectors(context, head), context.mmr)
        chosen = {int(head[place]): gain for place, gain in zip(order, gains, strict=True)}
        units = np.concatenate((head[order], units[MMR_TOP :]))

    def why(unit: int, score: float) -> Why:
        scores = {"hybrid": float(hybrid[unit]), "cosine": float(cosines[unit]), "bm25": float(lexical[unit])}
        if unit in chosen:
            scores["mmr"] = chosen[unit]
        return Why(lane_whys(context, unit), float(hybrid[unit]), scores=scores)

    # What was put further back for being alike counts no more than what is before it.
    return Ranking(units, np.minimum.accumulate(hybrid[units]) if len(units) else hybrid[units], why)


def _vectors(context: Context, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """The vectors of units, of length 1 or 0."""
    import numpy as np

    found = np.array([context.snapshot.cosines.vector(int(unit)) for unit in units], np.float64)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    vectors: NDArray[np.float64] = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return vectors
