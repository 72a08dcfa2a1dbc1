"""No change goes unnoticed, whoever writes, reads or damages the index meanwhile."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lurcher import sources as sources
from lurcher.errors import CorruptIndex
from lurcher.indexing import View, build, freshness, writer
from lurcher.indexing import root_index as projects
from lurcher.indexing.freshness import check_tree
from lurcher.indexing.root_index import RootIndex
from lurcher.sources import TreeSignature
from lurcher.sources.decode import read_text
from lurcher.storage import disk
from lurcher.storage import manifest as manifests
from lurcher.storage.manifest import FileRow, Manifest
from tests.indexing.conftest import opened, write
from tests.indexing.repositories import known, project_of, settled, truth, view


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


def test_threads_that_wait_for_a_check_share_its_result(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_each_of_several_consecutive_queries_checks_the_tree(repo: Path) -> None:
    project = project_of(settled(repo))
    for number in range(5):
        write(repo, {"src/cookies.py": f"value = {number}\n"})
        assert known(view(project).manifest) == truth(project)


ROW = FileRow(b"d" * 16, 1, 2, 3, 4, manifests.NO_SEGMENT, 0)
FOLDER = (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("rows", "signature"),
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
    tmp_path: Path, rows: dict[str, FileRow], signature: TreeSignature | None
) -> None:
    print_ = manifests.make_fingerprint(1500, "none")
    manifests.write_manifest(tmp_path, Manifest(1, print_, (), rows, {}, 5, frozenset(), signature))
    with pytest.raises(CorruptIndex):
        manifests.read_manifest(tmp_path, print_)


def test_names_with_dots_are_only_names(tmp_path: Path) -> None:
    print_ = manifests.make_fingerprint(1500, "none")
    folders, read_by_git = {"": FOLDER, "a..b": FOLDER, "..c": FOLDER}, {"/x/../y": FOLDER, "z\udcff": FOLDER}
    signature = TreeSignature("c", folders, {"d..": FOLDER}, read_by_git, 7, True)
    written = Manifest(1, print_, (), {"a..b/x..y": ROW, "..c/...": ROW}, {}, 5, frozenset({"..c/..."}), signature)
    manifests.write_manifest(tmp_path, written)
    assert manifests.read_manifest(tmp_path, print_) == written.replace(rows=dict(sorted(written.rows.items())))


def test_a_row_behind_a_link_is_not_checked(repo: Path, tmp_path: Path) -> None:
    """Whatever a manifest claims: only what lies in folders that are folders is believed to be in the tree."""
    write(tmp_path / "outside", {"secret.py": "password = 1\n"})
    (repo / "link").symlink_to(tmp_path / "outside")
    project = project_of(settled(repo))
    manifest = view(project).manifest
    about = sources.circumstances(project.root, projects.listing_settings(project.settings))
    assert manifest.signature is not None
    assert check_tree(manifest, repo, about, 10**6) is not None
    forged = manifest.replace(rows={**manifest.rows, "link/secret.py": ROW})
    assert check_tree(forged, repo, about, 10**6) is None
    status = (repo / "link").lstat()
    link = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    signature = manifest.signature.replace(folders={**manifest.signature.folders, "link": link})
    assert check_tree(forged.replace(signature=signature), repo, about, 10**6) is None
    inner = manifest.signature.replace(folders={**manifest.signature.folders, "no/where": link})
    assert check_tree(forged.replace(signature=inner), repo, about, 10**6) is None
