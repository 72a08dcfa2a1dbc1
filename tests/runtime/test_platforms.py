"""What only some systems have: nothing needs it at import, and what stands in for it on Windows works with fakes."""

from __future__ import annotations

import ast
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from lurcher.runtime import locks, process
from tests.conftest import WITHOUT_POSIX, run_lurcher
from tests.without_posix.sitecustomize import MODULES, OF_OS

PACKAGE = Path(process.__file__).parents[1]
ALLOWED = {
    "runtime/process.py": set(OF_OS) | {"kill"},
    "runtime/parallel.py": {"fork", "kill"},  # behind can_fork
    "indexing/inotify.py": {"O_NONBLOCK", "O_CLOEXEC"},  # after the check for Linux
    "indexing/seed.py": {"geteuid"},  # where there is one
    "server/history_fill.py": {"nice"},
    "server/session.py": {"nice"},
    "storage/disk.py": {"major", "minor"},
}
"""What of `os` a module may use that Windows lacks, or that does something else there."""


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_needs_what_only_posix_has(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not MODULES & set(names), f"line {node.lineno}"
    used = {
        node.attr for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
    }  # fmt: skip
    assert used & {*OF_OS, "kill"} <= ALLOWED.get(path.relative_to(PACKAGE).as_posix(), set())


def test_a_tree_is_indexed_and_searched_without_what_only_posix_has(repository: Path) -> None:
    hidden = {"TESTS_WITHOUT_POSIX": "1", "PYTHONPATH": str(WITHOUT_POSIX)}
    assert run_lurcher("index", repository, "-q", env=hidden).status == 0
    assert "src/client.py" in run_lurcher("search", "how are redirects followed", repository, env=hidden).out
    (repository / "src/client.py").write_text("def changed_at_once():\n    return 1\n")
    assert "changed_at_once" in run_lurcher("symbol", "changed_at_once", repository, env=hidden).out
    for command in ("status", "doctor"):
        assert run_lurcher(command, repository, env=hidden).status in (0, 1)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that believes to be on Windows, as far as files go."""
    monkeypatch.setattr(process, "WINDOWS", True)
    monkeypatch.setattr(process, "NO_FOLLOW", 0)
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "pwrite")


@pytest.mark.usefixtures("windows")
def test_a_link_is_refused_where_the_open_itself_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError) as caught:
        process.open_file(tmp_path / "link")
    assert caught.value.errno == errno.ELOOP
    for path, follow in (("file", False), ("link", True)):
        descriptor = process.open_file(tmp_path / path, follow=follow)
        assert process.map_file(descriptor, 4) == b"text"
        os.close(descriptor)


@pytest.mark.usefixtures("windows")
def test_reading_and_writing_at_a_place_need_no_pread(tmp_path: Path) -> None:
    descriptor = process.open_file(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    process.write_at(descriptor, b"0123456789", 0)
    process.write_at(descriptor, b"xy", 4)
    assert process.read_at(descriptor, 4, 3) == b"3xy6"
    os.close(descriptor)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("refusals", [0, 3])
def test_a_file_that_is_open_elsewhere_is_replaced_a_moment_later(
    refusals: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, replace = [PermissionError("in use")] * refusals, os.replace

    def refuse(source: str, target: str) -> None:
        if left:
            raise left.pop()
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    process.replace_file(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"


@pytest.mark.usefixtures("windows")
def test_a_file_that_stays_open_elsewhere_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: str) -> None:
        raise PermissionError("in use")

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(process, "_REPLACE_SECONDS", 0.0)
    with pytest.raises(PermissionError):
        process.replace_file(tmp_path / "new", tmp_path / "old")


def test_only_long_paths_get_their_long_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "abspath", lambda path: path)
    long = "x" * 250
    assert process.extended("C:\\short") == "C:\\short"
    assert process.extended(f"C:/{long}") == f"\\\\?\\C:\\{long}"
    assert process.extended(f"\\\\server\\share\\{long}") == f"\\\\?\\UNC\\server\\share\\{long}"
    assert process.extended(f"\\\\?\\C:\\{long}") == f"\\\\?\\C:\\{long}"


@pytest.fixture
def byte_locks(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, int]]:
    """msvcrt's locks of bytes, by inode, instead of flock; what is locked."""
    locked: set[tuple[int, int]] = set()

    def locking(descriptor: int, kind: int, count: int) -> None:
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        assert (kind, count) == (2, 1)
        if place in locked:
            raise PermissionError(errno.EACCES, "locked")
        locked.add(place)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    return locked


def test_one_holder_at_a_time_has_a_locked_byte_behind_the_file(tmp_path: Path, byte_locks: set[tuple[int, int]]) -> None:
    one = process.open_file(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    other = process.open_file(tmp_path / "lock", os.O_RDWR)
    process.write_at(one, b"17\n", 0)
    assert locks.lock(one)
    assert not locks.lock(other)
    assert {place for _, place in byte_locks} == {locks.FAR_BYTE}
    assert process.read_at(other, 10, 0) == b"17\n"
    byte_locks.clear()
    assert locks.lock(other, wait=True)
    os.close(one)
    os.close(other)


def test_a_system_without_locks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fcntl", "msvcrt"):
        monkeypatch.setitem(sys.modules, name, None)
    with (tmp_path / "lock").open("wb") as file, pytest.raises(locks.NoLocks):
        locks.lock(file.fileno())


@pytest.mark.parametrize(
    ("handle", "error", "waited", "runs"), [(0, 5, 0, True), (0, 87, 0, False), (7, 0, 258, True), (7, 0, 0, False)]
)
def test_windows_is_asked_whether_a_process_runs_without_ending_it(
    handle: int, error: int, waited: int, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer: Callable[[int], Callable[..., int]] = lambda number: lambda *_: number  # noqa: E731
    kernel32 = SimpleNamespace(
        OpenProcess=answer(handle), GetLastError=answer(error), WaitForSingleObject=answer(waited), CloseHandle=answer(1)
    )
    ctypes = ModuleType("ctypes")
    ctypes.windll = SimpleNamespace(kernel32=kernel32)  # type: ignore[attr-defined]
    monkeypatch.setattr(process, "WINDOWS", True)
    monkeypatch.setitem(sys.modules, "ctypes", ctypes)
    monkeypatch.setattr(os, "kill", None)
    assert process.is_running(1234) is runs
