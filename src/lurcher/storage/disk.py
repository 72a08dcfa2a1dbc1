"""Every change that is made in an index folder, one named step at a time; and its lock.

A file is written under a temporary name, flushed to disk and renamed, then the folder is flushed: a name always belongs to a
complete file. A crash, a full disk or a failing flush can happen at any step; `observe_steps` lets tests inject them.

The lock lets one writer in at a time and is freed by the system when its holder dies. The lock file names the holder and the
file that it is parsing. Native code of a grammar can crash the process; the next holder of the lock finds the name still there
and parses that file in a child process.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lurcher.errors import IndexLocked
from lurcher.runtime.kernel import start_writeback
from lurcher.runtime.process import open_file, pause, read_at, replace_file, user_id, write_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import TracebackType
    from typing import IO, TypeAlias


STEPS = ("folder", "create", "write", "flush", "rename", "flush-folder", "remove", "lock", "touch", "link")
"""Names of the steps; a process can die after any of them."""

StepObserver: TypeAlias = "Callable[[str, Path], None]"
_observer: StepObserver | None = None
_counter = itertools.count()
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
"""Modes. An index holds the text of files that may be private, so it is private, whatever the umask says."""
_WRITEBACK_BYTES = 4 << 20
"""Bytes after which writing to disk is started."""
_UNLINKABLE = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)
"""Errors of a file that cannot have a second name, or not there: another file system, or one without links."""


def observe_steps(observer: StepObserver | None) -> None:
    """Have `observer` called with name and path of each step before it is taken; None ends that."""
    global _observer
    _observer = observer


def announce_step(name: str, path: Path) -> None:
    if _observer is not None:
        _observer(name, path)


class AtomicFile:
    """A file under a temporary name, removed unless it is committed.

    A `durable` file goes to disk while it is written; else the flush at the end would have to wait for all of it.
    """

    def __init__(self, folder: Path, label: str, *, durable: bool = True) -> None:
        self.path = folder / f".{label}.{os.getpid()}-{next(_counter)}.tmp"
        announce_step("create", self.path)
        with suppress(FileNotFoundError):
            self.path.unlink()  # left by a killed process that had our process id
        # O_EXCL: nothing is written through an existing link.
        descriptor = open_file(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._handle: IO[bytes] = open(descriptor, "wb", buffering=1 << 18)  # noqa: SIM115
        self._committed = False
        self._durable = durable
        self._written = self._sent = 0

    def write(self, piece: bytes | memoryview) -> None:
        announce_step("write", self.path)
        self._handle.write(piece)
        self._written += len(piece)
        if self._durable and self._written - self._sent >= _WRITEBACK_BYTES:
            self._handle.flush()
            start_writeback(self._handle.fileno(), self._sent, self._written - self._sent)
            self._sent = self._written

    def commit(self, name: str) -> Path:
        """Flush the file if it is durable, and rename it to its final name."""
        self._handle.flush()
        if self._durable:
            announce_step("flush", self.path)
            os.fsync(self._handle.fileno())
        self._handle.close()
        target = self.path.with_name(name)
        announce_step("rename", target)
        replace_file(self.path, target)
        self._committed = True
        if self._durable:
            sync_folder(target.parent)
        return target

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._handle.close()
        if not self._committed:
            with suppress(OSError):
                self.path.unlink()


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file completely, or change nothing."""
    with AtomicFile(path.parent, path.name) as draft:
        for piece in pieces:
            draft.write(piece)
        draft.commit(path.name)


def write_scratch(path: Path, pieces: Iterable[bytes | memoryview]) -> Path:
    """Write a file that need not survive a power cut."""
    # Labelled with the final name: a forked process has the same counter.
    with AtomicFile(path.parent, _temporary_label(path), durable=False) as draft:
        for piece in pieces:
            draft.write(piece)
        return draft.commit(path.name)


def remove_scratch(path: Path) -> None:
    """Remove a scratch file, and what a killed process has written of it."""
    remove_file(path)
    with suppress(OSError):
        for draft in [name for name in os.listdir(path.parent) if name.startswith(f".{_temporary_label(path)}.")]:
            remove_file(path.parent / draft)


def _temporary_label(path: Path) -> str:
    return path.name.lstrip(".")


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power cut, where the system can."""
    if os.name != "posix":
        return
    announce_step("flush-folder", folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    if not folder.is_dir():
        announce_step("folder", folder)
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        sync_folder(folder.parent)  # or a power cut may lose the folder with everything in it


def restrict_folder(folder: Path) -> None:
    """Make an index folder private: older versions, or its creator, may have left it open."""
    with suppress(OSError):
        status = os.lstat(folder)
        if os.name == "posix" and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 and status.st_uid == user_id():
            os.chmod(folder, status.st_mode & PRIVATE_FOLDER)  # a read-only folder stays read-only


def create_file(path: Path, text: str) -> None:
    """Create a small file, unless it exists and is not empty (a crash may have left it so)."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if status.st_size or not stat.S_ISREG(status.st_mode):
            return
    write_scratch(path, [text.encode()])


