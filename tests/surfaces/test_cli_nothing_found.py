"""When nothing is found, a note says why, where that can be told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUESTION = "how are invoices numbered"


def test_an_empty_folder_says_that_there_is_nothing_to_index(tmp_path: Path, ask: Callable[..., Any]) -> None:
    result = ask("search", QUESTION, tmp_path)
    assert result.status == 1 and "note: there is no file of text here" in result.err


def test_files_too_large_for_the_index_are_named(repository: Path, ask: Callable[..., Any]) -> None:
    (repository / "invoices.py").write_text("def number_invoices(): pass\n" * 100_000)
    result = ask("search", "frobnicate", repository, "--literal")
    assert "note: 1 file is not in the index: invoices.py (to see why: lurcher status --skipped)" in result.err
    assert "oversized  invoices.py" in ask("status", repository, "--skipped").out


def test_a_language_without_files_is_told(repository: Path, ask: Callable[..., Any]) -> None:
    assert "note: no file here is cobol" in ask("search", QUESTION, repository, "--lang", "cobol").err
    assert "no file here" not in ask("search", "xyzzy", repository, "--lang", "python", "--literal").err


def test_a_repository_without_commits_has_no_history_to_search(
    tmp_path: Path, git_in: Callable[..., str], ask: Callable[..., Any]
) -> None:
    git_in(tmp_path, "init", "-q")
    result = ask("history", QUESTION, tmp_path)
    assert result.status == 1 and "note: the repository has no commits yet" in result.err


@pytest.mark.parametrize("flag", ["-q", "--json"])
def test_programs_and_the_quiet_get_no_notes(tmp_path: Path, ask: Callable[..., Any], flag: str) -> None:
    assert "note:" not in ask("search", QUESTION, tmp_path, flag).err
