"""A unit that defines a queried name is multiplied, more when its file is named like it. Definitions no lane found join in."""

from __future__ import annotations

from lurcher.query.intent import SYMBOL, split_qualified_name
from lurcher.ranking.context import Context
from lurcher.terms.split import compound, name_of
from lurcher.types import StageWhy

SAME_STEM = 1.5
"""Further factor when the file is named like the symbol. Hand-set; the pipeline that this stage follows gives no number."""


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    if not scores:
        return
    settings = context.settings.classic
    factor = settings.definition_symbol if context.plan.intent == SYMBOL else settings.definition_language
    lowest = min(scores.values())
    strongest = max((match.strength for match in context.symbols), default=0.0)
    done: set[int] = set()
    for match in context.symbols:
        if match.unit in done or not context.allowed[match.file] or match.strength < 0.5 * strongest:
            continue
        done.add(match.unit)
        same = compound(name_of(context.snapshot.path(match.file))) == compound(split_qualified_name(match.name)[-1])
        times = 1 + (factor - 1) * match.strength
        times *= SAME_STEM if same else 1.0
        scores[match.unit] = scores.get(match.unit, lowest) * times
        log.setdefault(match.unit, []).append(
            StageWhy("definition", factor=times, note=f"defines {match.definition.qualified}")
        )