def link_file(source: Path, target: Path) -> None:
    """Give a file that is never changed a second name; where that is impossible, as on another file system, copy it.

    The name survives a power cut once the folder is flushed. FileNotFoundError if the file is gone.
    """
    announce_step("link", target)
    with suppress(FileNotFoundError):
        target.unlink()  # left by a killed process
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        _copy_file(source, target)


def _copy_file(source: Path, target: Path) -> None:
    descriptor = open_file(source)
    with open(descriptor, "rb") as handle, AtomicFile(target.parent, "copy") as draft:
        while piece := handle.read(_WRITEBACK_BYTES):
            draft.write(piece)
        draft.commit(target.name)


def remove_file(path: Path, *, must: bool = False) -> bool:
    """Remove a file; True if it existed. Errors are ignored unless it `must` be removed."""
    try:
        announce_step("remove", path)
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError:
        if must:
            raise
        return False
    return True


def touch_file(path: Path) -> int | None:
    """Touch a file and return its new modification time; None where that is not possible."""
    try:
        announce_step("touch", path)
        os.utime(path, follow_symlinks=False)
        return path.lstat().st_mtime_ns
    except (OSError, NotImplementedError):
        return None


LOCK_NAME = "lock"
_UNKNOWN = 0
_MAX_PATH_BYTES = 4096
_POLL_SECONDS = 0.02


class IndexLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.suspect = _read(descriptor)[1]
        """The file that the last holder was parsing when it died; empty if it ended normally."""
        self._write("")

    @classmethod
    def acquire(cls, path: Path, seconds: float) -> IndexLock:
        """Wait for the lock; IndexLocked if that takes longer than `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            announce_step("lock", path)
            descriptor = _open(path)
            try:
                _acquire(descriptor, deadline)
                # While we waited, the file may have been removed and created again.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                        return cls(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def note_parsing(self, path: str) -> None:
        """Record the file that is parsed now; empty for none."""
        self._write(path)

    def release(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def _write(self, path: str) -> None:
        # One write without truncating: the rest of a longer name lies behind the zero.
        with suppress(OSError):
            write_at(
                self._descriptor, f"{os.getpid()}\n".encode() + path.encode("utf-8", "replace")[:_MAX_PATH_BYTES] + b"\0", 0
            )


def find_holder(folder: Path) -> int | None:
    """The id of the process that writes the index in `folder`, 0 where it is unknown; None where nobody writes.

    Raises OSError on a file system without locks.
    """
    try:
        descriptor = open_file(folder / LOCK_NAME)
    except OSError:  # never locked, or not readable
        return None
    from lurcher.runtime.locks import NoLocks, lock

    try:
        if lock(descriptor, exclusive=False):
            return None
        return _holder_from_system(descriptor) or _read(descriptor)[0] or _UNKNOWN
    except NoLocks:
        return None
    finally:
        os.close(descriptor)


def _holder_from_system(descriptor: int) -> int:
    """The holder according to /proc/locks; 0 where that cannot be read."""
    status = os.fstat(descriptor)
    try:
        place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        with open("/proc/locks", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place and fields[4].isdecimal():
            return int(fields[4])
    return _UNKNOWN


def _open(path: Path) -> int:
    """Open the lock file, whatever it holds. A read-only file can be locked too."""
    try:
        try:
            descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
        except PermissionError:
            descriptor = open_file(path, os.O_RDONLY | os.O_CREAT)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ELOOP, errno.EMLINK):
            raise OSError(error.errno, f"{path} is not a file") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"{path} is not a file")
    return descriptor


def _acquire(descriptor: int, deadline: float) -> None:
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            process = _read(descriptor)[0]
            who = f"process {process}" if process else "another process"
            raise IndexLocked(f"{who} is writing the index", "wait for it, or raise index.lock_seconds")
        pause(_POLL_SECONDS)


def _try_lock(descriptor: int) -> bool:
    """Try to take the lock; True if that worked, or there are no locks."""
    from lurcher.runtime.locks import lock

    try:
        return lock(descriptor)
    except OSError:  # a file system without locks, as some network ones are
        return True


def _read(descriptor: int) -> tuple[int | None, str]:
    """(process, file being parsed) from the lock file, which may hold anything."""
    try:
        data = read_at(descriptor, _MAX_PATH_BYTES + 32, 0).split(b"\0")[0]
    except OSError:
        return None, ""
    process, _, path = data.partition(b"\n")
    number = int(process) if process.isdigit() and len(process) < 12 else None
    return number, path.decode("utf-8", "replace") if number is not None else ""
