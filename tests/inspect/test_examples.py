"""Questions to begin with come from the repository itself."""

from __future__ import annotations

from pathlib import Path

from lurcher.engine import Engine
from tests.conftest import git
from tests.surfaces.http.conftest import with_past


def texts(folder: Path) -> list[tuple[str, str]]:
    with Engine.open(folder) as engine:
        return [(one.text, one.what) for one in engine.examples().examples]


def test_they_are_its_own_names_and_commits_and_always_the_same(tmp_path: Path) -> None:
    folder = with_past(tmp_path)
    found = texts(folder)
    assert found == texts(folder)
    kinds = {what: text for text, what in found}
    assert {"words", "name", "pattern", "past"} <= set(kinds)
    assert kinds["past"] == "An application that uses the client and its cookies"
    with Engine.open(folder) as engine:
        for text, what in found:
            answer = engine.search(text, sources=["history"] if what == "past" else ["notes"] if what == "note" else None)
            assert answer.hits, text
            assert what != "pattern" or answer.mode == "literal"


def test_what_could_be_a_key_or_an_address_is_no_question(tmp_path: Path) -> None:
    folder = with_past(tmp_path)
    secret = "Use the key " + "live" + "42" * 15 + " for it"
    for subject in (secret, "See https://internal.example/x for all", "Merge it all"):
        git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    git(folder, "commit", "-q", "--allow-empty", "-m", "fix(client): Keep the jar of cookies small (#12)")
    assert ("Keep the jar of cookies small", "past") in texts(folder)


def test_nothing_is_made_up(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert texts(tmp_path) == []


def test_names_inside_namespaces_are_shown_with_their_type_alone(tmp_path: Path) -> None:
    text = "<?php\nnamespace Shop\\Orders;\nclass Basket {\n  public function addDiscount($x) {\n    return 1;\n  }\n}\n"
    (tmp_path / "Basket.php").write_text(text)
    assert ("Basket.addDiscount", "name") in texts(tmp_path)
