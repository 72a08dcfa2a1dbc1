"""A command at a real terminal, as a person has it."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

React = Callable[[bytes, "subprocess.Popen[bytes]"], "bytes | None"]
"""Given what was seen so far and the process: what somebody types, if anything."""


def on_terminal(
    command: Sequence[str | Path], env: dict[str, str], cwd: Path, react: React = lambda seen, process: None
) -> tuple[int, bytes]:
    """The exit status, and what a person sees: stdout and stderr are one terminal."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=cwd, start_new_session=True
    )
    os.close(terminal)
    seen, deadline = b"", time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            if not select.select([controller], [], [], 0.5)[0]:
                continue
            try:
                piece = os.read(controller, 65536)
            except OSError:  # the other end has closed
                break
            if not piece:
                break
            seen += piece
            typed = react(seen, process)
            if typed is not None:
                os.write(controller, typed)
        else:
            pytest.fail(f"{command!r} does not end: {seen!r}")
        return process.wait(120), seen
    finally:
        process.kill()
        process.wait()
        os.close(controller)
