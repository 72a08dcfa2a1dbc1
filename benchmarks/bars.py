"""The speed we promise ourselves, and which of it a result keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SMALL, LARGE = (10.0, 40.0), (80.0, 200.0)
"""Millions of bytes of a tree that is taken for one of 20, and for one of 120."""


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    sizes: tuple[tuple[float, float], ...]
    value: Callable[[dict[str, Any]], float]
    limit: float
    at_least: bool = True
    unit: str = "×"


def _ratio(part: str, figure: str, ours: str = "lurcher") -> Callable[[dict[str, Any]], float]:
    return lambda tree: float(tree[part]["semble"][figure]["best"] / tree[part][ours][figure]["best"])


def _own(part: str, side: str, figure: str) -> Callable[[dict[str, Any]], float]:
    return lambda tree: float(tree[part][side][figure]["best"])


def _at_most(name: str, sizes: tuple[float, float], value: Callable[[dict[str, Any]], float], limit: float) -> Bar:
    return Bar(name, (sizes,), value, limit, at_least=False, unit=" ms")


BARS = (
    Bar("cold start, CPU time, semble / lurcher", (SMALL, LARGE), _ratio("cold", "cpu_s"), 5),
    Bar("cold start, wall time, semble / lurcher", (SMALL, LARGE), _ratio("cold", "wall_s"), 6),
    Bar("cold start, peak memory, semble / lurcher", (SMALL, LARGE), _ratio("cold", "memory_tree_mb"), 4),
    _at_most("warm command", SMALL, _own("warm", "lurcher", "wall_ms"), 40),
    _at_most("warm command", LARGE, _own("warm", "lurcher", "wall_ms"), 70),
    Bar("warm command, semble / lurcher", (SMALL, LARGE), _ratio("warm", "wall_ms"), 25),
    Bar("warm command as text, semble / lurcher", (SMALL, LARGE), _ratio("warm", "wall_ms", "lurcher_text"), 18),
    _at_most("query in a process, p50, tree checked", SMALL, _own("in_process", "lurcher", "p50_ms"), 2),
    _at_most("query in a process, p50, tree checked", LARGE, _own("in_process", "lurcher", "p50_ms"), 8),
    _at_most("query in a process, p50, unchecked", SMALL, _own("in_process", "lurcher_unchecked", "p50_ms"), 2),
    _at_most("query in a process, p50, unchecked", LARGE, _own("in_process", "lurcher_unchecked", "p50_ms"), 8),
)  # fmt: skip
UNITS, UNITS_MS = 1_000_000, 40.0


def checked(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """The bars that a tree of this size has, with what was measured; one whose peer took no part is left out."""
    megabytes, found = tree["bytes"] / 1e6, []
    for bar in BARS:
        if any(least <= megabytes <= most for least, most in bar.sizes):
            try:
                value = bar.value(tree)
            except (KeyError, ZeroDivisionError):
                continue
            found.append(_judged(bar.name, value, bar.limit, at_least=bar.at_least, unit=bar.unit))
    return found


def checked_growth(sizes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bar of a million units, on the smallest sample that has them."""
    enough = sorted((item for item in sizes if item["units"] >= UNITS), key=lambda item: int(item["units"]))
    return [
        {
            **_judged(f"query in a process, p50, {how}, a million units", item[figure], UNITS_MS, at_least=False, unit=" ms"),
            "bytes": item["bytes"],
        }
        for item in enough[:1]
        for how, figure in (("tree checked", "looking_p50_ms"), ("unchecked", "query_p50_ms"))
    ]


def _judged(name: str, value: float, limit: float, *, at_least: bool, unit: str) -> dict[str, Any]:
    met = value >= limit if at_least else value <= limit
    return {"bar": name, "limit": limit, "at_least": at_least, "unit": unit, "value": round(value, 3), "met": met}
