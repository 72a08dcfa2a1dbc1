"""Reads the rest of a long history in a process of its own, after a command has answered from the newest commits.

The process outlives the command and its terminal, takes no input after its order, prints and logs nothing, has low priority,
and ends when all is read, when somebody else is writing, or after an hour. Every batch that it read stays, whenever it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.types import silent

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.engine import Engine

_COMMAND = "from lurcher.server.history_fill import run_child; run_child()"
_SECONDS = 3600.0
_NICENESS = 10


def is_allowed(settings: Settings, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a command may start the process: not where the user forbids it, nor on a CI machine unless it is asked for."""
    environ = os.environ if environ is None else environ
    asked = "history.background" in settings.origins or not environ.get("CI")
    return settings.history.background and asked and bool(sys.executable)


def start_filling(engine: Engine) -> int:
    """Start a process for each history of which commits are still to be read; returns how many were started."""
    started = 0
    for root, folder in engine.history_corpus.partial():
        order = {"root": str(root), "index_dir": str(folder.absolute()), "overrides": dict(engine.overrides)}
        with contextlib.suppress(OSError):
            _start(order)
            started += 1
    return started


def _start(order: Mapping[str, Any]) -> None:
    # Started in lurcher's own folder, so that nothing of a repository is imported.
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND], cwd=Path(__file__).resolve().parents[2], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, creationflags=flags,
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin as order_pipe:
        order_pipe.write(json.dumps(order).encode())
    process.returncode = 0  # it is not waited for, and Python need not warn of that


def run_child() -> None:
    """The process itself: reads its order, then commits."""
    from lurcher.engine import Engine
    from lurcher.runtime.process import claim_process

    claim_process()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    order = json.loads(sys.stdin.buffer.read())
    place, folder = order["root"], order["index_dir"]
    with (
        contextlib.suppress(LurcherError, OSError),
        Engine.open(place, root=place, index_dir=folder, overrides=order["overrides"]) as engine,
    ):
        engine.history_corpus.fill(_SECONDS, silent)
