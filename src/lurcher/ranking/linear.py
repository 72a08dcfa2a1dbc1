"""Linear fusion: cosines and BM25 of units, each scaled to 0 … 1, summed with weight alpha; optionally diversified (`--mmr`).

    hybrid = alpha · cosine + (1 − alpha) · BM25,   mmr = lambda · hybrid − (1 − lambda) · largest likeness to a chosen unit

The formulas that combine several orders or scores into one are here for all rankings:

Reciprocal rank fusion: score(d) = Σ over lanes  weight / (k + rank(d)), with ranks from 1; an absent item gets 0.
Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009.

Min-max scaling: (x − min) / (max − min), which puts scores of different kinds on one scale.

Maximal marginal relevance: greedily the item with the largest lambda · relevance − (1 − lambda) · largest likeness to a chosen
one. Carbonell, Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, 1998.

`rank_by_cosine` orders units by their cosine alone, for `--mode dense`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from lurcher.lanes import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.runtime.kernel import np
from lurcher.types import Why

if TYPE_CHECKING:
    from numpy.typing import NDArray


Item = TypeVar("Item", bound=Hashable)


def fuse_ranks(rankings: Sequence[tuple[float, Sequence[Item]]], k: float = 60.0) -> dict[Item, float]:
    """Fused score of every item in (weight, best-first items) lists, in order of first appearance."""
    scores: dict[Item, float] = {}
    for weight, items in rankings:
        for rank, item in enumerate(items, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return scores


def scale_min_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale from 0 (the smallest) to 1 (the largest); where all are equal, all are 0."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def select_diverse(
    relevance: NDArray[np.float64], vectors: NDArray[np.float64], weight: float
) -> tuple[NDArray[np.int64], list[float]]:
    """The order in which items are chosen, and the value of each when it was chosen; of equals the earlier one comes first.

    `vectors` have length 1 or 0; `weight` is lambda.
    """
    import numpy as np

    likeness = vectors @ vectors.T
    nearest = np.zeros(len(relevance))
    left = np.ones(len(relevance), bool)
    order: list[int] = []
    gains: list[float] = []
    for _ in range(len(relevance)):
        gain = np.where(left, weight * relevance - (1 - weight) * nearest, -np.inf)
        best = int(np.argmax(gain))
        order.append(best)
        gains.append(float(gain[best]))
        left[best] = False
        nearest = np.maximum(nearest, likeness[best])
    return np.array(order, np.int64), gains


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


def rank_by_cosine(context: Context) -> Ranking:
    lane = context.lanes.get("dense")
    cosines = lane.scan() if isinstance(lane, DenseCosines) else np.zeros(context.snapshot.unit_total)
    units = np.flatnonzero((cosines > 0) & context.allowed[context.snapshot.unit_file])
    units = units[order_units(context.snapshot, units, cosines[units])]

    def why(unit: int, score: float) -> Why:
        return Why(collect_lane_whys(context, unit), score, ())

    return Ranking(units, cosines[units], why)
