"""What a history index adds to `explain`: outcomes and related commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from tests.corpora.history.repo import Repo, silent

CART = "def total(price, count):\n    result = price * count\n    return result + shipping\n"
MENDED = CART.replace("price * count", "price * max(count, 0)")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.commit("Add a cart", {"src/cart.py": CART, "src/ship.py": "shipping = 5\n"})
    repo.commit("Fix negative counts (#712)", {"src/cart.py": MENDED})
    repo.commit("Tell of the fix\n\nSee #712.", {"NEWS.md": "fixed\n"})
    repo.commit("Count 712 things", {"things.py": "things = 712\n"})
    repo.now += 90 * 86_400
    for i in range(3):
        repo.commit(f"note {i}", {"notes.md": f"{i}\n"})
    return repo


def test_without_an_index_nothing_is_added_or_made(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        answer = engine.explain("src/cart.py")
    assert [(entry.outcome, entry.related) for entry in answer.writers] == [(None, ())] * 2
    assert not (repo.top / ".lurcher/history").exists()


def test_with_one_outcomes_and_related_commits_are_reported(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        engine.index(history=True)
        fix, first = engine.explain("src/cart.py").writers
    assert (fix.subject, fix.outcome.verdict if fix.outcome else None) == ("Fix negative counts (#712)", "success")
    assert first.outcome is not None and first.outcome.verdict == "hotfixed"
    assert [(entry.subject, entry.reason) for entry in fix.related] == [
        ("Tell of the fix", "both name #712"),
        ("Add a cart", "the same files, the same day"),
    ]
    assert [entry.subject for entry in first.related] == ["Fix negative counts (#712)"]
    assert all(entry.to_dict()["inferred"] and 0 < entry.confidence < 1 for entry in fix.related)
    assert [entry.confidence for entry in fix.related] == sorted((entry.confidence for entry in fix.related), reverse=True)


def test_a_picked_commit_is_related(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("Add a pool", {"src/pool.py": "pool = Pool(size=10)\n"})
    repo.git("checkout", "-q", "main")
    repo.now += 60
    repo.git("cherry-pick", "side")
    repo.now += 60
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    with Engine.open(repo.top) as engine:
        engine.index(history=True)
        (writer,) = engine.explain("src/pool.py").writers
    assert [(entry.subject, entry.reason) for entry in writer.related[:1]] == [("Add a pool", "the same change")]


def test_commits_that_are_not_indexed_have_no_outcome(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        engine.index(history=True)
        late = repo.commit("Rework the cart", {"src/cart.py": MENDED + "more = total(1, 2)\n"})
        newest, *rest = engine.explain("src/cart.py").writers
        assert (newest.sha, newest.outcome, newest.related) == (late, None, ())
        assert all(entry.outcome is not None for entry in rest)


def test_a_damaged_index_is_left_alone(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        engine.index(history=True)
    segments = list((repo.top / ".lurcher/history").glob("*.segment"))
    for path in segments:
        path.write_bytes(b"nothing")
    with Engine.open(repo.top) as engine:
        answer = engine.explain("src/cart.py")
    assert [entry.outcome for entry in answer.writers] == [None, None]
    assert [path.read_bytes() for path in segments] == [b"nothing"] * len(segments)


def test_damage_that_shows_only_when_it_is_read(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        engine.index(history=True)
    (path,) = (repo.top / ".lurcher/history").glob("*.segment")
    data = bytearray(path.read_bytes())
    data[100] ^= 0xFF  # in the table of commits, which opening does not read
    path.write_bytes(data)
    with Engine.open(repo.top) as engine:
        answer = engine.explain("src/cart.py")
    assert [entry.outcome for entry in answer.writers] == [None, None]
    assert [note.reason for note in answer.degraded if "fails its checksum" in note.reason]


def test_status_counts_outcomes(repo: Repo) -> None:
    with Engine.open(repo.top) as engine:
        engine.index(history=True, progress=silent)
        entry = engine.status()["history"]
    assert entry["outcomes"] == {"reverted": 0, "hotfixed": 1, "success": 6}
