"""No change goes unnoticed, and what did not change costs next to nothing.

FRESHNESS_EXAMPLES sets how many random histories of a tree are tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lurcher.engine import Engine
from lurcher.errors import CorruptIndex
from lurcher.indexing import build, freshness, writer
from lurcher.indexing import root_index as projects
from lurcher.indexing.freshness import FINE_NS, LONG_NS, check_tree, settle_signature
from lurcher.indexing.generation import View
from lurcher.indexing.root_index import RootIndex
from lurcher.sources import decode
from lurcher.sources import files as sources
from lurcher.sources import signature as standings
from lurcher.sources.decode import read_text
from lurcher.sources.files import Listing
from lurcher.sources.git import command as git_command
from lurcher.sources.git.refs import tracked_digest
from lurcher.sources.signature import TreeSignature
from lurcher.storage import disk
from lurcher.storage import manifest as manifests
from lurcher.storage.manifest import FileRow, Manifest
from tests.index.conftest import opened, write

EXAMPLES = int(os.environ.get("FRESHNESS_EXAMPLES", "25"))
WHO = ("-c", "user.name=n", "-c", "user.email=e@example.org")


@pytest.fixture(autouse=True)
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(root: Path) -> Path:
    write(root, {".gitignore": "*.log\nout/\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, *WHO, "commit", "-qm", "first")
    return root


def age() -> None:
    time.sleep(1.2 * freshness.FINE_NS / 1e9)


def project_of(engine: Engine) -> RootIndex:
    return engine.projects[0]


def view(project: RootIndex, **options: bool) -> View:
    return project.view(lambda *_: None, **options)


def settled(folder: Path) -> Engine:
    """An engine whose index knows the tree well enough for a glance."""
    age()
    engine = opened(folder)
    engine.refresh()
    age()
    engine.refresh()
    return engine


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files stay young for so long that even a busy machine reads them in time."""
    monkeypatch.setattr(freshness, "FINE_NS", 10**9)


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """One entry for each time that a tree is listed from here on."""
    seen: list[Path] = []
    original = RootIndex.list_files

    def list_files(project: RootIndex) -> Listing:
        seen.append(project.root.path)
        return original(project)

    monkeypatch.setattr(RootIndex, "list_files", list_files)
    return seen


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read from here on."""
    seen: list[str] = []

    def spy(path: Path | str, *arguments: Any, **options: Any) -> object:
        seen.append(Path(path).name)
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(build, "read_text", spy)
    monkeypatch.setattr(decode, "read_text", spy)
    return seen


def truth(project: RootIndex) -> dict[str, bytes]:
    """What an index of the tree has to know: every file that a listing shows, by its content."""
    found = {}
    for entry in project.list_files().entries:
        outcome = read_text(project.root.path / entry.path, project.settings.index.max_file_bytes)
        found[entry.path] = bytes.fromhex(outcome.digest) if outcome.digest else bytes(16)
    return found


def known(manifest: Manifest) -> dict[str, bytes]:
    return {path: row.digest for path, row in manifest.rows.items()}


# -- the glance -----------------------------------------------------------------------------------------------------------


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


def test_an_index_that_is_too_young_to_be_believed_is_asked_for_again(
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


def test_only_the_index_may_be_written_anew(repo: Path) -> None:
    project = project_of(settled(repo))
    standing = view(project).manifest.signature
    assert standing is not None and standing.index == ".git/index"
    about = standing.circumstances
    assert standing.reindexed(str(repo), about, 0) is None  # as it was
    git(repo, "update-index", "--index-version", "4")
    assert standing.reindexed(str(repo), about, 0) is not None
    for other in (
        replace(standing, tracked="0" * 32), replace(standing, tracked=""), replace(standing, index=".git/HEAD"),
        replace(standing, index="nowhere"), replace(standing, settled=False),
    ):  # fmt: skip
        assert other.reindexed(str(repo), about, 0) is None
    assert standing.reindexed(str(repo), "other settings", 0) is None
    git(repo, "config", "a.b", "c")
    assert standing.reindexed(str(repo), about, 0) is None


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


def test_what_a_glance_goes_by_is_kept_only_where_that_can_be_done(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


# -- time stamps ----------------------------------------------------------------------------------------------------------


def test_an_edit_that_keeps_size_and_modification_time_is_noticed(repo: Path) -> None:
    path = repo / "src/cookies.py"
    project = project_of(opened(repo))
    for number in range(40):  # as fast as can be, so that several fall into one tick of the clock
        status = path.stat()
        path.write_text(f"value_{number:04} = 1\n".ljust(status.st_size, "#")[: status.st_size])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert known(view(project).manifest) == truth(project)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_edit_while_a_file_is_read_is_noticed_the_next_time(repo: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    path = repo / "src/cookies.py"
    project = project_of(opened(repo))
    view(project)
    path.write_text("value = 111\n")
    status = path.stat()

    def edit() -> None:
        path.write_text("value = 222\n")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def meanwhile(name: Path, *arguments: Any, **options: Any) -> object:
        if when == "before" and name == path:
            edit()
        outcome = read_text(name, *arguments, **options)
        if when == "after" and name == path:
            edit()
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(build, "read_text", meanwhile)
        view(project)
    assert known(view(project).manifest) == truth(project)
    assert known(view(project_of(opened(repo))).manifest) == truth(project)


def test_young_files_are_read_again_once(repo: Path, read: list[str], patient: None) -> None:
    for path in repo.rglob("*.*"):
        if path.is_file() and ".git" not in path.parts:
            path.touch()
    opened(repo).refresh()
    assert len(read) == 6
    age()
    read.clear()
    opened(repo).search("redirects")
    assert len(read) == 6
    read.clear()
    for _ in range(3):
        opened(repo).search("redirects")
    assert read == []


def test_a_modification_time_in_the_future_costs_nothing(repo: Path, read: list[str]) -> None:
    for ahead in (3600, 10**9):
        os.utime(repo / "src/cookies.py", ns=(0, time.time_ns() + ahead * 10**9))
        settled(repo)
        read.clear()
        opened(repo).search("redirects")
        assert read == []
    (repo / "src/cookies.py").write_text("def read_biscuit(): pass\n")
    assert opened(repo).search("read_biscuit").hits


@pytest.mark.parametrize("with_kernel", [True, False], ids=["kernel", "reference"])
@pytest.mark.parametrize("name", ["src/cookies.py", "src", ".git/HEAD"])
def test_a_time_that_no_number_holds_hinders_nothing(
    repo: Path, read: list[str], name: str, with_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_kernel:
        for module in (freshness, standings):
            monkeypatch.setattr(module, "native", lambda: None)
    os.utime(repo / name, ns=(0, 1 << 63 | 10**9))  # in the year 2262
    if (repo / name).stat().st_mtime_ns != 1 << 63 | 10**9:
        pytest.skip("the file system has no such times")
    settled(repo)
    read.clear()
    assert opened(repo).search("redirects").hits
    assert read == []
    (repo / "src/cookies.py").write_text("def read_biscuit(): pass\n")
    assert opened(repo).search("read_biscuit").hits


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Sets our clock off against that of the file system, by seconds."""
    offset = [0.0]
    real = time.time_ns

    class Clock:
        time_ns = staticmethod(lambda: real() + int(offset[0] * 1e9))
        monotonic, monotonic_ns, sleep = time.monotonic, time.monotonic_ns, time.sleep

    for module in (projects, sources):
        monkeypatch.setattr(module, "time", Clock)
    yield lambda seconds: offset.__setitem__(0, seconds)


