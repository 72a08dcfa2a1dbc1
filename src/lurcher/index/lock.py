"""Who is writing an index, found out without disturbing them."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "lock"
_UNKNOWN = 0


def holder(folder: Path) -> int | None:
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
        return _from_system(descriptor) or _from_file(descriptor)
    finally:
        os.close(descriptor)


def _from_system(descriptor: int) -> int:
    """The kernel's own table says who holds a lock, where it can be read."""
    status = os.fstat(descriptor)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except (OSError, ValueError):
        return _UNKNOWN
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place and fields[4].isdecimal():
            return int(fields[4])
    return _UNKNOWN


def _from_file(descriptor: int) -> int:
    """A writer may leave its number in the file."""
    try:
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError:
        return _UNKNOWN
    return int(text) if text.isascii() and text.isdecimal() else _UNKNOWN
