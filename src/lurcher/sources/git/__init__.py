"""Git: runs the binary, lists work trees, reads refs, commits and blame.

Neither the environment nor the repository's own configuration decides what is executed.

What a hostile repository could run, and what stops it: `core.fsmonitor` names a program that listing the index would
start (switched off on the command line, which wins over the repository's file); a sparse index with missing objects
could fetch them through a transport of its choice (no lazy fetch, no protocol allowed); a pager is never used. Hooks,
filters and `core.hooksPath` play no part in `ls-files -c/-o` and `check-ignore`; `ls-files -m`, which would run clean
filters, is not used anywhere. `core.worktree` could redirect the listing to any folder (GIT_WORK_TREE overrides it), and a
broken `.git` would make git look for a repository further up (GIT_CEILING_DIRECTORIES prevents it). Git still refuses a
repository of another owner, because GIT_DIR is never set.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


SECONDS = 60.0
"""Default limit for one git command."""

_FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
_OPTIONS = ("--no-pager", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false")


def environment() -> dict[str, str]:
    """The caller's environment without the variables that redirect git; `GIT_CONFIG_*` stays (it may set safe.directory)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")
    }
    return kept | _FIXED


def config_paths() -> list[str]:
    """Paths of the user's and the system's git configuration and ignore files, whether or not they exist."""
    names = os.environ
    home = names.get("HOME", "")
    shared = names.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    found = [names.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"]
    if names.get("GIT_CONFIG_GLOBAL"):
        found.append(names["GIT_CONFIG_GLOBAL"])
    else:
        found += [f"{home}/.gitconfig"] * bool(home) + [f"{shared}/git/config"] * bool(shared)
    return [*found, f"{shared}/git/ignore"] if shared else found


def start(top: Path | str, *arguments: str, with_input: bool = False) -> subprocess.Popen[bytes] | None:
    """Start git at the top of a work tree; None when git cannot be started. `with_input` opens a pipe to its standard input."""
    import subprocess
    from pathlib import Path

    place = {"GIT_WORK_TREE": str(top), "GIT_CEILING_DIRECTORIES": str(Path(top).parent)}
    try:
        return subprocess.Popen(
            ["git", *_OPTIONS, *arguments],
            cwd=top,
            env=environment() | place,
            stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def finish(process: subprocess.Popen[bytes] | None, seconds: float = SECONDS) -> tuple[int, bytes]:
    """Wait for git; its exit status and output. A status of 128 also means that git is missing or timed out."""
    output = None if process is None else _communicate(process, None, seconds)
    return (128, b"") if process is None or output is None else (process.returncode, output)


def run_with_input(top: Path | str, *arguments: str, data: bytes) -> tuple[int, bytes]:
    """Run git with `data` on its standard input; its exit status and output, as `finish` returns them."""
    process = start(top, *arguments, with_input=True)
    output = None if process is None else _communicate(process, data, SECONDS)
    return (128, b"") if process is None or output is None else (process.returncode, output)


def communicate(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> bytes:
    """Send `data` to a started git; its output, also of one that fails. Empty after a timeout."""
    return _communicate(process, data, seconds) or b""


def _communicate(process: subprocess.Popen[bytes], data: bytes | None, seconds: float) -> bytes | None:
    """Git's output; None after a timeout, when the process is killed."""
    import subprocess

    try:
        return process.communicate(data, timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        stop(process)
        return None
    except OSError:
        # Git has closed its output, but waiting for its exit failed: the system can refuse to sleep when the clock jumps.
        return process.communicate()[0]


def finish_in_time(process: subprocess.Popen[bytes] | None, seconds: float) -> tuple[bool, bytes]:
    """Whether git ended by then, else it is stopped; and what it has written."""
    import subprocess

    if process is None:
        return True, b""
    try:
        return True, process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return False, process.communicate()[0]


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """Kill a process whose output is no longer needed."""
    if process is not None:
        process.kill()
        process.communicate()
