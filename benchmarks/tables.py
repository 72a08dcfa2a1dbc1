"""The tables and pictures of docs/performance.md, made from the newest results: no figure there is typed by hand.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import agents_plot
import compare_plot
import growth_plot
from about import HERE, RESULTS
from bars import checked, checked_growth
from exponents import fitted, flagged, steps

DOCS = HERE.parent / "docs"
Rows = list[list[str]]
MARK = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.S)
COLD = (("wall_s", "wall, s"), ("cpu_s", "CPU, s"), ("memory_tree_mb", "peak memory, MB"), ("index_mb", "index, MB"))
WARM = (("wall_ms", "wall, ms"), ("cpu_ms", "CPU, ms"), ("memory_largest_mb", "memory, MB"))
ASKED = (("p50_ms", "p50, ms"), ("p95_ms", "p95, ms"), ("p99_ms", "p99, ms"))
NAMES = {
    "lurcher_text": "lurcher, as text", "lurcher_unchecked": "lurcher, unchecked", "rg": "ripgrep", "git-grep": "git grep",
    "in_process": "lurcher in a process", "unchecked": "lurcher, unchecked", "command": "lurcher as a command",
}  # fmt: skip
GROWTH = (
    ("files", "files"), ("units", "units"), ("index_wall_s", "cold index, wall s"), ("index_cpu_s", "cold index, CPU s"),
    ("first_answer_s", "first answer from nothing, s"), ("index_memory_mb", "peak memory to index, MB"),
    ("kept_mb", "index, MB"), ("command_ms", "a command, p50 ms"), ("command_cpu_ms", "a command, CPU ms"),
    ("command_memory_mb", "a command, memory MB"),
    ("looking_p50_ms", "in a process, p50 ms"), ("looking_p99_ms", "the same, p99 ms"),
    ("query_p50_ms", "in a process, unchecked, p50 ms"), ("query_p99_ms", "the same, p99 ms"),
    ("changed_ms", "a command after one change, ms"), ("changed_cpu_ms", "the same, CPU ms"),
)  # fmt: skip


def main() -> int:
    page = DOCS / "performance.md"
    compare, growth = newest("compare"), newest("growth")
    page.write_text(filled(page.read_text("utf-8"), compare, growth), "utf-8")
    agents = newest("agents")
    page = DOCS / "agents.md"
    page.write_text(filled_agents(page.read_text("utf-8"), agents), "utf-8")
    for name, text in {**pictures(compare, growth), "agents.svg": agents_plot.drawn(agents)}.items():
        (DOCS / "images" / name).write_text(text, "utf-8")
    return 0


def newest(kind: str, folder: Path = RESULTS) -> dict[str, Any]:
    """The last result of a kind: by its date, then by its number on that day."""
    found = [
        (match[1], int(match[2] or 1), path)
        for path in folder.iterdir()
        if (match := re.fullmatch(rf"(\d{{4}}-\d\d-\d\d)-{kind}(?:-(\d+))?\.json", path.name))
    ]
    if not found:
        raise SystemExit(f"there is no result of {kind}: run benchmarks/{kind}.py first")
    path = max(found)[2]
    return {**json.loads(path.read_text("utf-8")), "file": path.name}


def filled(page: str, compare: dict[str, Any], growth: dict[str, Any]) -> str:
    """The page with the text between its marks replaced; an unknown mark is an error."""
    made: dict[str, Callable[[], str]] = {
        "compare-about": lambda: describe_run(compare), "growth-about": lambda: describe_run(growth),
        "cold": lambda: _trees(compare, "cold", COLD), "warm": lambda: _trees(compare, "warm", WARM),
        "in-process": lambda: _trees(compare, "in_process", ASKED), "stages": lambda: markdown(_stages(compare)),
        "literal": lambda: _literals(compare), "bars": lambda: markdown(_bars(compare, growth)),
        "floor": lambda: markdown(_floor(compare)),
        "change": lambda: markdown(_change(compare)),
        "growth": lambda: markdown(growth_rows(growth)), "exponents": lambda: markdown(exponent_rows(growth)),
    }  # fmt: skip
    return MARK.sub(lambda match: f"{match[1]}{made[match[2]]()}\n{match[3]}", page)


def pictures(compare: dict[str, Any], growth: dict[str, Any]) -> dict[str, str]:
    return {"compare.svg": compare_plot.drawn(compare), "growth.svg": growth_plot.drawn(growth["sizes"])}


def filled_agents(page: str, result: dict[str, Any]) -> str:
    """docs/agents.md with its table of what an agent reads."""
    return MARK.sub(lambda match: f"{match[1]}{markdown(agent_rows(result))}\n{match[3]}", page)


def agent_rows(result: dict[str, Any]) -> Rows:
    """Medians for each set and side; a question that was not reached counts as more than all others."""
    rows = [["", "first right line: tokens", "with the whole call", "calls", "never", "80 % of them: tokens", "calls", "never"]]
    for name, found in result["sets"].items():
        for side, figures in found["sides"].items():
            summary = figures["summary"]
            cells = [f"{name} ({summary['questions']}): {side}"]
            for part, told in (("first", ("tokens", "paid", "calls", "never")), ("enough", ("tokens", "calls", "never"))):
                never = 2 * summary[part]["never"] > summary["questions"]
                cells += ["–" if never and figure != "never" else f"{summary[part][figure]:,.0f}" for figure in told]
            rows.append(cells)
    return rows


# -- the comparison ---------------------------------------------------------------------------------------------------


def compare_tables(result: dict[str, Any]) -> list[tuple[str, Rows]]:
    """Every table of a comparison, for a terminal."""
    found: list[tuple[str, Rows]] = []
    for tree in result["trees"]:
        label = f"{label_of(tree)}, {tree['files']:,} files"
        for part, figures in (("cold", COLD), ("warm", WARM), ("in_process", ASKED)):
            found.append((f"{part.replace('_', ' ')}: {label}", _sides(tree[part], figures)))
        found.append((f"indexed: {label}", _indexed(tree)))
        if "literal" in tree:
            found.append((f"exact text, ms: {label}", _literal(tree["literal"])))
    if "change" in result:
        found.append(("one changed file", _change(result)))
    found.append(("bars", _bars(result, {"sizes": []})))
    if left := [[name, why] for name, why in _left_out(result)]:
        found.append(("left out", [["side", "why"], *left]))
    return found


def _sides(part: dict[str, Any], figures: Sequence[tuple[str, str]]) -> Rows:
    """A row for each side; in brackets how many times what lurcher takes."""
    rows = [["", *(title for _, title in figures)]]
    for side, found in part.items():
        cells = []
        for figure, _ in figures:
            value, ours = found[figure]["best"], part["lurcher"][figure]["best"]
            times = f" ({shown(value / ours)}×)" if not side.startswith("lurcher") and ours > 0 and value > 0 else ""
            cells.append((shown(value) if value > 0 else "–") + times)
        rows.append([NAMES.get(side, side), *cells])
    return rows


def _indexed(tree: dict[str, Any]) -> Rows:
    return [["", "files", "chunks"], *([side, f"{n['files']:,}", f"{n['chunks']:,}"] for side, n in tree["indexed"].items())]


def _trees(result: dict[str, Any], part: str, figures: Sequence[tuple[str, str]]) -> str:
    texts = []
    for tree in result["trees"]:
        rows = _sides(tree[part], figures)
        rows[0][0] = f"{label_of(tree)}, {tree['files']:,} files"
        texts.append(markdown(rows))
    return "\n\n".join(texts)


def _literals(result: dict[str, Any]) -> str:
    texts = []
    for tree in result["trees"]:
        if "literal" in tree:
            rows = _literal(tree["literal"])
            rows[0][0] = label_of(tree)
            texts.append(markdown(rows))
    return "\n\n".join(texts) or "Not measured: ripgrep was not there."


def _literal(part: dict[str, Any]) -> Rows:
    """The median over the words of each kind."""
    names = [name for name in next(iter(part["patterns"].values()))[0] if name not in ("pattern", "lines")]
    rows = [["", "lines", *(NAMES.get(name, name) for name in names)]]
    for kind, found in part["patterns"].items():
        if found:
            lines = [row["lines"] for row in found]
            span = f"{min(lines):,}" if min(lines) == max(lines) else f"{min(lines):,}–{max(lines):,}"
            rows.append([kind, span, *(shown(statistics.median(row[name] for row in found)) for name in names)])
    return rows


def _stages(result: dict[str, Any]) -> Rows:
    trees = result["trees"]
    names = list(dict.fromkeys(stage for tree in trees for stage in tree["stages_ms"]))
    names.sort(key=lambda stage: (stage == "total", -trees[-1]["stages_ms"].get(stage, 0.0)))
    rows = [["stage, ms", *map(label_of, trees)]]
    return [*rows, *([stage, *(f"{tree['stages_ms'].get(stage, 0.0):.2f}" for tree in trees)] for stage in names)]


def _floor(result: dict[str, Any]) -> Rows:
    """A cold start beside parsing alone, a warm command beside an interpreter that does nothing."""
    trees = result["trees"]
    cold, warm = [tree["cold"]["lurcher"] for tree in trees], [tree["warm"]["lurcher"] for tree in trees]
    floors = [tree["floor"] for tree in trees]
    return [
        ["", *map(label_of, trees)],
        ["cold start, CPU s", *(shown(found["cpu_s"]["best"]) for found in cold)],
        ["parsing alone, CPU s", *(shown(floor["parse_cpu_s"]) for floor in floors)],
        ["parsing, MB a second", *(shown(floor["parsed_bytes"] / 1e6 / floor["parse_cpu_s"]) for floor in floors)],
        ["warm command, wall ms", *(shown(found["wall_ms"]["best"]) for found in warm)],
        ["an interpreter that does nothing, wall ms", *(shown(floor["python_ms"]) for floor in floors)],
    ]


def _change(result: dict[str, Any]) -> Rows:
    if "change" not in result:
        return [["one changed file"], ["not measured"]]
    part = result["change"]
    titles = ["full build, s", "unchanged, ms", "after a change, ms", "share of a build", "changes found"]
    rows = [[f"{part['files']:,} files", *titles]]
    for side, found in part["sides"].items():
        share = f"{100 * found['share_of_build']['best']:.1f} %"
        best = [shown(found[name]["best"]) for name in ("build_s", "unchanged_ms", "changed_ms")]
        rows.append([side, *best, share, f"{part['changes_found'][side]} of {result['about']['runs']}"])
    return rows


def _bars(result: dict[str, Any], growth: dict[str, Any]) -> Rows:
    rows = [["bar", "tree", "goal", "measured", ""]]
    judged = [(label_of(tree), bar) for tree in result["trees"] for bar in checked(tree)]
    judged += [(label_of(bar), bar) for bar in checked_growth(growth["sizes"])]
    for label, bar in judged:
        goal = f"{'≥' if bar['at_least'] else '≤'} {bar['limit']:g}{bar['unit']}"
        verdict = "met" if bar["met"] else "**not met**"
        rows.append([bar["bar"], label, goal, f"{shown(bar['value'])}{bar['unit']}", verdict])
    return rows


def _left_out(result: dict[str, Any]) -> Iterable[tuple[str, str]]:
    yield from result["about"]["left_out"].items()
    for tree in result["trees"]:
        for name, why in (tree.get("notes", {}) | tree.get("left_out", {})).items():
            yield f"{name}, {label_of(tree)}", why


# -- growth -----------------------------------------------------------------------------------------------------------


def growth_rows(result: dict[str, Any]) -> Rows:
    sizes = [*result["sizes"], *result.get("also", [])]
    rows = [["", *(item.get("name") or label_of(item) for item in sizes)]]
    for figure, title in GROWTH:
        if any(figure in item for item in sizes):
            values = [item.get(figure) for item in sizes]
            rows.append([title, *("–" if value is None else shown(value) for value in values)])
    return rows


def exponent_rows(result: dict[str, Any]) -> Rows:
    """The fitted exponent of each figure and that of each step; a step worse than in proportion is marked."""
    sizes = result["sizes"]
    spans = [f"{label_of(before)} → {label_of(after)}" for before, after in pairwise(sizes)]
    rows = [["", "all sizes", *spans]]
    for figure, title in GROWTH:
        if all(figure in item for item in sizes):
            each = [f"**{value:.2f}**" if flagged(figure, value) else f"{value:.2f}" for value in steps(sizes, figure)]
            rows.append([title, f"{fitted(sizes, figure):.2f}", *each])
    return rows


# -- text -------------------------------------------------------------------------------------------------------------


def describe_run(result: dict[str, Any]) -> str:
    """Where and how a result was measured, in a few sentences."""
    about = result["about"]
    text = (
        f"`results/{result['file']}`: commit {about['commit']}, {about['kernel']} kernel, Python {about['python']}, "
        f"{about['processor']}, {about['cores']} cores, load {about['load_before']} before and "
        f"{about.get('load_after', '?')} after"
    )
    if "runs" in about:
        text += f", best of {about['runs']}"
    if sides := about.get("sides"):
        text += ". Versions: " + ", ".join(f"{NAMES.get(name, name)} {version}" for name, version in sides.items())
    text += "."
    if about["load_before"] > 1 or about.get("load_after", 0) > about["cores"] + 1:
        text += " **The machine was busy at that time** with other work, so wall times are too long."
    left = [f"{name} ({why})" for name, why in _left_out(result)] if "trees" in result else []
    return text + (f" Left out, wholly or in part: {'; '.join(left)}." if left else "")


def label_of(tree: dict[str, Any]) -> str:
    megabytes = tree["bytes"] / 1e6
    if megabytes >= 950:
        return f"{megabytes / 1000:.2g} GB"
    return f"{megabytes:.0f} MB" if megabytes >= 9.5 else f"{megabytes:.1f} MB"


def shown(value: float) -> str:
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def markdown(rows: Rows) -> str:
    head, *rest = rows
    lines = [head, ["---", *("---:" for _ in head[1:])], *rest]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def aligned(rows: Rows) -> str:
    rows = [[cell.replace("**", "") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([row[0].ljust(len(first)), *others]).rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
