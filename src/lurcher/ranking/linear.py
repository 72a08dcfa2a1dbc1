"""Linear fusion: cosines and BM25 of units, each scaled to 0 … 1, summed with weight alpha; optionally diversified (`--mmr`).

    hybrid = alpha · cosine + (1 − alpha) · BM25,   mmr = lambda · hybrid − (1 − lambda) · largest likeness to a chosen unit

(Carbonell and Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, 1998.)
"""

from __future__ import annotations

from itertools import accumulate

from lurcher.lanes import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.ranking.fusion import scale_min_max, select_diverse
from lurcher.runtime.kernel import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.types import Why

if TYPE_CHECKING:
    from numpy.typing import NDArray


MMR_TOP = 50
"""Units among which `--mmr` chooses, as many as commits in history (`history.candidates`); hand-set."""


def rank(context: Context) -> Ranking:
    return combine_scores(context, context.lexical.scores, context.allowed[context.snapshot.unit_file])


def combine_scores(context: Context, lexical: NDArray[np.float64], may: NDArray[np.bool_]) -> Ranking:
    """The units that may answer (`may`), by BM25 and cosine combined."""
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
        alpha = 0.0  # BM25 alone
    hybrid = np.zeros(snapshot.unit_total)
    hybrid[usable] = alpha * scale_min_max(cosines[usable]) + (1 - alpha) * scale_min_max(lexical[usable])
    found = found[hybrid[found] > 0] if len(found) > 1 else found  # where all scores are equal, they are all scaled to 0
    units = found[order_units(snapshot, found, hybrid[found])]
    chosen: dict[int, float] = {}
    if context.mmr is not None and alpha and len(units):
        head = units[: MMR_TOP]
        order, gains = select_diverse(hybrid[head], _load_vectors(context, head), context.mmr)
        chosen = {int(head[place]): gain for place, gain in zip(order, gains, strict=True)}
        units = np.concatenate((head[order], units[MMR_TOP :]))

    def why(unit: int, score: float) -> Why:
        scores = {"hybrid": float(hybrid[unit]), "cosine": float(cosines[unit]), "bm25": float(lexical[unit])}
        if unit in chosen:
            scores["mmr"] = chosen[unit]
        return Why(collect_lane_whys(context, unit), float(hybrid[unit]), scores=scores)

    # A unit that was moved down for its likeness must not score higher than the one before it.
    return Ranking(units, np.array(list(accumulate(hybrid[units].tolist(), min)), np.float64), why)


def _load_vectors(context: Context, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """The vectors of units, of length 1 or 0."""
    import numpy as np

    found = np.array([context.snapshot.cosines.vector(int(unit)) for unit in units], np.float64)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    vectors: NDArray[np.float64] = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return vectors
