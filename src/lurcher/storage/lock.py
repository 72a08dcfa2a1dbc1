"""The lock of an index folder: one writer at a time, freed by the system when its holder dies.

The lock file names the holder and the file that it is parsing. Native code of a grammar can crash the process; whoever takes
the lock next finds the name still there and parses that file in a child process.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from lurcher.errors import IndexLocked
from lurcher.runtime.light import TYPE_CHECKING, suppress
from lurcher.runtime.process import pause
from lurcher.storage import disk

if TYPE_CHECKING:
    from pathlib import Path

NAME = "lock"
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
            disk.announce_step("lock", path)
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
            os.pwrite(
                self._descriptor, f"{os.getpid()}\n".encode() + path.encode("utf-8", "replace")[:_MAX_PATH_BYTES] + b"\0", 0
            )


def find_holder(folder: Path) -> int | None:
    """The id of the process that writes the index in `folder`, 0 where it is unknown; None where nobody writes.

    Raises OSError on a file system without locks.
    """
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # never locked, or not readable
        return None
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        os.close(descriptor)
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return _holder_from_system(descriptor) or _read(descriptor)[0] or _UNKNOWN
    finally:
        os.close(descriptor)


def _holder_from_system(descriptor: int) -> int:
    """The holder according to /proc/locks; 0 where that cannot be read."""
    status = os.fstat(descriptor)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open("/proc/locks", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return _UNKNOWN
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place and fields[4].isdecimal():
            return int(fields[4])
    return _UNKNOWN


def _open(path: Path) -> int:
    """Open the lock file, whatever it holds. A read-only file can be locked too."""
    flags = os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            descriptor = os.open(path, os.O_RDWR | flags, 0o600)
        except PermissionError:
            descriptor = os.open(path, os.O_RDONLY | flags, 0o600)
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
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, as some network ones are
        return True
    return True


def _read(descriptor: int) -> tuple[int | None, str]:
    """(process, file being parsed) from the lock file, which may hold anything."""
    try:
        data = os.pread(descriptor, _MAX_PATH_BYTES + 32, 0).split(b"\0")[0]
    except OSError:
        return None, ""
    process, _, path = data.partition(b"\n")
    number = int(process) if process.isdigit() and len(process) < 12 else None
    return number, path.decode("utf-8", "replace") if number is not None else ""
