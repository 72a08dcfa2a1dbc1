"""Growth: exponents worked out by hand, samples that are always the same, runs that go on where they were stopped."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

exponents = pytest.importorskip("exponents")
growth = pytest.importorskip("growth")
growth_plot = pytest.importorskip("growth_plot")


def sizes(*figures: float) -> list[dict[str, Any]]:
    return [{"bytes": 10**power, "index_cpu_s": value} for power, value in enumerate(figures, 6)]


def test_exponents_of_known_curves() -> None:
    assert exponents.steps(sizes(1, 10, 1000), "index_cpu_s") == pytest.approx([1, 2])
    assert exponents.fitted(sizes(1, 10, 100), "index_cpu_s") == pytest.approx(1)
    # By hand: the slope of (0, 0), (1, 1), (2, 3) is (3 - 0) / 2.
    assert exponents.fitted(sizes(1, 10, 1000), "index_cpu_s") == pytest.approx(1.5)
    assert exponents.fitted(sizes(5, 5, 5), "index_cpu_s") == pytest.approx(0)


@given(st.floats(0.1, 1.9), st.floats(1e-3, 1e3))
def test_a_power_law_gives_its_exponent_in_the_fit_and_in_every_step(power: float, factor: float) -> None:
    found = [{"bytes": size, "kept_mb": factor * size**power} for size in (10**6, 3 * 10**6, 10**8)]
    assert exponents.fitted(found, "kept_mb") == pytest.approx(power, abs=1e-6)
    assert exponents.steps(found, "kept_mb") == pytest.approx([power, power], abs=1e-6)


def test_one_step_worse_than_in_proportion_is_enough() -> None:
    assert exponents.table(sizes(1, 10, 113))["index_cpu_s"]["worse_than_linear"]
    assert not exponents.table(sizes(1, 10, 112))["index_cpu_s"]["worse_than_linear"]
    assert exponents.table(sizes(1)) == {}


def test_counts_of_what_is_there_are_no_cost() -> None:
    assert not exponents.flagged("files", 1.3)


def some_tree(folder: Path) -> Path:
    for number in range(40):
        path = folder / f"part{number % 4}" / f"file{number}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"int value{number};\n" * 50, "utf-8")
    return folder


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The files of each sample that was measured, in place of measuring."""
    seen: list[set[str]] = []

    def pretend(base: Path, queries: Path, runs: int) -> dict[str, Any]:
        seen.append({str(path.relative_to(base / "tree")) for path in (base / "tree").rglob("*.c")})
        figures = {name: 1.0 * len(seen) for _, panel in growth_plot.PANELS for name, _ in panel}
        return {"commit": growth.commit(), "bytes": 1000 * len(seen), "files": 1, "units": 2, "seconds": 60.0, **figures}

    monkeypatch.setattr(growth, "_measured", pretend)
    return seen


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, measured: list[set[str]]) -> None:
    tree, out = some_tree(tmp_path / "tree"), tmp_path / "growth.json"
    assert growth.main([str(tree), "--sizes", "0.005", "--out", str(out)]) == 0
    assert growth.main([str(tree), "--sizes", "0.005", "0.02", "--out", str(out), "--plot", str(tmp_path / "g.svg")]) == 0
    assert len(measured) == 2
    result = json.loads(out.read_text("utf-8"))
    assert [item["asked_mb"] for item in result["sizes"]] == [0.005, 0.02]
    assert result["exponents"]["index_wall_s"]["steps"] == [1.0]
    assert measured[0] < measured[1], "a small sample is part of a larger one"
    ET.fromstring((tmp_path / "g.svg").read_text("utf-8"))


def test_what_another_commit_measured_is_measured_again(tmp_path: Path, measured: list[set[str]]) -> None:
    tree, out = some_tree(tmp_path / "tree"), tmp_path / "growth.json"
    growth.main([str(tree), "--sizes", "0.005", "--out", str(out)])
    kept = json.loads(out.read_text("utf-8"))
    kept["sizes"][0]["commit"] = "another"
    out.write_text(json.dumps(kept), "utf-8")
    growth.main([str(tree), "--sizes", "0.005", "--out", str(out)])
    assert len(measured) == 2 and measured[0] == measured[1]


def test_several_trees_are_sampled_side_by_side(tmp_path: Path, measured: list[set[str]]) -> None:
    trees = [str(some_tree(tmp_path / name)) for name in ("one", "two")]
    growth.main([*trees, "--sizes", "0.02", "--out", str(tmp_path / "growth.json")])
    assert {path.split("/")[0] for path in measured[0]} == {"one", "two"}


def test_a_size_that_would_take_too_long_is_not_begun(tmp_path: Path, measured: list[set[str]]) -> None:
    tree, out = some_tree(tmp_path / "tree"), tmp_path / "growth.json"
    growth.main([str(tree), "--sizes", "0.001", "0.02", "--out", str(out), "--minutes", "5"])
    assert len(measured) == 1


@given(st.lists(st.floats(0, growth_plot.HEIGHT), min_size=1, max_size=4))
def test_labels_never_lie_on_each_other(heights: list[float]) -> None:
    found = growth_plot.spread(heights)
    ordered = sorted(found)
    assert all(after - before >= growth_plot.APART - 1e-6 for before, after in pairwise(ordered))
    assert ordered[-1] <= growth_plot.HEIGHT
    pairs = sorted(zip(heights, found, strict=True))
    assert [second for _, second in pairs] == sorted(second for _, second in pairs), "in the order of their lines"
