"""Paths as strings, for what every query does with them: `pathlib` takes longer to load than a query takes."""

from __future__ import annotations

import errno
import os

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def exists(path: str) -> bool:
    """Whether something is at a path; OSError where that cannot be told, as for a folder that may not be entered."""
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
    """Whether an absolute path is that of a folder, or of something below it, by its name alone."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
