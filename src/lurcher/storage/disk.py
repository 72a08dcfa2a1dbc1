"""Every change that is made in an index folder, one named step at a time.

A file is written beside its name, flushed to disk, renamed, and the folder flushed: a name always stands for a whole file. A
crash, a full disk or a failing flush can come at any step; `watch` lets a test put one there.
"""

from __future__ import annotations

import itertools
import os
import stat

from lurcher.runtime.kernel import write_out
from lurcher.runtime.light import TYPE_CHECKING, suppress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import TracebackType
    from typing import IO, TypeAlias

STEPS = ("folder", "create", "write", "flush", "rename", "flush-folder", "remove", "lock", "touch")
"""What can be the last thing that a process did."""

Watcher: TypeAlias = "Callable[[str, Path], None]"
_watcher: Watcher | None = None
_numbers = itertools.count()
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""An index holds the text of files that may be their owner's alone: so is all of it, whatever the umask says."""
_AHEAD = 4 << 20
"""Bytes that are sent to the disk together."""


def watch(watcher: Watcher | None) -> None:
    """Have `watcher` called with the name of each step before it is taken, and the path concerned; None ends that."""
    global _watcher
    _watcher = watcher


def step(name: str, path: Path) -> None:
    if _watcher is not None:
        _watcher(name, path)


class Draft:
    """A file on its way to its name; what is not kept is removed. One that is `lasting` goes to the disk while it is written:
    the flush at its end would have to wait for all of it otherwise, with nothing else to do."""

    def __init__(self, folder: Path, label: str, *, lasting: bool = True) -> None:
        self.path = folder / f".{label}.{os.getpid()}-{next(_numbers)}.tmp"
        step("create", self.path)
        with suppress(FileNotFoundError):
            self.path.unlink()  # left by a process that was killed and had our number
        # Nothing is written through a link that lies there already.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
        self._handle: IO[bytes] = open(descriptor, "wb", buffering=1 << 18)  # noqa: SIM115
        self._kept = False
        self._lasting = lasting
        self._written = self._sent = 0

    def write(self, piece: bytes | memoryview) -> None:
        step("write", self.path)
        self._handle.write(piece)
        self._written += len(piece)
        if self._lasting and self._written - self._sent >= _AHEAD:
            self._handle.flush()
            write_out(self._handle.fileno(), self._sent, self._written - self._sent)
            self._sent = self._written

    def keep(self, name: str) -> Path:
        """Give the file its name, whole; one that need not outlive a power cut is not flushed."""
        self._handle.flush()
        if self._lasting:
            step("flush", self.path)
            os.fsync(self._handle.fileno())
        self._handle.close()
        target = self.path.with_name(name)
        step("rename", target)
        os.replace(self.path, target)
        self._kept = True
        if self._lasting:
            sync_folder(target.parent)
        return target

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._handle.close()
        if not self._kept:
            with suppress(OSError):
                self.path.unlink()


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """A file with this content, or no change at all."""
    with Draft(path.parent, path.name) as draft:
        for piece in pieces:
            draft.write(piece)
        draft.keep(path.name)


def write_scratch(path: Path, pieces: Iterable[bytes | memoryview]) -> Path:
    """A file that only this run needs."""
    # Named after the file it becomes: another process of this run may be writing one that has our next number.
    with Draft(path.parent, _label(path), lasting=False) as draft:
        for piece in pieces:
            draft.write(piece)
        return draft.keep(path.name)


def remove_scratch(path: Path) -> None:
    """Remove such a file, and what a process that was killed had written of it."""
    remove(path)
    with suppress(OSError):
        for draft in [name for name in os.listdir(path.parent) if name.startswith(f".{_label(path)}.")]:
            remove(path.parent / draft)


def _label(path: Path) -> str:
    return path.name.lstrip(".")


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can."""
    if os.name != "posix":
        return
    step("flush-folder", folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    if not folder.is_dir():
        step("folder", folder)
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        sync_folder(folder.parent)  # or all that it ever holds may be gone with it


def close_folder(folder: Path) -> None:
    """Keep others out of a folder that is ours: earlier versions, or whoever made it, may have let them in."""
    with suppress(OSError):
        status = os.lstat(folder)
        if os.name == "posix" and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(folder, status.st_mode & PRIVATE_FOLDER)  # one that may only be read stays so


def create(path: Path, text: str) -> None:
    """A small file, whole or not at all; one that is there stays as it is, unless a crash left it empty."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if status.st_size or not stat.S_ISREG(status.st_mode):
            return
    write_scratch(path, [text.encode()])


def remove(path: Path, *, must: bool = False) -> bool:
    """Remove a file, if that can be done or `must` be done; True if it was there."""
    try:
        step("remove", path)
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError:
        if must:
            raise
        return False
    return True


def touch(path: Path) -> int | None:
    """The time that the file system gives to a file that is touched now; None where it cannot be."""
    try:
        step("touch", path)
        os.utime(path, follow_symlinks=False)
        return path.lstat().st_mtime_ns
    except (OSError, NotImplementedError):
        return None
