"""A first index begins with what another work tree, or a clone, has in common with it; neither depends on the other then."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import UsageError
from lurcher.indexing import seed, writer
from lurcher.inspect.doctor.checks import PROBLEM, examine
from lurcher.sources.git.refs import other_work_trees
from lurcher.storage import disk
from lurcher.types import silent
from tests.indexing.conftest import answers, git, opened, write
from tests.indexing.crashes import edit
from tests.indexing.faults import ended, forked


@pytest.fixture
def second(repo: Path) -> Path:
    """A second work tree of an indexed repository."""
    Engine.open(repo).index()
    return add_work_tree(repo, "second")


def add_work_tree(repo: Path, name: str, *options: str) -> Path:
    top = repo.parent / name
    git(repo, "worktree", "add", "-q", "--detach", str(top), *options)
    return top


def fresh(root: Path, tmp_path: Path) -> str:
    """What an index that was made from nothing answers."""
    return answers(opened(root, tmp_path / f"fresh-{time.monotonic_ns()}"))


def segments(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (root / ".lurcher").glob("*.segment")}


def own_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / ".lurcher").iterdir() if path.is_file() and path.stat().st_nlink == 1)


def unwell(root: Path) -> list[str]:
    with Engine.open(root) as engine:
        return [f"{found.check}: {found.message}" for found in examine(engine.projects[0], silent) if found.state == PROBLEM]


def test_a_second_work_tree_makes_no_segment_of_its_own(repo: Path, second: Path, tmp_path: Path) -> None:
    engine = Engine.open(second)
    assert not engine.search("how are redirects followed").degraded
    assert segments(second) == segments(repo)
    assert answers(Engine.open(second)) == fresh(second, tmp_path)
    assert unwell(second) == unwell(repo) == []


def test_only_what_differs_is_in_a_segment_of_its_own(repo: Path, second: Path, tmp_path: Path) -> None:
    write(second, {"src/client.py": "class Client: pass\n", "src/more.py": "def more(): pass\n"})
    (second / "docs/guide.md").unlink()
    shared, own = Engine.open(second).index()["segments"]
    assert segments(repo).keys() == {shared["name"]}
    assert (shared["dead"], own["live"]) == (2, 2)
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_a_file_of_the_same_size_and_other_content_is_not_taken_over(repo: Path, second: Path, tmp_path: Path) -> None:
    text = (second / "src/cookies.py").read_text()
    (second / "src/cookies.py").write_text(text.replace("cookie", "biscuit")[: len(text)].ljust(len(text)))
    found = Engine.open(second).search("parse_biscuit")
    assert found.hits[0].path == "src/cookies.py"
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


@pytest.mark.parametrize("way", ["clear", "rebuild", "remove", "merge"])
def test_what_happens_to_one_does_not_hurt_the_other(repo: Path, second: Path, tmp_path: Path, way: str) -> None:
    Engine.open(second).index()
    kept = answers(Engine.open(second))
    if way == "remove":
        shutil.rmtree(repo / ".lurcher")
    elif way == "clear":
        assert Engine.open(repo).clear()
    elif way == "rebuild":
        Engine.open(repo).index(rebuild=True)
    else:
        for path in list(repo.rglob("*.py")):
            path.write_text("changed = 1\n")
        Engine.open(repo).index()
    assert answers(Engine.open(second)) == kept
    assert unwell(second) == []
    assert answers(Engine.open(repo)) == fresh(repo, tmp_path)


def test_the_first_work_tree_begins_with_the_second_where_that_one_has_an_index(repo: Path, tmp_path: Path) -> None:
    second = add_work_tree(repo, "second")
    Engine.open(second).index()
    Engine.open(repo).index()
    assert segments(repo) == segments(second)


def test_files_are_believed_again_after_another_work_tree_has_linked_them(repo: Path, second: Path) -> None:
    Engine.open(second).index()
    with Engine.open(repo) as engine:
        engine.search("redirects")
    with Engine.open(repo) as engine:
        engine.search("redirects")
        assert engine.projects[0].is_trusted()


def test_the_work_tree_with_the_same_commit_is_preferred(repo: Path, second: Path) -> None:
    write(second, {f"src/new{number}.py": f"def new{number}(): pass\n" for number in range(9)})
    git(second, "add", "-A")
    git(second, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "second")
    Engine.open(second).index()
    third = add_work_tree(repo, "third", git_head(second))
    Engine.open(third).index()
    assert segments(third) == segments(second)


def git_head(folder: Path) -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_an_index_of_another_format_is_left_alone_with_a_note(
    repo: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = repo / ".lurcher/manifest"
    manifest.write_bytes(manifest.read_bytes().replace(b'"chunk_chars":', b'"chunk_charz":'))
    answer = Engine.open(second).search("redirects")
    assert any("could not be shared" in note.reason and str(repo) in note.reason for note in answer.degraded)
    assert not Engine.open(second).search("redirects").degraded
    assert answers(Engine.open(second)) == fresh(second, tmp_path)
    assert not segments(second).items() & segments(repo).items()


def test_a_damaged_segment_is_not_taken_over(repo: Path, second: Path, tmp_path: Path) -> None:
    for path in (repo / ".lurcher").glob("*.segment"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    answer = Engine.open(second).search("redirects")
    assert any("could not be shared" in note.reason for note in answer.degraded)
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_an_index_that_came_with_its_repository_is_not_believed(repo: Path, tmp_path: Path) -> None:
    """Such an index was made in another folder, and may show text that no file has."""
    Engine.open(repo).index()
    shutil.copytree(repo, tmp_path / "copy", symlinks=True)
    second = add_work_tree(tmp_path / "copy", "second")
    answer = Engine.open(second).search("redirects")
    assert any("could not be shared" in note.reason for note in answer.degraded)
    assert not segments(second).items() & segments(tmp_path / "copy").items()


def test_a_git_folder_that_names_a_foreign_work_tree_is_not_believed(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "foreign"
    shutil.copytree(repo, other)
    (repo / ".git/worktrees/x").mkdir(parents=True)
    (repo / ".git/worktrees/x/gitdir").write_text(f"{other}/.git\n")
    assert other_work_trees(str(repo)) == []


def test_a_partial_index_is_not_shared(repo: Path, second: Path) -> None:
    project = Engine.open(repo).projects[0]
    manifest = project.current_manifest()
    with project.store.lock(0):
        project.commit(manifest.replace(generation=manifest.generation + 1, skipped={"waiting": 3}))
    Engine.open(second).index()
    assert not segments(second).items() & segments(repo).items()


def test_a_tree_that_has_little_in_common_is_indexed_by_itself(repo: Path, second: Path, tmp_path: Path) -> None:
    write(repo, {f"more/m{number}.py": f"value = {number}\n" for number in range(40)})
    Engine.open(repo).index(rebuild=True)
    Engine.open(second).index()
    assert not segments(second).items() & segments(repo).items()
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_where_no_link_can_be_made_files_are_copied(
    repo: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", refuse)
    assert not Engine.open(second).search("redirects").degraded
    assert segments(second).keys() == segments(repo).keys()
    assert not set(segments(second).values()) & set(segments(repo).values())
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_a_segment_that_is_replaced_meanwhile_is_looked_for_again(
    repo: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = disk.link_file
    rebuilt: list[bool] = []

    def late(source: Path, target: Path) -> None:
        if not rebuilt:
            rebuilt.append(True)
            write(repo, {"src/late.py": "def late(): pass\n"})
            Engine.open(repo).index(rebuild=True)
        original(source, target)

    monkeypatch.setattr(disk, "link_file", late)
    assert not Engine.open(second).search("redirects").degraded
    assert rebuilt
    assert segments(second) == segments(repo)


def test_an_index_that_is_cleared_meanwhile_is_done_without(
    repo: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = disk.link_file

    def late(source: Path, target: Path) -> None:
        Engine.open(repo).clear()
        original(source, target)

    monkeypatch.setattr(disk, "link_file", late)
    assert not Engine.open(second).search("redirects").degraded
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_work_trees_that_are_written_cleared_and_made_at_once_all_answer_right(repo: Path, tmp_path: Path) -> None:
    """Several processes, each of them killed now and then."""
    write(repo, {f"src/m{number}.py": f"def redirects_{number}(): return {number}\n" for number in range(30)})
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "more")
    Engine.open(repo).index()
    trees = [repo, *(add_work_tree(repo, f"w{number}") for number in range(3))]

    def work(top: Path, number: int) -> None:
        chance = random.Random(number)
        for _ in range(12):
            with Engine.open(top, overrides={"index.workers": 1}) as engine:
                way = chance.choice(("clear", "search", "edit", "rebuild"))
                if way == "clear":
                    engine.clear()
                elif way == "rebuild":
                    engine.index(rebuild=True)
                elif way == "edit":
                    edit(top / "src", chance)
                engine.search("redirects")

    chance = random.Random(7)
    for turn in range(3):
        children = [forked(lambda top=top, number=number: work(top, number)) for number, top in enumerate(trees, 10 * turn)]  # type: ignore[misc]
        time.sleep(chance.uniform(0.05, 0.4))
        victim = chance.choice(children)
        os.kill(victim, signal.SIGKILL)
        states = [ended(child) for child in children]
        assert [state for state, child in zip(states, children, strict=True) if child != victim] == [0] * (len(trees) - 1)
        for top in trees:
            Engine.open(top).index()
            assert answers(Engine.open(top)) == fresh(top, tmp_path)
            assert unwell(top) == []


def test_edits_do_not_copy_what_is_linked(repo: Path, second: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_SEGMENTS", 2)
    Engine.open(second).index()
    shared = segments(second)
    for number in range(6):
        write(second, {f"src/new{number}.py": f"def new{number}(): pass\n"})
        Engine.open(second).index()
    assert shared.items() <= segments(second).items()
    assert len(segments(second)) <= 2 + 1


def test_a_work_tree_that_goes_another_way_is_merged_at_last(repo: Path, second: Path, tmp_path: Path) -> None:
    Engine.open(second).index()
    for path in (second / "src").glob("*.py"):
        path.unlink()
    for name in ("web/router.ts", "server/pool.go", "docs/guide.md"):
        (second / name).unlink()
    Engine.open(second).index()
    assert not segments(second).items() & segments(repo).items()
    assert answers(Engine.open(second)) == fresh(second, tmp_path)


def test_the_history_of_a_second_work_tree_is_not_read_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Engine.open(repo).index(history=True)
    second = add_work_tree(repo, "second")
    write(second, {"src/late.py": "def late(): pass\n"})
    git(second, "add", "-A")
    git(second, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "Add a late file")
    Engine.open(second).index(history=True)
    names = {path.name for path in (repo / ".lurcher/history").glob("*.segment")}
    assert names < {path.name for path in (second / ".lurcher/history").glob("*.segment")}
    assert Engine.open(second).history("late file").hits[0].to_dict()["commit"]["sha"] == git_head(second)
    assert Engine.open(second).status()["history"]["commits"] == 2
    assert Engine.open(repo).status()["history"]["commits"] == 1


# -- clones ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(repo: Path) -> Path:
    top = repo.parent / "clone"
    git(repo.parent, "clone", "-q", str(repo), str(top))
    return top


def test_a_clone_is_seeded_only_when_asked(repo: Path, clone: Path) -> None:
    Engine.open(repo).index()
    Engine.open(clone).search("redirects")
    assert not segments(clone).items() & segments(repo).items()
    Engine.open(clone).clear()
    Engine.open(clone).index(seed=repo)
    assert segments(clone) == segments(repo)


def test_a_seed_without_an_index_is_an_error(repo: Path, clone: Path) -> None:
    with pytest.raises(UsageError, match="no index to begin with"):
        Engine.open(clone).index(seed=repo)


def test_a_seed_for_an_index_that_is_there_is_an_error(repo: Path, clone: Path) -> None:
    Engine.open(repo).index()
    Engine.open(clone).index()
    with pytest.raises(UsageError, match="has an index already"):
        Engine.open(clone).index(seed=repo)
    with pytest.raises(UsageError, match="one other folder"):
        Engine.open(repo).index(seed=repo / "src")


# -- what is said of it ------------------------------------------------------------------------------------------------


def test_status_and_doctor_say_what_is_shared(repo: Path, second: Path) -> None:
    assert Engine.open(repo).status()["linked"] == {"bytes": 0, "with": []}
    Engine.open(second).index()
    linked = Engine.open(second).status()["linked"]
    assert linked == {"bytes": sum(path.stat().st_size for path in (repo / ".lurcher").glob("*.segment")), "with": [str(repo)]}
    with Engine.open(second) as engine:
        assert any("shared with" in found.message for found in examine(engine.projects[0], silent))
    assert own_bytes(second) < linked["bytes"]
    assert seed.seeding_indexes(Engine.open(second).projects[0])[0].root.place == str(repo)
