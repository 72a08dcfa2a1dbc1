"""A query that is a name: its definitions come before all other units, also those in tests, under every ranking.

Definitions keep their order among themselves, and so do the other units. Scores of definitions are raised where necessary, so
that scores never increase down the list.
"""

from __future__ import annotations

from lurcher.query import SYMBOL, is_plain_word
from lurcher.ranking import Context, Ranking, UnorderedTail
from lurcher.runtime.kernel import np
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.types import StageWhy, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS


def put_definitions_first(context: Context, ranking: Ranking, mode: str) -> Ranking:
    """The ranking with the defining units first if the query is a name; `mode` is the query's, `auto` not yet resolved."""
    units = _find_defining_units(context, mode)
    if not units:
        return ranking
    head = ranking.head
    if not units.issubset(head):
        head = ranking.units  # some are in the part that is not sorted yet
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

    more = UnorderedTail(len(ranking) - len(head), rest) if len(ranking) > len(head) else None
    return Ranking(
        np.array([head[place] for place in order], np.int64), np.array(lifted, np.float64), why, more, ranking.prefetch_units
    )


def _find_defining_units(context: Context, mode: str) -> set[int]:
    """The units that define the name, spelled as in the query and in the right container.

    A plain word may be a name or the subject of a question: a type or function of that name decides for the name, a field or
    variable does so only in symbol mode.
    """
    plan = context.plan
    if plan.intent != SYMBOL:
        return set()
    every = mode == "symbol" or not is_plain_word(plan.text)
    return {
        match.unit
        for match in context.symbols
        if match.fits and match.exact and (every or match.definition.kind in _NAMING_KINDS)
    }
