"""`search --in all` as a real process."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run


def test_all_sources_are_shown_with_their_links(repository: Path, ask: Run) -> None:
    told = ask("search", "how are redirects followed", repository, "--in", "all")
    assert told.status == 0 and "src/client.py" in told.out and "docs/guide.md" in told.out


def test_json_has_links_for_every_hit(repository: Path, ask: Run) -> None:
    hits = ask("search", "follow redirects", repository, "--in", "all", "--json").json["hits"]
    linked = [kind for hit in hits for kind, found in hit["links"].items() if found]
    assert set(linked) >= {"code", "commits"} and all({"commits", "notes"} <= set(hit["links"]) for hit in hits)


def test_filters_of_single_sources_narrow_the_answer_and_say_so(repository: Path, ask: Run) -> None:
    told = ask("search", "redirects", repository, "--in", "all", "--tag", "none")
    assert told.status == 1 and "left out" in told.err
