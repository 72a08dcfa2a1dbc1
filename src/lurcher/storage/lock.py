"""The lock of an index folder: one writer at a time, freed by the system when its holder dies.

The file says who holds the lock and which file he is giving to a grammar. Broken native code can bring a process down; whoever
takes the lock next finds the name still there and can be more careful.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from lurcher.errors import IndexLocked
from lurcher.runtime.light import TYPE_CHECKING, suppress
from lurcher.runtime.timings import pause
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
        """What the last holder was reading when he died; nothing if he ended well."""
        self._write("")

    @classmethod
    def acquire(cls, path: Path, seconds: float) -> IndexLock:
        """The lock, as soon as it is free; IndexLocked if that takes longer than `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            disk.announce_step("lock", path)
            descriptor = _open(path)
            try:
                _acquire(descriptor, deadline)
                # The file may have been removed, and made anew by somebody else, while we waited.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                        return cls(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def note_parsing(self, path: str) -> None:
        """Note that a grammar gets this file now."""
        self._write(path)

    def release(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def _write(self, path: str) -> None:
        # One write without truncating: what is left of a longer name lies behind the zero.
        with suppress(OSError):
            os.pwrite(
                self._descriptor, f"{os.getpid()}\n".encode() + path.encode("utf-8", "replace")[:_MAX_PATH_BYTES] + b"\0", 0
            )


def find_holder(folder: Path) -> int | None:
    """The number of the process that writes the index in `folder`, 0 where that cannot be told; None where nobody does.

    A file system without locks raises the OSError that it answers with.
    """
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # never written, or not to be read: whoever writes will say so
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
    """The kernel's own table says who holds a lock, where it can be read."""
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
    """The lock file, whatever it holds. One that may only be read can be locked as well as any other."""
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
    """Whether the lock is ours now."""
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
    """(process, file being read) as the lock file has them; it may hold anything."""
    try:
        data = os.pread(descriptor, _MAX_PATH_BYTES + 32, 0).split(b"\0")[0]
    except OSError:
        return None, ""
    process, _, path = data.partition(b"\n")
    number = int(process) if process.isdigit() and len(process) < 12 else None
    return number, path.decode("utf-8", "replace") if number is not None else ""
