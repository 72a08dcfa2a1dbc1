"""Files in the import neighbourhood of the best ones are lifted: + max · weight · nearness, decaying with each hop."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.neighbours import SOURCES, near, told
from lurcher.types import StageWhy

WEIGHT = 0.05
"""The pipeline that this stage follows gives no number. Code set 0.8555 with it, 0.8543 without."""


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    if not scores:
        return
    snapshot = context.snapshot
    best: dict[int, int] = {}
    for unit, value in scores.items():
        file = int(snapshot.unit_file[unit])
        known = best.get(file)
        if known is None or (value, -unit) > (scores[known], -known):
            best[file] = unit
    top = max(scores.values())
    order = sorted(best, key=lambda file: (-scores[best[file]], int(snapshot.path_rank[file])))
    sources = {file: scores[best[file]] / top for file in order[:SOURCES]}
    for file, item in near(snapshot, sources).items():
        found = best.get(file)
        if found is not None:
            amount = top * WEIGHT * item.share
            scores[found] += amount
            log.setdefault(found, []).append(StageWhy("proximity", amount=amount, note=told(snapshot, item)))
