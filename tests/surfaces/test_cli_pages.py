"""`--budget` and `--continue` through the command line: every hit once, never above the budget, foreign cursors refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.answer import count_tokens

QUESTION = "how are redirects followed"


def pages(ask: Callable[..., Any], *arguments: Any) -> list[dict[str, Any]]:
    """Every page, from the first to the one without a `next`."""
    found = [ask("search", *arguments, "--json").json]
    while found[-1]["next"] is not None:
        result = ask("search", *arguments, "--json", "--continue", found[-1]["next"])
        assert result.status == 0
        found.append(result.json)
        assert len(found) < 200
    return found


@pytest.mark.parametrize("budget", [None, 150, 400, 1000])
@pytest.mark.parametrize(
    "shape",
    [(), ("--snippet-lines", "3"), ("--context", "function"), ("--context", "class"), ("--ranking", "classic")],
    ids=["blocks", "snippets", "functions", "classes", "classic"],
)
def test_following_next_shows_every_place_exactly_once(
    shared: Path, ask: Callable[..., Any], budget: int | None, shape: tuple[str, ...]
) -> None:
    shape = (*shape, "--flat")
    everything = ask("search", QUESTION, shared, "--json", "-k", "1000", *shape).json
    assert everything["next"] is None and len(everything["hits"]) == everything["total"] > 10
    limits = () if budget is None else ("--budget", str(budget))
    found = pages(ask, QUESTION, shared, "-k", "7", *shape, *limits)
    seen = [hit["id"] for page in found for hit in page["hits"]]
    too_large = [hit["id"] for hit in everything["hits"] if budget is not None and count_tokens(hit["text"]) > budget]
    assert len(seen) == len(set(seen))
    assert set(seen) == {hit["id"] for hit in everything["hits"]} - set(too_large)
    assert all(page["total"] == everything["total"] for page in found)
    if budget is None:
        assert seen == [hit["id"] for hit in everything["hits"]]
    else:
        assert all(sum(count_tokens(hit["text"]) for hit in page["hits"]) == page["tokens"] <= budget for page in found)
        reported = sum(int(note["reason"].split()[0]) for page in found for note in page["degraded"])
        assert reported == len(too_large)


def test_units_of_one_long_line_are_distinguished(tmp_path: Path, ask: Callable[..., Any]) -> None:
    words = " ".join(f"kaleidoscope item{i}" for i in range(600))
    (tmp_path / "long.txt").write_text(words + "\n")
    found = pages(ask, "kaleidoscope", tmp_path, "-k", "2")
    seen = [hit["id"] for page in found for hit in page["hits"]]
    assert len(seen) == len(set(seen)) == found[0]["total"]


def refused(result: Any, words: str) -> None:
    assert result.status == 2
    assert result.out == ""
    assert result.err.count("\n") == 1 and words in result.err


def test_a_cursor_works_for_its_own_question_only(shared: Path, ask: Callable[..., Any]) -> None:
    cursor = ask("search", QUESTION, shared, "--json", "-k", "3").json["next"]
    follow = ("-k", "3", "--continue", cursor)
    assert ask("search", QUESTION, shared, *follow).status == 0
    refused(ask("search", "how are cookies parsed", shared, *follow), "another query or other options")
    refused(ask("search", QUESTION, shared, *follow, "--lang", "python"), "another query or other options")
    refused(ask("search", QUESTION, shared, *follow, "--ranking", "classic"), "another query or other options")
    refused(ask("search", QUESTION, shared, *follow, "--set", "noise.tests=0.9"), "another query or other options")
    refused(ask("search", QUESTION, shared, "-k", "4", "--continue", cursor), "another query or other options")
    refused(ask("search", QUESTION, shared / "src", *follow), "another query or other options")


def test_a_tampered_cursor_is_refused(shared: Path, ask: Callable[..., Any]) -> None:
    cursor = ask("search", QUESTION, shared, "--json", "-k", "3").json["next"]
    for position in range(0, len(cursor), 5):
        other = "A" if cursor[position] != "A" else "B"
        changed = cursor[:position] + other + cursor[position + 1 :]
        refused(ask("search", QUESTION, shared, "-k", "3", "--continue", changed), "cursor")
    refused(ask("search", QUESTION, shared, "-k", "3", "--continue", cursor[:-1]), "cursor is damaged")
    refused(ask("search", QUESTION, shared, "-k", "3", "--continue", cursor + "A"), "cursor is damaged")


def test_a_cursor_ends_with_the_index_it_came_from(repository: Path, run: Callable[..., Any]) -> None:
    cursor = run("search", QUESTION, repository, "--json", "-k", "3").json["next"]
    assert run("search", QUESTION, repository, "-k", "3", "--continue", cursor).status == 0
    (repository / "src" / "toy.py").write_text("def redirect_to_toy():\n    return 1\n")
    refused(run("search", QUESTION, repository, "-k", "3", "--continue", cursor), "the index has changed since")


def test_a_cursor_of_another_folder_is_refused(repository: Path, shared: Path, ask: Callable[..., Any]) -> None:
    cursor = ask("search", QUESTION, shared, "--json", "-k", "3").json["next"]
    refused(ask("search", QUESTION, repository, "-k", "3", "--continue", cursor), "another folder")
