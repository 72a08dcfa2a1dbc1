"""Every figure of docs/comparison.md is that of a result file, and peers' better figures are bold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
LITERAL = {"a rare word": "rare", "a common word": "common", "punctuation": "punctuation"}
MEASURES = {
    "from nothing to the first answer, s": ("cold", "wall_s"), "the same, CPU s": ("cold", "cpu_s"),
    "peak memory, MB": ("cold", "memory_tree_mb"), "index, MB": ("cold", "index_mb"),
    "a question as a command, ms": ("warm", "wall_ms"), "its memory, MB": ("warm", "memory_largest_mb"),
    "a question in an open process, p50 ms": ("in_process", "p50_ms"),
}  # fmt: skip
SIDES = {"SQLite FTS5": "sqlite-fts5", "ripgrep": "rg", "git grep": "git-grep"}

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")


def measured(tree: dict[str, Any], row: str, side: str) -> float | None:
    if row in MEASURES:
        part, measure = MEASURES[row]
        return tree[part][side][measure]["best"] if side in tree[part] else None
    patterns = tree["literal"]["patterns"][LITERAL[row.removesuffix(" as a command, ms")]]
    key = "command" if side == "lurcher" else side
    return median(pattern[key] for pattern in patterns) if key in patterns[0] else None


def table(head: str) -> list[list[str]]:
    lines = PAGE.read_text("utf-8").split(f"| {head} |")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]


@pytest.mark.parametrize(("head", "name"), [("20 MB", "semble-quiet-20"), ("126 MB", "semble-quiet-120")])
def test_times_are_those_of_the_results(head: str, name: str) -> None:
    tree = json.loads((ROOT / f"benchmarks/results/2026-11-18-{name}.json").read_text("utf-8"))["trees"][0]
    names, _, *rows = table(head)
    assert len(rows) >= 8
    for row, *cells in rows:
        known = [measured(tree, row, SIDES.get(side, side)) for side in names]
        assert known[0] is not None
        for side, cell, value in zip(names, cells, known, strict=True):
            shown = cell.strip("*").replace(",", "")
            if value is None:
                assert shown == "–", (row, side)
                continue
            decimals = len(shown.partition(".")[2])
            assert abs(float(shown) - value) <= 0.5001 * 10**-decimals, (row, side, value)
            assert cell.startswith("**") == (value < known[0]), (row, side)


def test_tokens_and_references_are_those_of_the_pages_that_are_generated_or_tested() -> None:
    page, agents = PAGE.read_text("utf-8"), (ROOT / "docs" / "agents.md").read_text("utf-8")
    for ours, theirs in {
        "lurcher": "lurcher", "semble": "semble", "grep for names and rare words, ten lines around": "grep-rare",
        "grep for all words, whole files": "grep-files",
    }.items():  # fmt: skip
        first, whole, _, never = re.findall(rf"questions \(208\): {theirs} \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|", agents)[0]
        row = next(line for line in page.split("until the first right line")[1].splitlines() if line.startswith(f"| {ours} |"))
        assert [cell.strip(" *") for cell in row.split("|")[2:5]] == [first.strip(), whole.strip(), never.strip()]
    for language, precision, recall in re.findall(
        r"(Python|TypeScript|Go) ([01]\.\d{3}) and ([01]\.\d{3})", (ROOT / "docs" / "references.md").read_text("utf-8")
    )[:3]:
        column = ["Python", "TypeScript", "Go"].index(language)
        for what, value in (("precision", precision), ("recall", recall)):
            row = next(line for line in page.splitlines() if line.startswith(f"| lurcher, {what} |"))
            assert row.split("|")[2 + column].strip() == value
