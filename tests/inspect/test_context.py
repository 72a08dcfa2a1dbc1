"""One package about a file or folder, within a budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.answer import count_tokens
from lurcher.errors import QueryError
from lurcher.inspect import Basis, files_at
from lurcher.inspect.context import ContextAnswer, context, head_of
from lurcher.types import IndexState
from tests.inspect.trees import FILES
from tests.small import snapshot_of

SNAPSHOT = snapshot_of(FILES)


def asked(path: str, budget: int = 2000) -> ContextAnswer:
    return context(SNAPSHOT, *files_at(SNAPSHOT, ["" if path == "." else path]), budget, Basis(IndexState(1, True, 0)))


def section(answer: ContextAnswer, name: str) -> tuple[str, ...]:
    return next(section.entries for section in answer.sections if section.name == name)


def test_a_file_has_all_its_sections() -> None:
    answer = asked("shop/client.py")
    assert (answer.files, answer.lines, answer.languages) == (1, 13, {"python": 1})
    assert section(answer, "documentation") == ("Talks to the server.",)
    assert section(answer, "entry points") == (
        "Client  shop/client.py:5  class, 2 uses",
        "connect  shop/client.py:12  function, 2 uses",
    )
    assert section(answer, "skeletons") == ("class Client  :5", "  def retry(self, times=3)  :8", "def connect(host)  :12")
    assert section(answer, "imported by") == ("shop/__init__.py:2  Client", "shop/cart.py:1  connect")
    assert section(answer, "imports") == ("shop/wire.py  send, receive",)
    assert answer.text.startswith("# shop/client.py\n1 file, 13 lines: python 1\n\n## Documentation\nTalks to the server.\n")
    assert all(part.left_out == 0 for part in answer.sections)


def test_a_folder_shows_only_edges_that_leave_it() -> None:
    answer = asked("shop")
    assert section(answer, "imported by") == ("tests/test_cart.py:1 → shop/cart.py  checkout",)
    assert section(answer, "imports") == ()
    heads = [line for line in section(answer, "skeletons") if not line.startswith(" ")]
    assert heads == ["shop/cart.py", "shop/client.py", "shop/wire.py", "shop/report.py"]  # by how many imports lead to them


def test_the_readme_comes_first_and_a_whole_tree_has_no_edges_outside() -> None:
    answer = asked(".")
    assert section(answer, "documentation")[0] == "README.md: Sells things over a wire."
    assert section(answer, "imported by") == section(answer, "imports") == ()


@given(st.integers(1, 700), st.sampled_from((".", "shop", "shop/client.py", "README.md")))
@settings(max_examples=60, deadline=None)
def test_the_budget_is_a_ceiling_and_nothing_is_left_out_silently(budget: int, path: str) -> None:
    answer, whole = asked(path, budget), asked(path, 1_000_000)
    assert answer.tokens == count_tokens(answer.text) <= budget
    for mine, all_of_it in zip(answer.sections, whole.sections, strict=True):
        assert len(mine.entries) + mine.left_out == len(all_of_it.entries)
        assert mine.entries == all_of_it.entries[: len(mine.entries)]


def test_no_budget_at_all_is_an_error() -> None:
    with pytest.raises(QueryError, match="the budget is 0 tokens"):
        asked("shop", 0)


@pytest.mark.parametrize(
    ("text", "language", "head"),
    [
        ('"""Reads\n  a file.\n\nMore."""\nx = 1\n', "python", "Reads a file."),
        ("#!/bin/sh\n# Starts it.\n# Twice.\necho\n", "bash", "Starts it. Twice."),
        ("// Copyright 2020\n// MIT licence\n\n// Package pool keeps some.\npackage pool\n", "go", "Package pool keeps some."),
        ("/**\n * Routes requests.\n * @author me\n */\nclass A {}\n", "java", "Routes requests. @author me"),
        ("# Title\n\n[![badge](x)](y)\n\nWhat it does,\nin words.\n", "markdown", "What it does, in words."),
        ("# Title\n", "markdown", "Title"),
        ("x = 1\n", "python", ""),
        ("", "go", ""),
    ],
)
def test_heads_are_the_first_paragraph_of_what_a_file_says_of_itself(text: str, language: str, head: str) -> None:
    assert head_of(text, language) == head


def test_long_heads_are_cut() -> None:
    head = head_of('"""' + "word " * 500 + '"""', "python")
    assert len(head) <= 400 and head.endswith("…")
