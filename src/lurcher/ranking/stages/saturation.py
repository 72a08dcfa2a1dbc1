"""Each unit of a file after its first is multiplied by another factor: 0.5 by default, then 0.25, and so on."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.types import StageWhy


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    seen: dict[int, int] = {}
    for unit in sorted(scores, key=lambda unit: (-scores[unit], unit)):
        file = int(context.snapshot.unit_file[unit])
        before = seen.get(file, 0)
        seen[file] = before + 1
        if before:
            factor = context.settings.classic.saturation**before
            scores[unit] *= factor
            log.setdefault(unit, []).append(StageWhy("saturation", factor=factor))
