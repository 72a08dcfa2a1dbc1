"""Draws how cost grows: four small plots with logarithmic scales, and a line in proportion to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import Any

WIDTH, HEIGHT, BESIDE, BELOW, LEFT, TOP = 290, 200, 150, 74, 62, 50
APART = 15
"""Between two labels, at least."""
PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Cold index, seconds", (("index_wall_s", "wall"), ("index_cpu_s", "processor"))),
    ("Memory, MB", (("index_memory_mb", "to index"), ("command_memory_mb", "to search"))),
    ("Kept on disk, MB", (("kept_mb", "index"),)),
    ("One query, milliseconds", (
        ("command_ms", "command"), ("changed_ms", "after a change"), ("looking_p50_ms", "in a process"),
        ("query_p50_ms", "unchecked"),
    )),
)  # fmt: skip
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; } .head { font-weight: 600; } .faint { fill: #6b7280; }
.grid { stroke: #d0d7de; } .even { stroke: #9aa4af; stroke-dasharray: 4 4; } .line { fill: none; stroke-width: 2; }
.c0 { stroke: #0b6e99; } .c1 { stroke: #c4561b; } .c2 { stroke: #5b8c2a; } .c3 { stroke: #8250a8; }
.f0 { fill: #0b6e99; } .f1 { fill: #b34a12; } .f2 { fill: #4a7722; } .f3 { fill: #8250a8; }
rect { fill: #fff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .faint { fill: #9aa4af; } .grid { stroke: #30363d; } rect { fill: #0d1117; }
  .c0 { stroke: #58b5dd; } .c1 { stroke: #ef8f5a; } .c2 { stroke: #9ccc65; } .c3 { stroke: #c79bec; }
  .f0 { fill: #58b5dd; } .f1 { fill: #ef8f5a; } .f2 { fill: #9ccc65; } .f3 { fill: #c79bec; }
}
"""


def megabytes(power: int) -> str:
    return f"{_told(power - 6)} MB" if power < 9 else f"{_told(power - 9)} GB"


def drawn(
    found: Sequence[dict[str, Any]], panels: Sequence[tuple[str, Sequence[tuple[str, str]]]] = PANELS,
    title: str = "How time, memory and disk grow with the size of the tree", size: str = "bytes",
    foot: str = "Dashed: in proportion to the size of the tree.", named: Callable[[int], str] = megabytes,
) -> str:  # fmt: skip
    """The picture as SVG; `size` is what is drawn to the right, and `named` the label of a power of ten of it."""
    wide, high = 2 * (LEFT + WIDTH + BESIDE), ceil(len(panels) / 2) * (HEIGHT + BELOW) + TOP + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img">',
        f"<title>{title}</title>",
        f'<style>{STYLE}</style><rect width="{wide}" height="{high}"/>',
    ]
    for number, (head, figures) in enumerate(panels):
        x, y = LEFT + number % 2 * (LEFT + WIDTH + BESIDE), TOP + number // 2 * (HEIGHT + BELOW)
        parts.append(f'<g transform="translate({x} {y})">{"".join(_panel(head, figures, found, size, named))}</g>')
    parts.append(f'<text class="faint" x="{LEFT}" y="{high - 12}">{foot}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    title: str, figures: Sequence[tuple[str, str]], found: Sequence[dict[str, Any]], size: str, named: Callable[[int], str]
) -> list[str]:
    found = [item for item in found if all(name in item for name, _ in figures)]
    sizes = [log10(item[size]) for item in found]
    values = [_power(item[name]) for item in found for name, _ in figures]
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
        parts.append(f'<text class="faint" x="{across(power)}" y="{HEIGHT + 18}" text-anchor="middle">{named(power)}</text>')
    # A line in proportion, through the last point of the first figure, as far as it stays inside.
    end = _power(found[-1][figures[0][0]])
    start = max(sizes[0], sizes[-1] - (end - low))
    begin, stop = (across(start), up(end - (sizes[-1] - start))), (across(sizes[-1]), up(end))
    parts.append(f'<line class="even" x1="{begin[0]}" y1="{begin[1]}" x2="{stop[0]}" y2="{stop[1]}"/>')
    for place, (name, _) in enumerate(figures):
        spots = [(across(size), up(_power(item[name]))) for size, item in zip(sizes, found, strict=True)]
        parts.append(f'<polyline class="line c{place}" points="{" ".join(f"{x},{y}" for x, y in spots)}"/>')
        parts += [f'<circle class="f{place}" cx="{x}" cy="{y}" r="3.5"/>' for x, y in spots]
    heights = spread([up(_power(found[-1][name])) for name, _ in figures])
    for place, ((name, label), height) in enumerate(zip(figures, heights, strict=True)):
        text = f"{label} {_shown(found[-1][name])}"
        parts.append(f'<text class="f{place}" x="{across(sizes[-1]) + 9}" y="{height + 4:.1f}">{text}</text>')
    return parts


def spread(heights: Sequence[float]) -> list[float]:
    """Heights of labels, moved as little downwards as keeps them apart, and upwards again where the panel ends."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    moved = [heights[place] for place in order]
    for place in range(1, len(moved)):
        moved[place] = max(moved[place], moved[place - 1] + APART)
    for place in range(len(moved) - 1, -1, -1):
        ceiling = HEIGHT if place == len(moved) - 1 else moved[place + 1] - APART
        moved[place] = min(moved[place], ceiling)
    return [height for _, height in sorted(zip(order, moved, strict=True))]


def _power(value: float) -> float:
    return log10(max(value, 1e-3))


def _told(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10**power:.{-power}f}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
