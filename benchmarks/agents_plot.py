"""Draws what an agent has read when it sees the first labelled line, and 80 % of them: two plots, a curve for each side."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

from growth_plot import HEIGHT, LEFT, STYLE, TOP, WIDTH, spread

BESIDE, BELOW = 118, 64
TICKS = (20, 100, 500, 2000, 10_000, 50_000)
PANELS = (("first_tokens", "A first right line"), ("enough_tokens", "80 % of the right lines"))
NAMES = {"semble-whole": "semble, whole chunks"}
DRAWN = ("lurcher", "semble", "grep-rare", "grep-lines", "grep-files")
MORE_STYLE = """
.c4 { stroke: #b08800; } .f4 { fill: #8a6a00; }
@media (prefers-color-scheme: dark) { .c4 { stroke: #e3b341; } .f4 { fill: #e3b341; } }
"""


def drawn(result: dict[str, Any], name: str = "questions") -> str:
    """The picture as SVG, of one set of questions."""
    found = result["sets"][name]
    count = len(found["questions"])
    wide, high = 2 * (LEFT + WIDTH + BESIDE), HEIGHT + BELOW + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img">',
        "<title>Tokens that an agent reads until it sees the lines that answer its question</title>",
        f'<style>{STYLE}{MORE_STYLE}</style><rect width="{wide}" height="{high}"/>',
    ]
    for number, (column, title) in enumerate(PANELS):
        x = LEFT + number * (LEFT + WIDTH + BESIDE)
        parts.append(f'<g transform="translate({x} {TOP})">{"".join(_panel(title, column, found, count))}</g>')
    note = f"Share of {count} questions (upwards) that got there within so many tokens read (to the right)."
    parts.append(f'<text class="faint" x="{LEFT}" y="{high - 14}">{note}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, column: str, found: dict[str, Any], count: int) -> list[str]:
    low, high = log10(TICKS[0]), log10(TICKS[-1])

    def across(tokens: float) -> float:
        return round((log10(max(tokens, TICKS[0])) - low) / (high - low) * WIDTH, 1)

    def up(share: float) -> float:
        return round(HEIGHT - share * HEIGHT, 1)

    parts = [f'<text class="head" y="-14">{title}</text>']
    for percent in range(0, 101, 25):
        parts.append(f'<line class="grid" x2="{WIDTH}" y1="{up(percent / 100)}" y2="{up(percent / 100)}"/>')
        parts.append(f'<text class="faint" x="-8" y="{up(percent / 100) + 4}" text-anchor="end">{percent} %</text>')
    for tokens in TICKS:
        parts.append(f'<line class="grid" y2="{HEIGHT}" x1="{across(tokens)}" x2="{across(tokens)}"/>')
        parts.append(f'<text class="faint" x="{across(tokens)}" y="{HEIGHT + 18}" text-anchor="middle">{tokens:,}</text>')
    sides = [(number, side) for number, side in enumerate(DRAWN) if side in found["sides"]]
    ends = []
    for number, side in sides:
        reached = sorted(tokens for tokens in found["sides"][side][column] if tokens is not None)
        parts.append(f'<polyline class="line c{number}" points="{_steps(reached, count, across, up)}"/>')
        ends.append(up(len(reached) / count))
    for (number, side), height in zip(sides, spread(ends), strict=True):
        parts.append(f'<text class="f{number}" x="{WIDTH + 9}" y="{height + 4:.1f}">{NAMES.get(side, side)}</text>')
    return parts


def _steps(reached: Sequence[int], count: int, across: Any, up: Any) -> str:
    """The points of a curve that rises by one question at each, thinned to what can be seen."""
    points = [(0.0, up(sum(tokens <= TICKS[0] for tokens in reached) / count))]
    for number, tokens in enumerate(reached, 1):
        x, y = across(tokens), up(number / count)
        if x - points[-1][0] >= 1 or number == len(reached):
            points.append((x, y))
    points.append((float(WIDTH), points[-1][1]))
    return " ".join(f"{x},{y}" for x, y in points)


