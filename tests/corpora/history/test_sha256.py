"""Repositories with SHA-256 hashes behave like those with SHA-1."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.corpora.history.reverts import find_claims
from tests.corpora.history.repo import Repo

CART = "def total(price, count):\n    return price * count\n"
SPACED = CART.replace("price * count", "count * price")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "tree", "--object-format=sha256")


def test_ignored_revisions_are_skipped_in_blame(repo: Repo) -> None:
    first = repo.commit("Add a cart", {"cart.py": CART})
    spaced = repo.commit("Space out", {"cart.py": SPACED})
    assert len(spaced) == 64
    with Engine.open(repo.top) as engine:
        assert engine.explain(repo.top / "cart.py").writers[0].sha == spaced
    repo.put({".git-blame-ignore-revs": f"# formatting\n{spaced}\n{'ab' * 32}\n{'ab' * 20}\n"})
    with Engine.open(repo.top) as engine:
        assert {entry.sha for entry in engine.explain(repo.top / "cart.py").writers} == {first}
        assert {layer.sha for layer in engine.heat(repo.top / "cart.py").layers} == {first}
    repo.put({"cart.py": SPACED + "\n\ndef tax(price):\n    return price\n"})
    with Engine.open(repo.top) as engine:
        assert None in {entry.sha for entry in engine.explain(repo.top / "cart.py").writers}


def test_a_commit_that_was_reverted_is_known(repo: Repo) -> None:
    repo.commit("Add a cart", {"cart.py": CART})
    bad = repo.commit("Space out the cart", {"cart.py": SPACED})
    back = repo.commit(f'Revert "Space out the cart"\n\nThis reverts commit {bad}.', {"cart.py": CART})
    with Engine.open(repo.top) as engine:
        hits = engine.search("space out the cart", sources=["history"]).hits
    told = {hit.commit.sha: hit.commit.outcome for hit in hits if hit.commit}
    assert told[bad].verdict == "reverted" and told[bad].evidence[0].sha == back


def test_a_hash_that_was_broken_in_two_is_joined() -> None:
    whole = "3f" * 32
    (claim,) = find_claims("Take it back", f"This reverts commit {whole[:50]}\n{whole[50:]}.")
    assert claim.value == whole


def test_a_note_that_names_a_commit_leads_to_it(repo: Repo) -> None:
    first = repo.commit("Add a cart", {"cart.py": CART})
    repo.commit("Write it down", {"docs/cart.md": f"# The cart\n\nThe cart came with {first}, which sums up prices.\n"})
    with Engine.open(repo.top) as engine:
        hits = engine.search("what does the cart sum up", sources=["all"]).hits
    (note,) = [hit for hit in hits if hit.path == "docs/cart.md" and hit.source == "notes"]
    assert first in {commit["sha"] for commit in note.links["commits"]}