def test_where_the_file_system_is_ahead_of_us_files_are_believed_after_a_while(
    repo: Path, clock: Callable[[float], None], read: list[str], listings: list[Path]
) -> None:
    clock(-3600)
    age()
    opened(repo).refresh()
    for seconds in (1, 5):
        clock(-3600 + seconds)
        read.clear()
        opened(repo).search("redirects")
        assert len(read) == 6
    clock(-3600 + 2 * LONG_NS / 1e9)
    opened(repo).search("redirects")
    read.clear()
    listings.clear()
    opened(repo).search("redirects")
    assert (read, listings) == ([], [])
    write(repo, {"src/cookies.py": "def read_biscuit(): pass\n"})
    assert opened(repo).search("read_biscuit").hits
    assert len(read) == 1


def test_where_the_file_system_is_behind_us_its_own_clock_counts(
    repo: Path, clock: Callable[[float], None], read: list[str], patient: None
) -> None:
    clock(3600)
    (repo / "src/cookies.py").touch()
    opened(repo).refresh()
    read.clear()
    opened(repo).search("redirects")
    assert "cookies.py" in read
    age()
    opened(repo).search("redirects")
    read.clear()
    opened(repo).search("redirects")
    assert read == []


def test_a_standing_is_believed_by_the_same_rule() -> None:
    now = 1_700_000_000_123_456_789
    old, young = (1, 5, 5, 1), (1, 5, now, 2)

    def made(started: int = now, **parts: Any) -> TreeSignature:
        return TreeSignature("", **{"folders": {"": old}, **parts}, started_ns=started)

    def believed(new: TreeSignature, known: TreeSignature | None = None, checked: int = now) -> bool:
        result = settle_signature(new, known, checked)
        assert result is not None
        return result.settled

    assert believed(made())
    for part in ("folders", "files", "git"):
        assert not believed(made(**{part: {"x": young}}))
        assert believed(made(**{part: {"x": young}}), None, now + FINE_NS + 1)
    future = made(folders={"": young}, started=now - LONG_NS)
    assert not believed(future, future, now - LONG_NS)
    assert believed(replace(future, started_ns=now + 1), future, now)
    assert not believed(replace(future, started_ns=now - 1), future, now)
    assert not believed(replace(future, started_ns=now + 1, folders={"": (1, 6, now, 2)}), future, now)
    assert settle_signature(None, future, now) is None


