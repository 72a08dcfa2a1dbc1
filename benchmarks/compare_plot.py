"""Draws a comparison: a row for each side on a logarithmic scale, a panel for each figure, a column for each tree."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10
from typing import Any

from growth_plot import STYLE

NAME, WIDTH, VALUE, ROW, HEAD, GAP, TOP = 100, 250, 60, 20, 26, 38, 44
PANELS = (
    ("cold", "wall_s", "Cold: index and first answer, seconds"),
    ("cold", "cpu_s", "The same, processor seconds"),
    ("cold", "memory_tree_mb", "The same, peak memory in MB"),
    ("warm", "wall_ms", "Warm: a question as a command, ms"),
    ("in_process", "p50_ms", "A question in an open process, p50 ms"),
)
NAMES = {"lurcher_unchecked": "unchecked"}
OWN = """
.own { stroke: #0b6e99; fill: #0b6e99; } .peer { stroke: #8b95a1; fill: #8b95a1; }
.stem { stroke-width: 2; stroke-opacity: 0.45; }
.mine { font-weight: 600; } .value { paint-order: stroke; stroke: #fff; stroke-width: 4; }
@media (prefers-color-scheme: dark) {
  .own { stroke: #58b5dd; fill: #58b5dd; } .peer { stroke: #7d8790; fill: #7d8790; } .value { stroke: #0d1117; }
}
"""


def drawn(result: dict[str, Any]) -> str:
    """The picture as SVG."""
    trees = result["trees"]
    rows = [max(len(_values(tree, part, figure)) for tree in trees) for part, figure, _ in PANELS]
    column = NAME + WIDTH + VALUE + GAP
    wide, high = 16 + len(trees) * column, TOP + sum(HEAD + ROW * count + GAP for count in rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img">',
        "<title>Time and memory of lurcher and of other programs on the same trees; shorter is better</title>",
        f'<style>{STYLE}{OWN}</style><rect width="{wide}" height="{high}"/>',
    ]
    for place, tree in enumerate(trees):
        left, y = 16 + place * column, TOP
        heading = f"A tree of {tree['bytes'] / 1e6:.0f} MB, {tree['files']:,} files"
        parts.append(f'<text class="head" x="{left}" y="24">{heading}</text>')
        for (part, figure, title), count in zip(PANELS, rows, strict=True):
            ends = _ends([value for each in trees for value in _values(each, part, figure).values()])
            inner = _panel(title, _values(tree, part, figure), ends)
            parts.append(f'<g transform="translate({left} {y})">{"".join(inner)}</g>')
            y += HEAD + ROW * count + GAP
    return "\n".join([*parts, "</svg>\n"])


def _values(tree: dict[str, Any], part: str, figure: str) -> dict[str, float]:
    return {side: found[figure]["best"] for side, found in tree[part].items() if found[figure]["best"] > 0}


def _ends(values: list[float]) -> tuple[int, int]:
    """The powers of ten around all values; the same in every column, so that trees can be compared."""
    low = floor(log10(min(values)) - 0.15)
    return low, max(low + 1, ceil(log10(max(values))))


def _panel(title: str, values: dict[str, float], ends: tuple[int, int]) -> list[str]:
    low, high = ends
    bottom = HEAD + ROW * len(values)
    parts = [f'<text x="0" y="12">{escape(title)}</text>']
    for power in range(low, high + 1):
        x = round(NAME + (power - low) / (high - low) * WIDTH, 1)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{HEAD - 4}" y2="{bottom}"/>')
        parts.append(f'<text class="faint" x="{x}" y="{bottom + 14}" text-anchor="middle">{10.0**power:,g}</text>')
    for place, (side, value) in enumerate(values.items()):
        y = HEAD + ROW * place + 8
        x = round(NAME + (log10(value) - low) / (high - low) * WIDTH, 1)
        kind = "own" if side.startswith("lurcher") else "peer"
        weight = " mine" if side == "lurcher" else ""
        label = escape(NAMES.get(side, side))
        told = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
        parts.append(f'<text class="{weight}" x="{NAME - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
        parts.append(f'<line class="{kind} stem" x1="{NAME}" x2="{x}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="4.5"/>')
        parts.append(f'<text class="value{weight}" x="{x + 9}" y="{y + 4}">{told}</text>')
    return parts
