"""A question that is a name: whatever defines it comes before everything else, in tests too, whatever the ranking is.

Among themselves definitions keep the order of the ranking, and so does the rest. A definition that comes first counts no less
than what comes after it.
"""

from __future__ import annotations

from lurcher.query.intent import SYMBOL, reads_as_word
from lurcher.ranking.context import Context, Ranking, Unordered
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMING = TYPE_KINDS | FUNCTION_KINDS


def definitions_first(context: Context, ranking: Ranking, mode: str) -> Ranking:
    """The ranking with the units first that define the name, if the question is one; `mode` is the one that was asked for."""
    units = _defining(context, mode)
    if not units:
        return ranking
    head = ranking.head
    if not units.issubset(head):
        head = ranking.units  # some stand among those that are not in order yet
    places = [place for place, unit in enumerate(head) if unit in units]
    if not places:
        return ranking
    scores = [ranking.score(place) for place in range(len(head))]
    order = places + [place for place, unit in enumerate(head) if unit not in units]
    lifted = [scores[place] for place in order]
    for i in range(len(places) - 1, -1, -1):
        lifted[i] = max(lifted[i : i + 2])
    own = {head[place]: scores[place] for place in places}

    def why(unit: int, score: float) -> Why:
        before = own.get(unit, score)
        found = ranking.why_of(unit, before)
        if before == score:
            return found
        stage = StageWhy("exact", factor=score / before, note="defines the name") if before else StageWhy("exact", amount=score)
        return Why(found.lanes, found.fused, (*found.stages, stage), found.scores)

    def rest() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        behind = range(len(head), len(ranking))
        return np.array([ranking.unit(i) for i in behind], np.int64), np.array([ranking.score(i) for i in behind], np.float64)

    more = Unordered(len(ranking) - len(head), rest) if len(ranking) > len(head) else None
    return Ranking(
        np.array([head[place] for place in order], np.int64), np.array(lifted, np.float64), why, more, ranking.expect_units
    )


def _defining(context: Context, mode: str) -> set[int]:
    """The units that define the name as it is written, where it belongs.

    A plain word may be a name or what the question is about: types and functions decide that, fields and variables do not,
    unless definitions are what was asked for.
    """
    plan = context.plan
    if plan.intent != SYMBOL:
        return set()
    every = mode == "symbol" or not reads_as_word(plan.text)
    return {
        match.unit
        for match in context.symbols
        if match.fits and match.exact and (every or match.definition.kind in _NAMING)
    }
