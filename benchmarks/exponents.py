"""How steeply a figure grows: slopes on logarithmic scales over the bytes of a tree; 1 is in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import Any

LIMIT = 1.05
"""A step above this is worse than in proportion, by more than runs differ."""
COUNTS = {"files", "units"}
"""What a sample has, not what it costs."""
LEAST = 1e-6


def steps(found: Sequence[dict[str, Any]], figure: str) -> list[float]:
    """The slope from each size to the next."""
    return [(_y(after, figure) - _y(before, figure)) / (_x(after) - _x(before)) for before, after in pairwise(found)]


def fitted(found: Sequence[dict[str, Any]], figure: str) -> float:
    """The slope of the straight line through all sizes, by least squares."""
    xs, ys = [_x(item) for item in found], [_y(item, figure) for item in found]
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def flagged(figure: str, slope: float) -> bool:
    return figure not in COUNTS and slope > LIMIT


def table(found: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each figure that every size has: the fit, the steps, and whether one is worse than in proportion."""
    ignored = {"bytes", "asked_mb", "commit", "seconds", "name"}
    if len(found) < 2:
        return {}
    figures = [name for name in found[0] if name not in ignored and all(name in item for item in found)]
    return {
        figure: {
            "all": round(fitted(found, figure), 3),
            "steps": [round(slope, 3) for slope in steps(found, figure)],
            "worse_than_linear": any(flagged(figure, slope) for slope in steps(found, figure)),
        }
        for figure in figures
    }


def _x(item: dict[str, Any]) -> float:
    return log(item["bytes"])


def _y(item: dict[str, Any], figure: str) -> float:
    return log(max(float(item[figure]), LEAST))
