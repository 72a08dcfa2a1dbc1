"""Runs the git binary so that neither the environment nor the repository's own configuration decides what is executed.

What a hostile repository could run, and what stops it: `core.fsmonitor` names a program that listing the index would
start (switched off on the command line, which wins over the repository's file); a sparse index with missing objects
could fetch them through a transport of its choice (no lazy fetch, no protocol allowed); a pager is never used. Hooks,
filters and `core.hooksPath` play no part in `ls-files -c/-o` and `check-ignore`; `ls-files -m`, which would run clean
filters, is not used anywhere. `core.worktree` could send the search for files to any folder (the work tree is named to git,
which wins too), and a broken `.git` would make git look for a repository further up (it may not). That a repository of
another owner is refused stays as it is, since the `.git` itself is never named.
"""

from __future__ import annotations

import os

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
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
_HOMES = ("HOME", "XDG_CONFIG_HOME")
_OPTIONS = ("--no-pager", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false")


def environment() -> dict[str, str]:
    """The caller's environment without what redirects git; `GIT_CONFIG_*` stays (safe.directory is set there)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")
    }
    return kept | _FIXED


def bearing() -> tuple[tuple[str, str], ...]:
    """What of the environment decides which configuration git reads."""
    return tuple(
        sorted((name, value) for name, value in os.environ.items() if name.startswith("GIT_CONFIG_") or name in _HOMES)
    )


def configuration() -> list[str]:
    """Where git looks for the user's and the system's configuration and ignore file, whether or not something is there."""
    names = os.environ
    home = names.get("HOME", "")
    shared = names.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    found = [names.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"]
    if names.get("GIT_CONFIG_GLOBAL"):
        found.append(names["GIT_CONFIG_GLOBAL"])
    else:
        found += [f"{home}/.gitconfig"] * bool(home) + [f"{shared}/git/config"] * bool(shared)
    return [*found, f"{shared}/git/ignore"] if shared else found


def start(top: Path | str, *arguments: str, feed: bool = False) -> subprocess.Popen[bytes] | None:
    """Starts git at the top of a work tree; None when there is no git to start."""
    import subprocess
    from pathlib import Path

    place = {"GIT_WORK_TREE": str(top), "GIT_CEILING_DIRECTORIES": str(Path(top).parent)}
    try:
        return subprocess.Popen(
            ["git", *_OPTIONS, *arguments],
            cwd=top,
            env=environment() | place,
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def finish(process: subprocess.Popen[bytes] | None, seconds: float = SECONDS) -> tuple[int, bytes]:
    """Exit status and output; a status of 128 also stands for a missing git and for running out of time."""
    output = None if process is None else _said(process, None, seconds)
    return (128, b"") if process is None or output is None else (process.returncode, output)


def ask(top: Path | str, *arguments: str, questions: bytes) -> tuple[int, bytes]:
    """Exit status and output of a git that reads its questions from its standard input."""
    process = start(top, *arguments, feed=True)
    output = None if process is None else _said(process, questions, SECONDS)
    return (128, b"") if process is None or output is None else (process.returncode, output)


def answered(process: subprocess.Popen[bytes], questions: bytes, seconds: float) -> bytes:
    """What a git that reads its questions from its standard input says within some time, even if it then fails."""
    return _said(process, questions, seconds) or b""


def _said(process: subprocess.Popen[bytes], questions: bytes | None, seconds: float) -> bytes | None:
    """What git says within some time; None where it takes longer, and is ended."""
    import subprocess

    try:
        return process.communicate(questions, timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        stop(process)
        return None
    except OSError:
        # It has closed its output, and Python could not sleep until it ends: the system refuses that where the clock jumps.
        return process.communicate()[0]


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """Ends a process whose answer is no longer wanted."""
    if process is not None:
        process.kill()
        process.communicate()
