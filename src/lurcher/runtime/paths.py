"""The few path functions that every query needs, on strings: importing `pathlib` takes too long."""

from __future__ import annotations

import errno
import os

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def exists(path: str) -> bool:
    """Whether a path exists; OSError where that is unknown, as in a folder that may not be entered."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    except ValueError:
        return False
    return True


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it, by name alone."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
