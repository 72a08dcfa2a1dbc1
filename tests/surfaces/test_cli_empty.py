"""Trees without a word of text: nothing is found, and nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.types import CONTEXTS


@pytest.mark.parametrize("kind", ["empty", "repository", "ignored", "blank"])
def test_a_tree_without_text_has_an_index_like_any_other(
    tmp_path: Path, kind: str, git_in: Callable[..., str], ask: Callable[..., Any]
) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    if kind in ("repository", "ignored"):
        git_in(root, "init", "-q")
    if kind == "ignored":
        (root / ".gitignore").write_text("*\n")
        (root / "a.py").write_text("value = 1\n")
    if kind == "blank":
        (root / "a.py").touch()
        (root / "b.md").touch()
    for _ in range(2):
        for asked in (
            ("search", "how it begins"), ("search", "begin", "--mode", "symbol"), ("symbol", "begin"), ("exists", "begin"),
            ("notes", "how it begins"),
        ):  # fmt: skip
            result = ask(*asked, root, "-q")
            assert (result.status, "note:" in result.err) == (1, False), (asked, result)
        answer = ask("search", "how it begins", root, "--in", "all", "--json").json
        assert [note for note in answer["degraded"] if note["stage"] != "history"] == []
        assert answer["index"]["fresh"]
        assert "problem" not in ask("index", root, "--json").json
        assert ask("status", root, "--json").json["generation"] == 1
        assert ask("doctor", root, "--json").json["problems"] == 0
    with Engine.open(root) as engine:
        assert (engine.outline(root).total, engine.context(root).files) == (0, 2 if kind == "blank" else 0)
        for context in CONTEXTS:
            assert engine.search("how it begins", context=context).total == 0
