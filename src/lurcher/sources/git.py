"""Runs the git binary so that neither the environment nor the repository's own configuration decides what is executed.

What a hostile repository could run, and what stops it: `core.fsmonitor` names a program that listing the index would
start (switched off on the command line, which wins over the repository's file); a sparse index with missing objects
could fetch them through a transport of its choice (no lazy fetch, no protocol allowed); a pager is never used. Hooks,
filters and `core.hooksPath` play no part in `ls-files -c/-o` and `check-ignore`; `ls-files -m`, which would run clean
filters, is not used anywhere.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SECONDS = 60.0

_FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
_OPTIONS = ("--no-pager", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false")


def environment() -> dict[str, str]:
    """The caller's environment without what redirects git; `GIT_CONFIG_*` stays (safe.directory is set there)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")
    }
    return kept | _FIXED


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Starts git in a folder; None when there is no git to start."""
    try:
        return subprocess.Popen(
            ["git", *_OPTIONS, *arguments],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def finish(process: subprocess.Popen[bytes] | None, seconds: float = SECONDS) -> tuple[int, bytes]:
    """Exit status and output; a status of 128 also stands for a missing git and for running out of time."""
    if process is None:
        return 128, b""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        stop(process)
        return 128, b""
    return process.returncode, output


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """Ends a process whose answer is no longer wanted."""
    if process is not None:
        process.kill()
        process.communicate()
