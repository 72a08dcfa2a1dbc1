"""`lurcher notes` and `search --in notes` as a real process."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run


def test_notes_are_shown_with_how_to_open_them(repository: Path, ask: Run) -> None:
    told = ask("notes", "following redirects", repository)
    assert told.status == 0
    assert "docs/guide.md:1-9  Guide" in told.out and "[[" not in told.out and "docs/guide.md#guide" in told.out
    assert "client.py" not in told.out


def test_search_in_notes_gives_the_same_json(repository: Path, ask: Run) -> None:
    told = ask("notes", "redirects", repository, "--json").json
    assert told == ask("search", "redirects", repository, "--in", "notes", "--json").json
    assert told["sources"] == ["notes"] and told["hits"][0]["note"]["wikilink"] is None


def test_wiki_links_are_shown_where_notes_have_them(repository: Path, ask: Run) -> None:
    (repository / "docs" / "more.md").write_text("# More\n\nSee [[guide]] for redirects.\n")
    assert "[[guide]]" in ask("notes", "following redirects", repository).out


def test_code_stays_the_default_where_there_is_code(repository: Path, ask: Run) -> None:
    assert ask("search", "how are redirects followed", repository, "--json").json["sources"] == ["code"]


def test_nothing_found_and_wrong_flags(repository: Path, ask: Run) -> None:
    assert ask("notes", '"no such phrase"', repository).status == 1
    assert ask("notes", "redirects", repository, "--tag", "none").status == 1
    assert ask("search", "x", repository, "--tag", "a").status == 2
    assert ask("search", "x", repository, "--in", "notes", "--literal").status == 2
    assert ask("search", "x", repository, "--in", "notes", "--author", "a").status == 2
    assert ask("search", "redirects", repository, "--in", "notes", "--since", "2001-01-01").status == 0
