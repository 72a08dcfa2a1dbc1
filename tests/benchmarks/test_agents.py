"""How benchmarks/agents.py reads: which lines a text shows, and what has been read when the labelled ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

agents = pytest.importorskip("agents")
BODY = [f"line {number}" for number in range(1, 31)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("\n".join(BODY) + "\n")
    (tmp_path / "b.py").write_text("x:3-4 y\nother\n")
    return tmp_path


def shown(tree: Path, text: str) -> list[tuple[str, int]]:
    pieces = list(agents.lines_shown(tree, text))
    assert "".join(piece for piece, _, _ in pieces) == f"{text}\n"  # nothing of what was sent is free
    return [(path, line) for _, path, line in pieces if path is not None]


def test_lines_below_a_heading_count_if_they_are_the_file_s(tree: Path) -> None:
    first = "note: old\n\na.py:3-4 f\nclass C …\nline 3\nline 4\n:9-10 g\nline 9\nline 10\n"
    text = f"{first}\nb.py:1-2\nx:3-4 y\nother\n3 of 9; more: cursor=x"
    assert shown(tree, text) == [("a.py", 3), ("a.py", 4), ("a.py", 9), ("a.py", 10), ("b.py", 1), ("b.py", 2)]


def test_lines_that_were_cut_or_are_not_the_file_s_do_not_count(tree: Path) -> None:
    assert shown(tree, "a.py:3-9\nline 3\nline 4\n…\n") == [("a.py", 3), ("a.py", 4)]
    assert shown(tree, "a.py:3-4\nsomething else\n\ngone.py:1-2\nline 1\n") == []


def test_reading_stops_when_enough_lines_were_seen() -> None:
    first = [("head\n", None, None), ("a\n", "a.py", 1), ("b\n", "a.py", 2)]
    second = [(f"{number}\n", "a.py", number) for number in range(3, 11)]
    found = agents.read(iter([first, second, pytest.fail]), {"a.py": [(2, 6)]})
    assert found["first"]["calls"] == 1 and found["enough"]["calls"] == 2
    assert found["first"]["tokens"] <= found["first"]["paid"] < found["enough"]["tokens"] < found["enough"]["paid"]
    assert (found["lines"], found["seen"], found["calls"]) == (5, 5, 2)


def test_what_is_never_seen_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = agents.read([[("a\n", "a.py", 1)]], {"b.py": [(1, 1)]})
    assert found["first"] is None and found["enough"] is None
    told = agents.summary([found, {**found, "first": {"tokens": 5, "paid": 9, "calls": 1}}, found])
    assert told["first"] == {"never": 2, "tokens": agents.NEVER, "paid": agents.NEVER, "calls": agents.NEVER, "in_one_call": 1}


def test_a_grep_shows_places_in_pages_and_files_one_a_call(tree: Path) -> None:
    (tree / "c.py").write_text("zebra\n" + "y" * 40_000 + "\n")
    with agents.open_grep("grep-lines", tree) as ask:
        assert len(list(ask("zebra"))) == 2
    with agents.open_grep("grep-files", tree) as ask:
        calls = list(ask("zebra"))
    assert calls[0] == [] and [piece[1] for piece in calls[1]][1:] == ["c.py", "c.py"]
