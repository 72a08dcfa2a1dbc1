"""What hits of one source have to do with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lurcher import Engine
from lurcher.types import Hit
from tests.corpora.history.repo import Repo

Pottery = tuple[Repo, dict[str, str]]


def hit_of(engine: Engine, text: str, source: str, path: str) -> Hit:
    hits = engine.search(text, sources=["all"], limit=50).hits
    return next(hit for hit in hits if hit.source == source and hit.path == path)


def paths(links: list[Any]) -> list[str]:
    return [link["path"] for link in links]


def test_code_leads_to_the_commits_that_shaped_it_and_the_notes_that_name_it(engine: Engine, pottery: Pottery) -> None:
    links = hit_of(engine, "Kiln.raise_heat", "code", "src/kiln.py").links
    assert [commit["sha"] for commit in links["commits"]] == [pottery[1]["slow"], pottery[1]["start"]]
    assert links["commits"][0]["subject"] == "Raise the heat in steps of five" and links["commits"][0]["outcome"] == "success"
    assert paths(links["notes"]) == ["docs/firing.md"]
    text = (pottery[0].top / "docs/firing.md").read_text().split("\n")
    assert "src/kiln.py" in text[links["notes"][0]["line"] - 1]


def test_a_plain_word_in_prose_is_no_link(engine: Engine) -> None:
    """`docs/firing.md` says kiln and glaze in plain words, which names neither the class nor the file."""
    assert hit_of(engine, "mix_glaze", "code", "src/glaze.py").links["notes"] == []


def test_a_commit_leads_to_the_code_it_changed_and_the_notes_about_it(engine: Engine) -> None:
    links = hit_of(engine, "raise the heat in steps of five", "history", "src/kiln.py").links
    assert paths(links["code"]) == ["src/kiln.py"]
    assert "docs/firing.md" in paths(links["notes"])


def test_a_note_leads_to_the_code_commits_and_notes_that_it_names(engine: Engine, pottery: Pottery) -> None:
    links = hit_of(engine, "climbing slowly so that pots do not crack", "notes", "docs/firing.md").links
    assert ("src/kiln.py", None) in [(place["path"], place["symbol"]) for place in links["code"]]
    assert [place["start_line"] for place in links["code"] if place["symbol"] == "raise_heat"] == [4]
    assert paths(links["notes"]) == ["docs/glazing.md"]
    links = hit_of(engine, "the recipe for celadon", "notes", "docs/glazing.md").links
    assert [commit["sha"] for commit in links["commits"]] == [pottery[1]["slow"]]


def test_one_source_alone_has_no_links(engine: Engine) -> None:
    assert all(hit.links == {"commits": [], "notes": []} for hit in engine.search("kiln heat", sources=["code"]).hits)


def test_files_that_share_a_name_only_are_not_connected(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tree")
    repo.commit(
        "Begin",
        {
            "shop/csrf.py": "def check_token(request):\n    return request.token\n",
            "tests/csrf/tests.py": "def test_token():\n    assert check_token\n",
            "docs/tokens.md": "# Tokens\n\nWhat a token is, said csrf.py elsewhere, `tests.py` and admin/csrf.py there.\n",
            "docs/checks.md": "# Checks\n\nTokens are checked in shop.csrf and tested in csrf/tests.py.\n",
        },
    )
    with Engine.open(repo.top, root=repo.top) as engine:
        assert paths(hit_of(engine, "check_token", "code", "shop/csrf.py").links["notes"]) == ["docs/checks.md"]
        assert paths(hit_of(engine, "test_token", "code", "tests/csrf/tests.py").links["notes"]) == ["docs/checks.md"]
        assert hit_of(engine, "what a token is", "notes", "docs/tokens.md").links["code"] == []
        named = hit_of(engine, "how tokens are checked", "notes", "docs/checks.md").links["code"]
        assert paths(named) == ["shop/csrf.py", "tests/csrf/tests.py"]
        documents = {section.name: section.entries for section in engine.brief("shop/csrf.py").sections}["documents"]
        assert [entry.partition(":")[0] for entry in documents] == ["- docs/checks.md"]
