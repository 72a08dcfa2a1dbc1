"""One page before an edit: the history of a file under all its paths, its dependents, documents that mention it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.corpora.history.related_commits import commits_of_file
from lurcher.errors import PathError, QueryError
from tests.corpora.history.repo import Repo, open_history, silent


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "tree")
    repo.commit("Add a client", {"client.py": "class Client:\n    def send(self):\n        return 1\n"})
    repo.commit("Add a shop", {"shop.py": "from net.client import Client\n", "guide.md": "Use net/client.py, and Client.\n"})
    repo.git("mv", "client.py", "moved.py")
    repo.commit("Move it once")
    (repo.top / "net").mkdir()
    repo.git("mv", "moved.py", "net/client.py")
    repo.commit("Move it again")
    repo.commit("Retry sends", {"net/client.py": "class Client:\n    def send(self):\n        return retry(3)\n"})
    repo.commit("Something else", {"other.py": "x = 1\n"})
    return repo


def test_commits_are_followed_through_renames(repo: Repo) -> None:
    history = open_history(repo.top).view(silent, seconds=None).history
    subjects = [history.subject(touch.commit) for touch in commits_of_file(history, "net/client.py")]
    assert subjects == ["Retry sends", "Move it again", "Move it once", "Add a client"]
    assert commits_of_file(history, "nowhere.py") == []


def test_a_page_about_a_file(repo: Repo) -> None:
    answer = Engine.open(repo.top).brief("net/client.py")
    assert (answer.path, answer.symbol, answer.commits, answer.dependents) == ("net/client.py", None, 4, 1)
    sections = {section.name: section.entries for section in answer.sections}
    assert "Retry sends (+1 -1)" in sections["changed lately"][0]
    assert sections["people"] == ("- Ada: 4 commits, last 2023-11-14",)
    assert sections["dependents"] == ("- shop.py:1 imports Client",)
    assert sections["documents"] == ("- guide.md:1: Use net/client.py, and Client.",)
    assert answer.tokens <= answer.budget and answer.text.startswith("# Before you edit net/client.py\n")


def test_a_page_about_a_symbol_leaves_out_what_is_not_about_it(repo: Repo) -> None:
    text = (repo.top / "net/client.py").read_text()
    repo.commit("Add a constant", {"net/client.py": f"LIMIT = 3\n\n\n{text}"})
    engine = Engine.open(repo.top)
    assert engine.brief("net/client.py").commits == 5
    answer = engine.brief("Client.send")
    assert (answer.symbol, answer.path) == ("Client.send", "net/client.py")
    assert "Add a constant" not in answer.text and "Retry sends" in answer.text


def test_a_page_about_a_symbol_names_its_callers_and_the_tests_that_reach_it(repo: Repo) -> None:
    uses = "from net.client import Client\n\n\ndef buy(other):\n    Client().send()\n    other.send()\n"
    test = "from shop import buy\n\n\ndef test_buy():\n    buy(None)\n"
    other = "def pay(thing):\n    thing.send()\n"
    repo.commit("Use it", {"shop.py": uses, "tests/test_shop.py": test, "other.py": other})
    answer = Engine.open(repo.top).brief("Client.send")
    sections = {section.name: section.entries for section in answer.sections}
    assert sections["callers"] == ("- shop.py:4 buy", "- other.py:1 pay (candidate)")
    assert sections["tests"] == ("- tests/test_shop.py:4 test_buy (via buy)",)
    assert "## Callers\n" in answer.text and "## Tests\n" in answer.text
    of_file = {section.name for section in Engine.open(repo.top).brief("net/client.py").sections}
    assert "callers" not in of_file


def test_a_budget_is_a_hard_ceiling(repo: Repo) -> None:
    engine = Engine.open(repo.top)
    for budget in (1, 20, 60, 200):
        assert engine.brief("net/client.py", budget=budget).tokens <= budget
    with pytest.raises(QueryError):
        engine.brief("net/client.py", budget=0)
    with pytest.raises(PathError):
        engine.brief("NoSuchThing")


def test_a_file_without_a_past(repo: Repo) -> None:
    (repo.top / "new.py").write_text("n = 1\n")
    assert "no commit that is indexed changed it" in Engine.open(repo.top).brief("new.py").text
