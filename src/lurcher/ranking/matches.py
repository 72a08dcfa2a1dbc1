"""Orders the units that match a pattern of text or of syntax: definitions first, then by the role of the file, then by path."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from lurcher.lanes import order_units
from lurcher.lanes.literal import MAX_COUNTED, LiteralMatches
from lurcher.lanes.structural import StructuralMatches
from lurcher.query.text_pattern import TextPattern
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.ranking.evidence import explain_noise, unit_factors
from lurcher.runtime.kernel import np
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    from numpy.typing import NDArray


_WORD = re.compile(r"\w+")
WHOLE, PART, _TEXT_USE = 1.0, 0.8, 0.5
_MIN_DEFINITION_FACTOR = 0.85
"""The least factor that noise leaves to a definition of the very name, in whatever file."""
_MAX_NAME_OFFSET = 160
"""How many bytes after the start of its definition a name may begin."""
_MAX_DEFINITIONS = 5000
"""Definitions whose names are compared with the pattern."""


def rank_text_matches(context: Context) -> Ranking:
    found = context.lanes.get("literal")
    if not isinstance(found, LiteralMatches) or not len(found.units):
        empty = np.zeros(0)
        return Ranking(empty.astype(np.int64), empty, lambda unit, score: Why())
    snapshot = context.snapshot
    base = np.full(len(found.units), _TEXT_USE)
    defining = _find_definitions(context, found)
    for place, strength in defining.items():
        base[place] = strength
    factors = unit_factors(context, found.units)
    factors = np.where(base == WHOLE, _MIN_DEFINITION_FACTOR + (1 - _MIN_DEFINITION_FACTOR) * factors, factors)
    # Among equals, the unit with more matches.
    scores = base * factors * (0.98 + 0.001 * np.minimum(found.counts, MAX_COUNTED))
    order = order_units(snapshot, found.units, scores)
    names = {int(found.units[place]): strength for place, strength in defining.items()}

    def why(unit: int, score: float) -> Why:
        strength = names.get(unit)
        note = "" if strength is None else "defines it" if strength == WHOLE else "defines something with it"
        stages = [StageWhy("definition", factor=strength / _TEXT_USE, note=note)] if strength is not None else []
        less = explain_noise(context, unit)
        if strength == WHOLE and less:
            factor = prod(stage.factor for stage in less if stage.factor is not None)
            factor = _MIN_DEFINITION_FACTOR + (1 - _MIN_DEFINITION_FACTOR) * factor
            less = [StageWhy("noise", factor=factor, note=", ".join(stage.note for stage in less))]
        return Why(collect_lane_whys(context, unit), score, (*stages, *less))

    return Ranking(found.units[order], scores[order], why)


def _find_definitions(context: Context, found: LiteralMatches) -> dict[int, float]:
    """Positions in `found` of units that define a name the pattern matches, and how well the name fits."""
    snapshot = context.snapshot
    wanted: NDArray[np.int64] = np.full(snapshot.unit_total, -1, np.int64)
    wanted[found.units] = np.arange(len(found.units))
    numbers = np.flatnonzero(wanted[snapshot.definition_unit] >= 0)
    if len(numbers) > _MAX_DEFINITIONS:
        # Too many to compare: those near a unit's first match are the likeliest.
        distance = found.first[wanted[snapshot.definition_unit[numbers]]] - snapshot.definition_start[numbers].astype(np.int64)
        numbers = numbers[(distance >= 0) & (distance < _MAX_NAME_OFFSET)][:_MAX_DEFINITIONS]
    first = found.first[wanted[snapshot.definition_unit[numbers]]] - snapshot.definition_start[numbers].astype(np.int64)
    words = set(_WORD.findall(" ".join(found.pattern.syntax.runs).lower()))
    strengths: dict[int, float] = {}
    for number, name, behind in zip(numbers.tolist(), snapshot.definition_names(numbers), first.tolist(), strict=True):
        strength = _score_definition(found.pattern, name, behind, words)
        if strength is not None:
            place = int(wanted[snapshot.definition_unit[number]])
            strengths[place] = max(strengths.get(place, 0.0), strength)
    return strengths


def _score_definition(pattern: TextPattern, name: str, behind: int, words: set[str]) -> float | None:
    """How well a definition fits a pattern whose first match begins `behind` bytes after the start of the definition."""
    whole = name.encode("utf-8", "replace")
    match = pattern.first(whole, 0)
    if match is not None and match[1] > match[0]:
        return WHOLE if match == (0, len(whole)) else PART
    if not 0 <= behind < _MAX_NAME_OFFSET:
        return None
    # The pattern has more to it than the name, such as `def name(`.
    return WHOLE if name.lower() in words else PART if behind == 0 else None


_SYNTAX_USE = 0.5
"""Score of a match that is no definition."""


def rank_syntax_matches(context: Context) -> Ranking:
    lane = context.lanes.get("structural")
    found = lane.units if isinstance(lane, StructuralMatches) else {}
    units = np.fromiter(found, np.int64, len(found))
    values = np.fromiter((1.0 if here.defines else _SYNTAX_USE for here in found.values()), np.float64, len(found))
    values *= unit_factors(context, units)
    order = order_units(context.snapshot, units, values)

    def why(unit: int, score: float) -> Why:
        use = StageWhy("definition", factor=_SYNTAX_USE, note="no match in it is a definition")
        stages = [] if found[unit].defines else [use]
        stages += explain_noise(context, unit)
        return Why(collect_lane_whys(context, unit), 1.0, tuple(stages))

    return Ranking(units[order], values[order], why)