# -- the truth ------------------------------------------------------------------------------------------------------------


def test_everything_or_nothing_can_be_indexed_before_an_answer(repo: Path) -> None:
    opened(repo).refresh()
    write(repo, {f"many/{i}.py": f"zeppelin_{i} = 1\n" for i in range(30)})
    never = opened(repo, refresh_limit=0).search("zeppelin_1")
    assert (never.index.fresh, never.index.stale_paths, never.hits) == (False, 30, ())
    steps: list[str] = []
    always = opened(repo, refresh_limit=-1).search("zeppelin_1", progress=lambda what, done, total: steps.append(what))
    assert (always.index.fresh, always.index.stale_paths, always.hits[0].path) == (True, 0, "many/1.py")
    assert set(steps) == {"indexing"}


def test_files_that_were_only_touched_are_not_stale(repo: Path) -> None:
    engine = settled(repo)
    for name in ("src/cookies.py", "src/client.py"):
        (repo / name).touch()
    (repo / "docs/guide.md").chmod(0o600)
    (repo / "picture.bin2").write_bytes(b"\0\1\2")
    state = engine.search("redirects", refresh=False).index
    assert (state.fresh, state.stale_paths) == (True, 0)
    write(repo, {"src/client.py": "x = 1\n", "new.py": "y = 1\n"})
    (repo / "docs/guide.md").unlink()
    state = engine.search("redirects", refresh=False).index
    assert (state.fresh, state.stale_paths) == (False, 3)


