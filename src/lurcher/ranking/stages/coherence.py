"""A file with several good units lifts its best one: + max · share · file sum / largest file sum."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.types import StageWhy


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    sums: dict[int, float] = {}
    best: dict[int, int] = {}
    file_of = context.snapshot.unit_file
    for unit, value in scores.items():
        file = int(file_of[unit])
        sums[file] = sums.get(file, 0.0) + value
        known = best.get(file)
        if known is None or (value, -unit) > (scores[known], -known):
            best[file] = unit
    if not sums:
        return
    top, largest = max(scores.values()), max(sums.values())
    for file, unit in best.items():
        amount = top * context.settings.classic.coherence * sums[file] / largest
        scores[unit] += amount
        log.setdefault(unit, []).append(StageWhy("coherence", amount=amount))
