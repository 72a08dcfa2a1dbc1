"""This installation of lurcher: the command that starts it, and the command that adds an extra to it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path


def find_command() -> list[str]:
    """The absolute command that starts this very installation, whatever the PATH says."""
    script = Path(sysconfig.get_path("scripts"), "lurcher.exe" if os.name == "nt" else "lurcher")
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    return [sys.executable, "-I", "-m", "lurcher"]  # isolated: a project may hold a lurcher.py of its own


def is_this_command(command: Sequence[str]) -> bool:
    """Whether a command starts this installation."""
    own = find_command()
    try:
        return list(command[1 : len(own)]) == own[1:] and Path(own[0]).samefile(shutil.which(command[0]) or "")
    except OSError:
        return False


def install_command(extra: str) -> str:
    """The shell command that adds an extra to this installation."""
    wanted = shlex.quote(f"lurcher[{extra}]")
    parts = Path(sys.prefix).parts
    if "pipx" in parts and "venvs" in parts:
        return f"pipx install --force {wanted}"
    if "uv" in parts and "tools" in parts:
        return f"uv tool install {wanted}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # as in the environments that uv makes
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"
