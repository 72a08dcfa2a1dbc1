"""The index folder: whether it is ours, can be written and locked, and what lies in it that nobody needs."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.status import folder_bytes
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, command, few
from lurcher.storage import disk
from lurcher.storage.folder import TAG_TEXT
from lurcher.storage.manifest import FOLDER_TAG, NAME

_OWN = frozenset({NAME, FOLDER_TAG, ".gitignore", disk.LOCK_NAME, "history", "libraries"})
_ELSEWHERE = "set LURCHER_INDEX_DIR to a folder on a local disk"


def examine(project: RootIndex) -> Iterator[Finding]:
    folder, root = project.store.folder, project.root.path
    if not os.path.lexists(folder):
        yield Finding("folder", NOTE, f"no index yet: {folder} will be made", command("lurcher index", root))
        return
    if not folder.is_dir():
        yield Finding("folder", PROBLEM, f"{folder} is not a folder", f"remove it: rm {shlex.quote(str(folder))}")
        return
    names = sorted(os.listdir(folder))
    findings = [*_marks(folder, root, names), *_room(folder), *_lock(folder), *_rest(folder, root, names)]
    yield from findings
    if not any(finding.state == PROBLEM for finding in findings):
        yield Finding("folder", OK, f"{folder} is ours and can be written")


def _marks(folder: Path, root: Path, names: list[str]) -> Iterator[Finding]:
    start_anew = f"rm -r {shlex.quote(str(folder))}, then {command('lurcher index', root)}"
    if names and FOLDER_TAG not in names:
        yield Finding(
            "folder", PROBLEM, f"{folder} has no {FOLDER_TAG}: it is not ours, or damaged", f"if it is ours: {start_anew}"
        )
    elif names and _content(folder / FOLDER_TAG) != TAG_TEXT:
        yield Finding("folder", PROBLEM, f"{FOLDER_TAG} is damaged", start_anew)
    if FOLDER_TAG in names and ".gitignore" not in names:
        mend = command("lurcher index --rebuild", root)
        yield Finding("folder", PROBLEM, ".gitignore is missing: git will show the index", mend)
    elif ".gitignore" in names and "*" not in _content(folder / ".gitignore").split("\n"):
        mend = f"rm -r {shlex.quote(str(folder / '.gitignore'))}, then {command('lurcher index --rebuild', root)}"
        yield Finding("folder", PROBLEM, ".gitignore is damaged: git will show the index", mend)


def _content(path: Path) -> str:
    """The text of a small file; nothing where there is something else."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ""
        with path.open("rb") as handle:
            return handle.read(10_000).decode("utf-8", "replace")
    except OSError:
        return ""


def _room(folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.W_OK | os.X_OK) or os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield Finding("folder", PROBLEM, f"{folder} cannot be written", f"check its permissions, or {_ELSEWHERE}")
        return
    size, free = folder_bytes(folder), shutil.disk_usage(folder).free
    if free < size:
        message = f"{free / 1e6:,.0f} MB are free, too few to make the index of {size / 1e6:,.0f} MB anew"
        yield Finding("folder", PROBLEM, message, f"make room, or {_ELSEWHERE}")


def _lock(folder: Path) -> Iterator[Finding]:
    path = folder / disk.LOCK_NAME
    if not os.path.lexists(path):
        return
    if not stat.S_ISREG(path.lstat().st_mode):
        message = f"{disk.LOCK_NAME} is not a file: nothing can be written"
        yield Finding("lock", PROBLEM, message, f"rm -r {shlex.quote(str(path))}")
        return
    try:
        pid = disk.find_holder(folder)
    except OSError as error:
        yield Finding("lock", PROBLEM, f"the file system knows no locks: {error.strerror}", _ELSEWHERE)
        return
    if pid is None:
        yield Finding("lock", OK, "free")
    else:
        yield Finding("lock", NOTE, f"process {pid} is writing the index" if pid else "another process is writing the index")


def _rest(folder: Path, root: Path, names: list[str]) -> Iterator[Finding]:
    drafts = [name for name in names if name.startswith(".") and name.endswith(".tmp") and not _writer_lives(name)]
    if drafts:
        message = f"left by a writer that was killed: {few(drafts)}"
        yield Finding("folder", NOTE, message, f"the next update removes them; {command('lurcher index --rebuild', root)}")
    foreign = [name for name in names if name not in _OWN and not name.endswith((".segment", ".vectors", ".tmp"))]
    if foreign:
        yield Finding("folder", NOTE, f"not ours: {few(foreign)}")


def _writer_lives(name: str) -> bool:
    """Whether the process is there still whose number a temporary file has in its name."""
    number = name.removesuffix(".tmp").rpartition(".")[2].partition("-")[0]
    if not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True
