"""Locks of open files, which the system frees when their holder dies: flock, or on Windows a locked byte.

Windows locks what is in the file too, so the byte is far behind it: who waits can still read the name of the holder. It has no
shared locks in Python; there, readers wait for each other. That part has been tested by fakes only (docs/platforms.md).
"""

from __future__ import annotations

import os

FAR_BYTE = 1 << 30
_WAIT_SECONDS = 0.02


def lock(descriptor: int, *, exclusive: bool = True, wait: bool = False) -> bool:
    """Whether the lock was taken; False if another has it. OSError on a file system, NoLocks on a system, without locks.

    It is freed when the descriptor is closed.
    """
    try:
        import fcntl
    except ImportError:
        return _lock_byte(descriptor, wait)
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class NoLocks(OSError):
    """The system has no locks of files."""


def _lock_byte(descriptor: int, wait: bool) -> bool:
    try:
        import msvcrt
    except ImportError as error:
        raise NoLocks("this system has no locks of files") from error
    while True:
        os.lseek(descriptor, FAR_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
            return True
        except PermissionError:  # another holder
            if not wait:
                return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        from lurcher.runtime.process import pause

        pause(_WAIT_SECONDS)
