"""Units that match a syntax pattern: definitions before uses, tests and other noise last, then by path and line."""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.lanes import order_units
from lurcher.lanes.structural import StructuralMatches
from lurcher.query.plan import Plan
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.ranking.evidence import explain_noise, noise_factors
from lurcher.runtime.kernel import np
from lurcher.types import StageWhy, Why

USE = 0.5
"""Score of a match that is no definition."""


def lanes(plan: Plan, settings: Settings) -> tuple[str, ...]:
    return ("structural",)


def rank(context: Context) -> Ranking:
    lane = context.lanes.get("structural")
    found = lane.units if isinstance(lane, StructuralMatches) else {}
    units = np.fromiter(found, np.int64, len(found))
    values = np.fromiter((1.0 if here.defines else USE for here in found.values()), np.float64, len(found))
    values *= noise_factors(context)[context.snapshot.unit_file[units]]
    order = order_units(context.snapshot, units, values)

    def why(unit: int, score: float) -> Why:
        stages = [] if found[unit].defines else [StageWhy("definition", factor=USE, note="no match in it is a definition")]
        stages += explain_noise(context, int(context.snapshot.unit_file[unit]))
        return Why(collect_lane_whys(context, unit), 1.0, tuple(stages))

    return Ranking(units[order], values[order], why)
