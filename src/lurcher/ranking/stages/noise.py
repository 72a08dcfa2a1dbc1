"""Tests, examples, old versions and barrels are multiplied down."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.evidence import noise
from lurcher.types import StageWhy


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    factors = noise.score(context)
    for unit in scores:
        file = int(context.snapshot.unit_file[unit])
        if factors[file] != 1.0:
            scores[unit] *= float(factors[file])
            log.setdefault(unit, []).extend(noise.why(context, file))
