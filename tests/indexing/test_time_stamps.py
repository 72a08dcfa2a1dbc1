"""Which time stamps are trusted, and when files are read again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher import sources
from lurcher.indexing import build, freshness, root_index
from lurcher.indexing.freshness import FINE_NS, LONG_NS, settle_signature
from lurcher.sources import TreeSignature, listing
from lurcher.sources.decode import read_text
from tests.indexing.conftest import opened, write
from tests.indexing.repositories import age, known, project_of, settled, truth, view


def test_an_edit_with_equal_size_and_modification_time_is_noticed(repo: Path) -> None:
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
        for module in (freshness, sources):
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

    for module in (root_index, listing):
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


def test_a_signature_is_trusted_by_the_same_rule() -> None:
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
    assert believed(future.replace(started_ns=now + 1), future, now)
    assert not believed(future.replace(started_ns=now - 1), future, now)
    assert not believed(future.replace(started_ns=now + 1, folders={"": (1, 6, now, 2)}), future, now)
    assert settle_signature(None, future, now) is None