def test_where_very_many_have_new_stamps_these_count(repo: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    engine = settled(repo)
    monkeypatch.setattr(freshness, "MAX_READ_TO_COUNT", 1)
    for name in ("src/cookies.py", "src/client.py"):
        (repo / name).touch()
    read.clear()
    assert engine.search("redirects", refresh=False).index.stale_paths == 2
    assert read == []


def test_a_young_file_is_not_called_fresh_unread_while_another_process_writes(repo: Path) -> None:
    path = repo / "src/cookies.py"
    path.write_text("value = 111\n")
    engine = opened(repo, lock_seconds=0.01)
    engine.refresh()
    row = view(project_of(engine)).manifest.rows["src/cookies.py"]
    path.write_text("value = 222\n")
    os.utime(path, ns=(row.mtime_ns, row.mtime_ns))
    with project_of(opened(repo)).store.lock(1):
        answer = engine.search("value")
    assert (answer.index.fresh, answer.index.stale_paths) == (False, 1)
    assert any("is writing the index" in note.reason for note in answer.degraded)
    path.write_text("value = 111\n")
    with project_of(opened(repo)).store.lock(1):
        answer = engine.search("value")
    assert (answer.index.fresh, answer.index.stale_paths) == (True, 0)


def test_where_nothing_can_be_written_the_answer_is_still_right(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(disk, "make_folder", refuse)
    engine = opened(repo)
    for number in range(3):
        write(repo, {"src/cookies.py": f"def read_biscuit_{number}(): pass\n"})
        answer = engine.search(f"read_biscuit_{number}")
        assert (answer.index.fresh, answer.hits[0].path) == (True, "src/cookies.py")
        assert any("memory only" in note.reason for note in answer.degraded)
    assert not (repo / ".lurcher").exists()


def test_what_changes_while_much_is_indexed_is_indexed_too(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "_LONG_UPDATE_SECONDS", 0)
    original = writer.write_generation
    rounds: list[int] = []

    def meanwhile(*arguments: Any, **options: Any) -> Manifest:
        result = original(*arguments, **options)
        if not rounds:
            write(repo, {"late.py": "def zeppelin(): pass\n"})
        rounds.append(1)
        return result

    monkeypatch.setattr(writer, "write_generation", meanwhile)
    answer = opened(repo).search("zeppelin")
    assert [hit.path for hit in answer.hits] == ["late.py"]
    assert 2 <= len(rounds) <= projects._MAX_UPDATES


def test_a_file_that_vanishes_while_it_is_read_is_not_in_the_index(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = settled(repo)
    path = repo / "src/cookies.py"

    def vanishing(name: str, *arguments: Any, **options: Any) -> object:
        if name == str(path):
            path.unlink()
        return read_text(name, *arguments, **options)

    path.touch()
    monkeypatch.setattr(build, "read_text", vanishing)
    assert "src/cookies.py" not in view(project_of(engine)).manifest.rows


# -- several threads, hostile manifests -----------------------------------------------------------------------------------


def test_threads_that_wait_for_a_look_share_what_it_finds(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(settled(repo))
    looks: list[int] = []
    entered, leave = threading.Event(), threading.Event()
    original = RootIndex._compare

    def slowly(self: RootIndex, manifest: Manifest) -> object:
        looks.append(1)
        entered.set()
        leave.wait(10)
        return original(self, manifest)

    monkeypatch.setattr(RootIndex, "_compare", slowly)
    views: list[View] = []
    threads = [threading.Thread(target=lambda: views.append(view(project))) for _ in range(9)]
    threads[0].start()
    assert entered.wait(120)
    write(repo, {"src/cookies.py": "def read_biscuit(): pass\n"})  # before the others ask: they must see it
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.05)
    leave.set()
    for thread in threads:
        thread.join(120)
    assert len(looks) <= 3
    assert all(known(found.manifest) == truth(project) for found in views[1:])


def test_one_after_the_other_each_question_looks(repo: Path) -> None:
    project = project_of(settled(repo))
    for number in range(5):
        write(repo, {"src/cookies.py": f"value = {number}\n"})
        assert known(view(project).manifest) == truth(project)


ROW = FileRow(b"d" * 16, 1, 2, 3, 4, manifests.NO_SEGMENT, 0)
FOLDER = (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("rows", "standing"),
    [
        ({"../x.py": ROW}, None),
        ({"a/../../x.py": ROW}, None),
        ({"a/..": ROW}, None),
        ({}, TreeSignature("", {"..": FOLDER})),
        ({}, TreeSignature("", {"a/../..": FOLDER})),
        ({}, TreeSignature("", {"": FOLDER, "/etc": FOLDER})),
        ({}, TreeSignature("", {"/etc": FOLDER})),
        ({}, TreeSignature("", {"": FOLDER}, {"../x": FOLDER})),
        ({}, TreeSignature("", {"": FOLDER}, {"/etc/passwd": FOLDER})),
    ],
)
def test_a_manifest_cannot_lead_out_of_the_tree(
    tmp_path: Path, rows: dict[str, FileRow], standing: TreeSignature | None
) -> None:
    print_ = manifests.make_fingerprint(1500, "none")
    manifests.write_manifest(tmp_path, Manifest(1, print_, (), rows, {}, 5, frozenset(), standing))
    with pytest.raises(CorruptIndex):
        manifests.read_manifest(tmp_path, print_)


def test_names_with_dots_are_only_names(tmp_path: Path) -> None:
    print_ = manifests.make_fingerprint(1500, "none")
    folders, read_by_git = {"": FOLDER, "a..b": FOLDER, "..c": FOLDER}, {"/x/../y": FOLDER, "z\udcff": FOLDER}
    standing = TreeSignature("c", folders, {"d..": FOLDER}, read_by_git, 7, True)
    written = Manifest(1, print_, (), {"a..b/x..y": ROW, "..c/...": ROW}, {}, 5, frozenset({"..c/..."}), standing)
    manifests.write_manifest(tmp_path, written)
    assert manifests.read_manifest(tmp_path, print_) == replace(written, rows=dict(sorted(written.rows.items())))


def test_a_row_behind_a_link_is_not_looked_at(repo: Path, tmp_path: Path) -> None:
    """Whatever a manifest claims: only what lies in folders that are folders is believed to be in the tree."""
    write(tmp_path / "outside", {"secret.py": "password = 1\n"})
    (repo / "link").symlink_to(tmp_path / "outside")
    project = project_of(settled(repo))
    manifest = view(project).manifest
    about = sources.circumstances(project.root, projects.listing_settings(project.settings))
    assert manifest.signature is not None
    assert check_tree(manifest, repo, about, 10**6) is not None
    forged = replace(manifest, rows={**manifest.rows, "link/secret.py": ROW})
    assert check_tree(forged, repo, about, 10**6) is None
    status = (repo / "link").lstat()
    link = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    standing = replace(manifest.signature, folders={**manifest.signature.folders, "link": link})
    assert check_tree(replace(forged, signature=standing), repo, about, 10**6) is None
    inner = replace(manifest.signature, folders={**manifest.signature.folders, "no/where": link})
    assert check_tree(replace(forged, signature=inner), repo, about, 10**6) is None


# -- random histories -----------------------------------------------------------------------------------------------------

PLACES = ("", "src/", "src/deep/", "out/", "empty/", "empty/er/", "inner/", "inner/sub/", "build/")
NAMES = ("a.py", "b.py", "c.log", "d.txt", "e.png")
RULES = ("*.log\n", "out/\n", "src\n", "a.py\n!b.py\n", "", "*\n", "/empty/\n!/src/\n", "inner/\nd.txt\n", "*.txt\nbuild/\n")
RULE_FILES = (
    *(".gitignore", "src/.gitignore", ".lurcherignore", "src/.lurcherignore", ".git/info/exclude", "inner/.gitignore"),
    "out/.gitignore",
)
ACTIONS = (
    *("write", "write", "same size", "same stamp", "edit", "edit", "edit", "delete", "rename", "touch", "mode", "folder"),
    *("remove folder", "rename folder", "rules", "rules", "no rules", "add", "force", "untrack", "commit", "branch"),
    *("checkout", "nest", "unnest", "wait"),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=14)


def act(root: Path, action: str, one: int, two: int) -> None:
    """One thing that people and programs do to a work tree; what cannot be done is not."""
    path = root / (PLACES[one % len(PLACES)] + NAMES[two % len(NAMES)])
    files = sorted(p for p in root.rglob("*") if p.is_file() and not {".git", ".lurcher"} & set(p.parts))
    some = files[one % len(files)] if files else path
    folder = root / PLACES[1 + one % (len(PLACES) - 1)]
    if action == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value_{two} = {one}\n")
    elif action == "edit" and files:
        some.write_text(f"value_{two} = {two}\n")
    elif action in ("same size", "same stamp") and files:
        status = some.stat()
        some.write_bytes(b"xyz"[two % 3 : two % 3 + 1] * status.st_size)
        if action == "same stamp":
            os.utime(some, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif action == "delete" and files:
        some.unlink()
    elif action == "rename" and files:
        path.parent.mkdir(parents=True, exist_ok=True)
        some.rename(path)
    elif action == "touch" and files:
        os.utime(some, ns=(two, two))
    elif action == "mode" and files:
        some.chmod((0o644, 0o755)[two % 2])
    elif action == "folder":
        folder.mkdir(parents=True, exist_ok=True)
    elif action == "remove folder":
        shutil.rmtree(folder, ignore_errors=True)
    elif action == "rename folder" and folder.is_dir():
        target = root / f"{PLACES[two % len(PLACES)]}moved{two % 3}"
        if target.parent.is_dir() and not target.exists() and folder not in target.parents:
            folder.rename(target)
    elif action == "rules":
        rules = root / RULE_FILES[one % len(RULE_FILES)]
        if rules.parent.is_dir():
            rules.write_text(RULES[two % len(RULES)])
    elif action == "no rules":
        (root / RULE_FILES[one % len(RULE_FILES)]).unlink(missing_ok=True)
    elif action == "wait":
        time.sleep(0.03)
    elif action == "nest":
        nested = root / ("inner", "src/deep")[one % 2]
        nested.mkdir(parents=True, exist_ok=True)
        git(nested, "init", "-q")
        if two % 2:
            git(nested, *WHO, "commit", "-q", "--allow-empty", "-m", "x")
    elif action == "unnest":
        shutil.rmtree(root / ("inner", "src/deep")[one % 2] / ".git", ignore_errors=True)
    else:
        command = {
            "add": ("add", "-A"), "force": ("add", "-f", "."), "untrack": ("rm", "-rqf", "--cached", "--ignore-unmatch", "src"),
            "commit": (*WHO, "commit", "-qam", "x", "--allow-empty"), "branch": ("branch", f"b{one % 3}"),
            "checkout": ("checkout", "-qf", f"b{one % 3}"),
        }.get(action)  # fmt: skip
        if command:
            subprocess.run(["git", "-c", "advice.addEmbeddedRepo=false", *command], cwd=root, capture_output=True)


GLANCES = [0, 0]


@given(STEPS, st.booleans())
@example([("force", 0, 0), ("branch", 0, 0), ("checkout", 0, 0)], False)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_after_any_history_the_index_has_what_a_listing_shows(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int, int]], again: bool
) -> None:
    """Nobody waits here for time stamps to become old. The margin is smaller than usual, so that glances do happen."""
    monkeypatch.setattr(freshness, "FINE_NS", 15_000_000)
    root = tmp_path_factory.mktemp("history")
    try:
        write(root, {"a.py": "a = 1\n", "src/b.py": "b = 1\n", "src/deep/a.py": "c\n", ".gitignore": "*.log\n", "c.log": "x"})
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, *WHO, "commit", "-qm", "first")
        time.sleep(0.02)
        project = project_of(opened(root))
        for action, one, two in [("wait", 0, 0), *steps]:
            view(project)
            act(root, action, one, two)
            manifest = view(project).manifest
            assert known(manifest) == truth(project), action
            GLANCES[0] += glanced(project, manifest)
            GLANCES[1] += 1
            if again:
                project = project_of(opened(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def glanced(project: RootIndex, manifest: Manifest) -> bool:
    """Whether a glance would do; then it must say what a listing says."""
    chosen = projects.listing_settings(project.settings)
    changes = check_tree(manifest, project.root.path, sources.circumstances(project.root, chosen), chosen.max_file_bytes)
    assert changes is None or not changes.gone
    return changes is not None


def test_in_those_histories_a_glance_is_often_enough() -> None:
    if not GLANCES[1]:
        pytest.skip("needs the histories")
    assert GLANCES[0] > GLANCES[1] / 20

