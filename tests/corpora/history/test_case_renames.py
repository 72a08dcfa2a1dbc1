"""A file whose path changes only in upper and lower case keeps its history."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from tests.corpora.history.repo import Repo

CART = "def total(price, count):\n    return price * count\n\n\ndef tax(price):\n    return price * 0.2\n"
CAREFUL = CART.replace("price * count", "price * max(count, 0)")


@pytest.fixture(params=["false", "true"], ids=["case counts", "core.ignorecase"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "tree")
    repo.git("config", "core.ignorecase", request.param)
    repo.commit("Add totals of prices", {"shop/Cart.py": CART, "use.py": "print(1)\n"})
    repo.commit("No negative counts", {"shop/Cart.py": CAREFUL})
    return repo


def subjects(engine: Engine, path: Path) -> list[str]:
    lines = [line for line in engine.brief(path).text.splitlines() if line.startswith("- ") and "(+" in line]
    return [line.rpartition(": ")[2].partition(" (+")[0] for line in lines]


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_a_case_rename_preserves_the_history_of_a_file(repo: Repo, folder: bool) -> None:
    now = repo.top / ("Shop/Cart.py" if folder else "shop/cart.py")
    name = now.relative_to(repo.top).as_posix()
    with Engine.open(repo.top) as engine:
        assert engine.symbol("total")[0].path == "shop/Cart.py"
        engine.history("counts")
        if folder:
            repo.git("mv", "shop", "Shop")
        else:
            repo.git("mv", "shop/Cart.py", "shop/cart.py")
        assert [hit.path for hit in engine.symbol("total")] == [name]
        assert [file.path for file in engine.outline(repo.top).files] == [name]
        before = engine.brief(now)
        assert subjects(engine, now) == ["No negative counts", "Add totals of prices"]
        assert "it was shop/Cart.py in the last commit" in before.text and before.commits == 2
        assert {writer.subject for writer in engine.explain(now).writers} == {"No negative counts", "Add totals of prices"}
        repo.git("commit", "-qm", "Spell it otherwise")
        assert subjects(engine, now) == ["Spell it otherwise", "No negative counts", "Add totals of prices"]
        hits = engine.search("negative counts of prices", sources=["all"]).hits
    code = next(hit for hit in hits if hit.path == name)
    assert "No negative counts" in {commit["subject"] for commit in code.links["commits"]}
    commit = next(hit for hit in hits if hit.commit and hit.commit.subject == "No negative counts")
    assert [place["path"] for place in commit.links["code"]] == [name]


def test_a_name_that_came_back_has_all_of_its_past(repo: Repo) -> None:
    for number, (old, new) in enumerate((("Cart", "cart"), ("cart", "Cart"))):
        repo.git("mv", f"shop/{old}.py", f"shop/{new}.py")
        repo.commit(f"Spell it otherwise {number}", {})
    with Engine.open(repo.top) as engine:
        assert subjects(engine, repo.top / "shop/Cart.py") == [
            "Spell it otherwise 1", "Spell it otherwise 0", "No negative counts", "Add totals of prices",
        ]  # fmt: skip


def test_another_file_of_nearly_the_same_name_is_another_file(repo: Repo) -> None:
    repo.git("rm", "-q", "shop/Cart.py")
    repo.git("commit", "-qm", "Remove the cart")
    repo.commit("Add carts for horses", {"shop/cart.py": "def harness(horse):\n    return [horse]\n"})
    with Engine.open(repo.top) as engine:
        assert subjects(engine, repo.top / "shop/cart.py") == ["Add carts for horses"]
        hits = engine.search("negative counts", sources=["all"]).hits
    commit = next(hit for hit in hits if hit.commit and hit.commit.subject == "No negative counts")
    assert commit.links["code"] == []
