"""Units by their cosine alone: what `--mode dense` shows."""

from __future__ import annotations

from lurcher.lanes import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import Context, Ranking, collect_lane_whys
from lurcher.runtime.kernel import np
from lurcher.types import Why


def rank(context: Context) -> Ranking:
    lane = context.lanes.get("dense")
    cosines = lane.scan() if isinstance(lane, DenseCosines) else np.zeros(context.snapshot.unit_total)
    units = np.flatnonzero((cosines > 0) & context.allowed[context.snapshot.unit_file])
    units = units[order_units(context.snapshot, units, cosines[units])]

    def why(unit: int, score: float) -> Why:
        return Why(collect_lane_whys(context, unit), score, ())

    return Ranking(units, cosines[units], why)
