"""A home folder of the tests' own: they leave nothing in the real one, nor in the folder for temporary files.

`settle` points HOME, XDG_* and TMPDIR at a new folder, for this process and all that it starts, and removes it at the end. What
this process writes below the real home all the same is noted, and so is what appears in the places where lurcher keeps things.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import site
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TESTS_CACHE") or REPOSITORY / ".cache" / "tests")
"""What tests fetch once and keep from run to run."""

_REAL, _OWN = "TESTS_REAL_HOME", "TESTS_OWN_HOME"
_FOLDERS = {
    "HOME": "home", "XDG_CONFIG_HOME": "home/.config", "XDG_CACHE_HOME": "home/.cache", "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state", "XDG_RUNTIME_DIR": "run", "TMPDIR": "t",
}  # fmt: skip
_CHANGES = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PLACES = ("", ".config", ".cache", ".local/share", ".local/state")
"""Where in a home folder something of lurcher's could be."""

def real_home() -> Path | None:
    """The home folder of whoever runs the tests, if there is one worth the name."""
    named = os.environ.get(_REAL, os.environ.get("HOME", ""))
    path = Path(named or os.sep)
    return path if path.is_absolute() and path.parent != path and path.is_dir() else None


def settle() -> None:
    """Move in, once: processes that this one starts, those of xdist among them, stay where it is."""
    if _OWN not in os.environ:
        home = real_home()
        os.environ[_REAL] = str(home or "")
        # What is installed for the user alone is part of Python, not of the home that programs write to.
        os.environ.setdefault("PYTHONUSERBASE", site.getuserbase())
        own = Path(tempfile.mkdtemp(prefix="lurcher-"))
        own.chmod(0o755)  # a server that runs as somebody else must get through
        atexit.register(_remove, own, os.getpid())
        os.environ[_OWN] = str(own)
        for name, folder in _FOLDERS.items():
            (own / folder).mkdir(parents=True, exist_ok=True)
            os.environ[name] = str(own / folder)
        (own / "run").chmod(0o700)
        os.environ.setdefault("LURCHER_HISTORY_BACKGROUND", "false")  # no test leaves a process behind, unless it says so
        tempfile.tempdir = None
    home = real_home()
    if home is not None:
        _listen(home)


def folder() -> Path:
    return Path(os.environ[_OWN])


def traces() -> set[str]:
    """What there is of lurcher's in the real home, and what tests were seen to write there."""
    home = real_home()
    noted = folder() / "written"
    found = set(noted.read_text().splitlines()) if noted.exists() else set()
    for place in _PLACES if home is not None else ():
        with contextlib.suppress(OSError):
            found |= {str(path) for path in (home / place).iterdir() if "lurcher" in path.name and path != REPOSITORY}  # type: ignore[operator]
    return found


def _listen(home: Path) -> None:
    """Note what is written below `home`, but for what Python and the tests themselves keep there."""
    begin = f"{home}{os.sep}"
    python = (sys.prefix, sys.base_prefix, site.getuserbase())
    anybodys = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")
    allowed = {f"{path}{os.sep}" for path in (REPOSITORY, SHARED, folder(), *python, *anybodys)}
    kept = tuple(path for path in allowed if not begin.startswith(path))

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES or (event == "open" and not arguments[2] & _WRITING):
            return
        path = arguments[1] if event in ("os.rename", "os.link", "os.symlink") else arguments[0]
        with contextlib.suppress(TypeError, ValueError, OSError):
            path = os.path.abspath(os.fsdecode(path))
            if path.startswith(begin) and not path.startswith(kept) and "__pycache__" not in path:
                with open(folder() / "written", "a") as noted:
                    noted.write(f"{path}\n")

    sys.addaudithook(heard)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() != owner:
        return
    for place, folders, _ in os.walk(folder):  # tests take permissions away
        for name in folders:
            with contextlib.suppress(OSError):
                path = os.path.join(place, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
