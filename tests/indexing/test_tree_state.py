"""A look stands for the one that a question would take, and tells whether answers can have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.engine import Engine
from tests.conftest import git, write_repository


def test_an_unchecked_answer_completed_by_a_check_equals_a_checked_one(repository: Path) -> None:
    with Engine.open(repository) as engine:
        look = engine.look()
        for question in ("redirects", "Client.retry", "nothing_like_it"):
            bare = engine.search(question, check=False).to_dict()
            assert bare["index"]["fresh"] is False
            found = look.complete(bare)
            assert found is not None
            assert {**found, "timings_ms": {}} == {**engine.search(question).to_dict(), "timings_ms": {}}


def test_an_unchecked_answer_is_completed_where_the_index_is_stale(repository: Path) -> None:
    with Engine.open(repository) as engine:
        engine.refresh()
    for number in range(4):
        (repository / f"src/new_{number}.py").write_text(f"value_{number} = {number}\n")
    with Engine.open(repository, overrides={"index.refresh_limit": "2"}) as engine:
        look = engine.look()
        found = look.complete(engine.search("redirects", check=False).to_dict())
        assert found is not None
        assert found["index"]["stale_paths"] == 4
        assert found["degraded"] == engine.search("redirects").to_dict()["degraded"]
        assert found["degraded"]


def test_an_answer_of_another_generation_is_not_touched(repository: Path) -> None:
    with Engine.open(repository) as engine:
        look = engine.look()
        (repository / "src/new.py").write_text("value = 1\n")
        engine.refresh()
        assert look.complete(engine.search("redirects", check=False).to_dict()) is None
        assert look.complete({"no": "index"}) is None


def test_what_answers_depend_on_changes_with_it(repository: Path) -> None:
    with Engine.open(repository) as engine:
        first, again = engine.look(), engine.look()
        assert (first.tree, first.past) == (again.tree, again.past)
        (repository / "src/new.py").write_text("value = 1\n")
        edited = engine.look()
        assert edited.tree != first.tree
        assert edited.past == first.past
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "More")
        committed = engine.look()
        assert committed.past != edited.past
        assert committed.files == first.files + 1


def test_several_roots_share_one_check(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        write_repository(folder)
    with Engine.open(folders) as engine:
        look = engine.look()
        found = look.complete(engine.search("redirects", check=False).to_dict())
        assert found is not None
        assert found["index"]["fresh"]
        assert found["degraded"] == []
        (folders[1] / "src/new.py").write_text("value = 1\n")
        assert engine.look().tree != look.tree


@pytest.mark.parametrize("name", ["src/client.py", "web/router.ts"])
def test_there_is_an_index_after_it(repository: Path, name: str) -> None:
    with Engine.open(repository) as engine:
        assert not engine.indexed
        engine.look()
        assert engine.indexed
        assert engine.file(name, check=False).path == name
