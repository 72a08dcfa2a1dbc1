"""Reads and writes files that belong to somebody: only plain ones inside of the project, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lurcher.surfaces.agents.jsonc import NotEditable

MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it should be; None for one that is not there."""

    path: Path
    before: str | None
    after: str | None
    mode: int | None = None

    @property
    def nothing(self) -> bool:
        return self.before == self.after


def read(path: Path, within: Path) -> str | None:
    """The text of a file, None where there is none; NotEditable where it is none that we may change."""
    folder = path.parent
    while folder != within and folder != folder.parent:
        if folder.is_symlink():
            raise NotEditable(f"{folder.name} is a link")
        folder = folder.parent
    try:
        status = path.lstat()
    except FileNotFoundError:
        _writable(path.parent)
        return None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        raise NotEditable("it is a link")
    if not stat.S_ISREG(status.st_mode):
        raise NotEditable("it is no plain file")
    if status.st_size > MOST_BYTES:
        raise NotEditable("it is larger than 1 MB")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotEditable("it is read-only")
    _writable(path.parent)
    try:
        # Bytes that are no line ends stay what they are; so do those.
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise NotEditable("it is no UTF-8 text") from None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None


def _writable(folder: Path) -> None:
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise NotEditable(f"the folder {folder.name} cannot be written")


def apply(change: Change) -> None:
    """Put a change in place at once: whoever reads meanwhile sees the old file or the new one."""
    if change.nothing:
        return
    path = change.path
    current = path.read_bytes().decode("utf-8") if path.exists() else None
    if current != change.before:
        raise NotEditable("somebody has just changed it")
    if change.after is None:
        path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # a folder that held only this
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.mode if change.mode is not None else path.stat().st_mode & 0o777 if path.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(change.after.encode("utf-8"))
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
