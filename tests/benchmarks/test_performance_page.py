"""docs/performance.md says what the newest results say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

tables = pytest.importorskip("tables")


def test_the_page_is_what_the_newest_results_give() -> None:
    page = (tables.DOCS / "performance.md").read_text("utf-8")
    found = tables.filled(page, tables.newest("compare"), tables.newest("growth"))
    assert page == found, "run: python benchmarks/tables.py"


def test_the_pictures_are_those_of_the_newest_results() -> None:
    for name, text in tables.pictures(tables.newest("compare"), tables.newest("growth")).items():
        assert (tables.DOCS / "images" / name).read_text("utf-8") == text, "run: python benchmarks/tables.py"


def test_what_agents_read_is_what_the_newest_result_gives() -> None:
    result = tables.newest("agents")
    page = (tables.DOCS / "agents.md").read_text("utf-8")
    assert page == tables.filled_agents(page, result), "run: python benchmarks/tables.py"
    drawn = tables.agents_plot.drawn(result)
    assert (tables.DOCS / "images" / "agents.svg").read_text("utf-8") == drawn, "run: python benchmarks/tables.py"


def test_every_figure_is_in_a_table() -> None:
    """Prose has no milliseconds, seconds or ratios of its own that nobody would renew."""
    page = tables.MARK.sub("", (tables.DOCS / "performance.md").read_text("utf-8"))
    page = re.sub(r"```.*?```", "", page, flags=re.S)
    assert re.findall(r"\d[\d.,]* ?(?:ms|s|seconds|milliseconds|×)\b", page) == []


def test_results_name_no_machine_path() -> None:
    for kind in ("compare", "growth", "agents"):
        assert not re.search(r"/(?:tmp|home|root|work|usr|opt)/", json.dumps(tables.newest(kind)))


def test_the_newest_result_is_that_of_the_last_day_and_run(tmp_path: Path) -> None:
    for name in ("2026-01-02-speed.json", "2026-01-02-speed-2.json", "2026-01-02-speed-10.json", "2026-01-01-speed-99.json"):
        (tmp_path / name).write_text("{}", "utf-8")
    (tmp_path / "2026-02-02-notes-speed.json").write_text("{}", "utf-8")
    assert tables.newest("speed", tmp_path)["file"] == "2026-01-02-speed-10.json"
    with pytest.raises(SystemExit, match="growth"):
        tables.newest("growth", tmp_path)


def test_a_busy_machine_is_admitted() -> None:
    about = {
        "commit": "c",
        "kernel": "native",
        "python": "3",
        "processor": "p",
        "cores": 2,
        "load_before": 0.1,
        "load_after": 2.4,
    }
    assert "other work" not in tables.describe_run({"about": about, "file": "f"})
    assert "other work" in tables.describe_run({"about": {**about, "load_after": 3.5}, "file": "f"})
    assert "other work" in tables.describe_run({"about": {**about, "load_before": 1.4}, "file": "f"})


def test_an_unknown_mark_is_an_error() -> None:
    with pytest.raises(KeyError):
        tables.filled("<!-- table: nonsense -->\n<!-- end -->", {}, {})
