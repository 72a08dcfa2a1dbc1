"""A tree that did not change is not listed; one that did is, if need be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lurcher.indexing import freshness, writer
from lurcher.indexing import root_index as projects
from lurcher.indexing.freshness import FINE_NS
from lurcher.sources import git as git_command
from lurcher.sources.git.refs import tracked_digest
from lurcher.storage import disk
from lurcher.storage.manifest import Manifest
from tests.indexing.conftest import WHO, git, opened, write
from tests.indexing.repositories import age, known, project_of, settled, truth, view


@pytest.mark.parametrize("kind", ["git", "walk"])
def test_a_tree_that_did_not_change_is_not_listed(
    root: Path, kind: str, request: pytest.FixtureRequest, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "git":
        request.getfixturevalue("repo")
    engine = settled(root)

    def no_process(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(git_command, "start", no_process)
    listings.clear()
    before = {path: path.stat().st_mtime_ns for path in (root / ".lurcher").iterdir()}
    for current in (engine, opened(root)):
        answer = current.search("redirects")
        assert (answer.index.fresh, answer.degraded) == (True, ())
    assert listings == []
    assert {path: path.stat().st_mtime_ns for path in (root / ".lurcher").iterdir()} == before


def test_an_edit_in_place_is_found_without_a_listing(repo: Path, listings: list[Path]) -> None:
    engine = settled(repo)
    listings.clear()
    write(repo, {"src/cookies.py": "def read_biscuit(): pass\n"})
    assert [hit.path for hit in engine.search("read_biscuit").hits] == ["src/cookies.py"]
    write(repo, {"src/cookies.py": "def read_cracker(): pass\n"})
    assert [hit.path for hit in opened(repo).search("read_cracker").hits] == ["src/cookies.py"]
    assert listings == []
    write(repo, {"src/new.py": "def read_wafer(): pass\n"})
    assert engine.search("read_wafer").hits[0].path == "src/new.py"
    assert len(listings) == 1


REWRITES = {
    "a commit": (*WHO, "commit", "-qam", "second"),
    "an added file": ("add", "-A"),
    "an index of another version": ("update-index", "--index-version", "4"),
    "an untracked cache": ("update-index", "--untracked-cache"),
}


@pytest.mark.parametrize("command", REWRITES.values(), ids=REWRITES)
def test_an_index_that_git_wrote_anew_with_the_same_files_needs_no_listing(
    repo: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    engine = settled(repo)
    listings.clear()
    write(repo, {"src/cookies.py": "def read_biscuit(): pass\n"})
    before = (repo / ".git/index").stat().st_mtime_ns
    git(repo, *command)
    assert (repo / ".git/index").stat().st_mtime_ns != before
    age()
    assert [hit.path for hit in engine.search("read_biscuit").hits] == ["src/cookies.py"]
    monkeypatch.setattr(git_command, "start", lambda *_, **__: pytest.fail("a process was started"))
    assert opened(repo).search("read_biscuit").index.fresh
    assert listings == []


def test_an_index_that_is_too_young_to_be_believed_is_requested_again(
    repo: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = settled(repo)
    listings.clear()
    git(repo, "update-index", "--index-version", "4")
    monkeypatch.setattr(freshness, "FINE_NS", 3600 * 10**9)
    kept = (repo / ".lurcher/manifest").read_bytes()
    for current in (engine, engine, opened(repo)):
        assert current.search("redirects").index.fresh
    assert (repo / ".lurcher/manifest").read_bytes() == kept
    assert listings == []


def test_what_git_no_longer_tracks_is_noticed_by_its_index(repo: Path, listings: list[Path]) -> None:
    write(repo, {"out/wafer.py": "def read_wafer(): pass\n"})
    git(repo, "add", "-f", "out/wafer.py")
    engine = settled(repo)
    assert engine.search("read_wafer").hits
    listings.clear()
    git(repo, "rm", "-q", "--cached", "out/wafer.py")
    assert not engine.search("read_wafer").hits
    assert listings


def test_a_file_that_becomes_a_repository_in_the_index_is_another(repo: Path) -> None:
    before = tracked_digest(str(repo))
    git(repo, "update-index", "--cacheinfo", f"100644,{'1' * 40},src/cookies.py")
    assert tracked_digest(str(repo)) == before
    git(repo, "update-index", "--cacheinfo", f"160000,{'1' * 40},src/cookies.py")
    assert tracked_digest(str(repo)) not in (before, "")
    assert tracked_digest(str(repo / "src")) == ""


def test_only_the_index_may_be_rewritten(repo: Path) -> None:
    project = project_of(settled(repo))
    signature = view(project).manifest.signature
    assert signature is not None and signature.index == ".git/index"
    about = signature.circumstances
    assert signature.reindexed(str(repo), about, 0) is None  # as it was
    git(repo, "update-index", "--index-version", "4")
    assert signature.reindexed(str(repo), about, 0) is not None
    for other in (
        signature.replace(tracked="0" * 32), signature.replace(tracked=""), signature.replace(index=".git/HEAD"),
        signature.replace(index="nowhere"), signature.replace(settled=False),
    ):  # fmt: skip
        assert other.reindexed(str(repo), about, 0) is None
    assert signature.reindexed(str(repo), "other settings", 0) is None
    git(repo, "config", "a.b", "c")
    assert signature.reindexed(str(repo), about, 0) is None


def test_after_a_first_index_that_took_its_time_the_second_question_is_quick(
    repo: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    age()
    monkeypatch.setattr(projects, "_LONG_UPDATE_SECONDS", 1.5 * FINE_NS / 1e9)
    original = writer.write_generation

    def slowly(*arguments: Any, **options: Any) -> Manifest:
        age()
        age()
        return original(*arguments, **options)

    monkeypatch.setattr(writer, "write_generation", slowly)
    opened(repo).refresh()
    listings.clear()
    opened(repo).search("redirects")
    assert listings == []


def test_a_file_that_grows_too_large_or_shrinks_again(repo: Path) -> None:
    project = project_of(opened(repo, max_file_bytes=300))
    view(project)
    age()
    view(project)
    for size in (10, 400, 299, 301, 5):
        (repo / "src/cookies.py").write_text("x" * size)
        assert known(view(project).manifest) == truth(project)


def test_an_index_inside_of_the_tree_is_no_change_of_the_tree(repo: Path, listings: list[Path]) -> None:
    for _ in range(3):
        age()
        opened(repo, repo / "own").refresh()
    listings.clear()
    assert opened(repo, repo / "own").search("redirects").index.fresh
    assert listings == []


def test_the_signature_is_stored_only_where_the_index_can_be_written(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age()
    opened(repo).refresh()  # the folder of the index makes the root young
    age()
    manifest = (repo / ".lurcher/manifest").read_bytes()
    project = project_of(opened(repo))
    with project_of(opened(repo)).store.lock(1):  # another writer is at work
        assert view(project).degraded == ()
    assert (repo / ".lurcher/manifest").read_bytes() == manifest

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(disk.AtomicFile, "__init__", refuse)
        assert view(project_of(opened(repo))).degraded == ()
        assert (repo / ".lurcher/manifest").read_bytes() == manifest
    generation = view(project).manifest.generation
    age()
    assert view(project).manifest.generation == generation
    assert (repo / ".lurcher/manifest").read_bytes() != manifest
    assert view(project_of(opened(repo))).manifest.generation == generation
