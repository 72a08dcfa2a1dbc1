"""Draws how cost grows: four small plots with logarithmic scales, and a line in proportion to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

WIDTH, HEIGHT, GAP, LEFT, TOP = 300, 200, 105, 70, 50
PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Cold index, seconds", (("index_wall_s", "wall"), ("index_cpu_s", "processor"))),
    ("Memory, MB", (("index_memory_mb", "to index"), ("command_memory_mb", "to search"))),
    ("Kept on disk, MB", (("kept_mb", "index"),)),
    ("One query, milliseconds", (
        ("command_ms", "as a command"), ("looking_p50_ms", "in a process, with a look"), ("query_p50_ms", "without"),
    )),
)  # fmt: skip
COLOURS = ("#0b6e99", "#c4561b", "#5b8c2a")
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; } .head { font-weight: 600; } .faint { fill: #6b7280; }
.grid { stroke: #d0d7de; } .even { stroke: #9aa4af; stroke-dasharray: 4 4; } .line { fill: none; stroke-width: 2; }
rect { fill: #fff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .faint { fill: #9aa4af; } .grid { stroke: #30363d; } rect { fill: #0d1117; }
}
"""


def drawn(found: Sequence[dict[str, Any]]) -> str:
    """The picture as SVG."""
    wide, high = 2 * (LEFT + WIDTH) + GAP, 2 * (HEIGHT + GAP) + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
        "<title>How time, memory and disk grow with the size of the tree</title>",
        f'<style>{STYLE}</style><rect width="{wide}" height="{high}"/>',
    ]
    for number, (title, figures) in enumerate(PANELS):
        x, y = LEFT + number % 2 * (WIDTH + GAP), TOP + number // 2 * (HEIGHT + GAP)
        parts.append(f'<g transform="translate({x} {y})">{"".join(_panel(title, figures, found))}</g>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, figures: Sequence[tuple[str, str]], found: Sequence[dict[str, Any]]) -> list[str]:
    sizes = [log10(item["bytes"] / 1e6) for item in found]
    values = [log10(max(item[name], 1e-3)) for item in found for name, _ in figures]
    left, right = floor(min(sizes) + 0.1), max(ceil(max(sizes) - 0.1), floor(min(sizes) + 0.1) + 1)
    low, high = floor(min(values)), max(ceil(max(values)), floor(min(values)) + 1)

    def across(size: float) -> float:
        return round((size - left) / (right - left) * WIDTH, 1)

    def up(value: float) -> float:
        return round(HEIGHT - (value - low) / (high - low) * HEIGHT, 1)

    parts = [f'<text class="head" y="-14">{title}</text>']
    for power in range(low, high + 1):
        parts.append(f'<line class="grid" x2="{WIDTH}" y1="{up(power)}" y2="{up(power)}"/>')
        parts.append(f'<text class="faint" x="-8" y="{up(power) + 4}" text-anchor="end">{_told(power)}</text>')
    for power in range(left, right + 1):
        parts.append(f'<line class="grid" y2="{HEIGHT}" x1="{across(power)}" x2="{across(power)}"/>')
        unit = f"{_told(power)} MB" if power < 3 else f"{_told(power - 3)} GB"
        parts.append(f'<text class="faint" x="{across(power)}" y="{HEIGHT + 18}" text-anchor="middle">{unit}</text>')
    # A line in proportion, through the last point of the first figure, as far as it stays inside.
    end = log10(max(found[-1][figures[0][0]], 1e-3))
    start = max(sizes[0], sizes[-1] - (end - low))
    begin, stop = (across(start), up(end - (sizes[-1] - start))), (across(sizes[-1]), up(end))
    parts.append(f'<line class="even" x1="{begin[0]}" y1="{begin[1]}" x2="{stop[0]}" y2="{stop[1]}"/>')
    for place, (name, label) in enumerate(figures):
        colour = COLOURS[place]
        spots = [(across(size), up(log10(max(item[name], 1e-3)))) for size, item in zip(sizes, found, strict=True)]
        parts.append(f'<polyline class="line" stroke="{colour}" points="{" ".join(f"{x},{y}" for x, y in spots)}"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in spots]
        parts.append(f'<circle cx="{4}" cy="{HEIGHT + 36 + 14 * place}" r="3.5" fill="{colour}"/>')
        parts.append(f'<text x="14" y="{HEIGHT + 40 + 14 * place}">{label}: {_slope(found, name)}</text>')
    return parts


def _slope(found: Sequence[dict[str, Any]], name: str) -> str:
    """What a figure is at the end, and the slope of the last step."""
    last = f"{_shown(found[-1][name])} at the end"
    if len(found) < 2:
        return last
    span = log10(found[-1]["bytes"] / found[-2]["bytes"])
    return f"{last}, exponent {log10(max(found[-1][name], 1e-3) / max(found[-2][name], 1e-3)) / span:.2f}"


def _told(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10**power:.{-power}f}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
