"""The age and the commit of each line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import PathError
from tests.conftest import git


def test_every_line_belongs_to_one_commit_or_to_none_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / "a.py"
    file.write_text("one = 1\ntwo = 2\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Begin")
    file.write_text("one = 1\ntwo = 22\nthree = 3")
    git(tmp_path, "commit", "-qam", "Go on")
    file.write_text("one = 1\ntwo = 22\nthree = 3\nfour = 4")
    with Engine.open(tmp_path) as engine:
        found = engine.heat("a.py").to_dict()["commits"]
    lines = {entry["subject"] if entry["sha"] else None: entry["lines"] for entry in found}
    assert found[0]["sha"] is None
    assert found[0]["date"] is None
    assert lines["Begin"] == [[1, 1]]
    assert lines["Go on"] in ([[2, 2]], [[2, 3]])  # the third line got its line end only now
    numbers = [number for runs in lines.values() for first, last in runs for number in range(first, last + 1)]
    assert sorted(numbers) == [1, 2, 3, 4]


@pytest.mark.parametrize("text", ["", "x = 1\n"], ids=["empty", "outside of git"])
def test_where_nothing_is_known_it_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    if not text:
        git(tmp_path, "init", "-q")
    with Engine.open(tmp_path) as engine, pytest.raises(PathError):
        engine.heat("a.py")
