"""The command line. Results go to stdout, everything else to stderr; the exit status is grep's: 0 found, 1 nothing, 2 error."""

from __future__ import annotations

import errno
import gc
import os
import sys

from lurcher.errors import BroadRoot, LurcherError, PathError
from lurcher.runtime import process
from lurcher.runtime.process import SafeStream, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_HINTS = {errno.EACCES: " (check its permissions)", errno.ENOSPC: " (make room on that disk, or write to another)"}
FOUND, NOTHING, ERROR, INTERRUPTED = 0, 1, 2, 130
_MODULES = {
    "history": "search_cmd", "notes": "search_cmd", "export": "index_cmd", "index": "index_cmd", "references": "references_cmd",
    "implementations": "references_cmd", "hook": "hook_cmd", "projects": "index_cmd",
    "workspace": "workspace_cmd",
    "sync": "sync_cmd",
}  # fmt: skip
"""Where the function `run_<command>` is, if not in `commands`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if arguments is None:
        return _run_process()
    before = sys.stdout, sys.stderr
    try:
        _prepare_streams()
        try:
            status = _run_confirmed(arguments)
        except LurcherError as error:
            status = _fail(error, as_json=_wants_json(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does.
        _discard_output()
        return FOUND
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        hint = _HINTS.get(error.errno or 0, "")
        print(f"lurcher: {_one_line(where + (error.strerror or str(error)))}{hint}", file=sys.stderr)
        return ERROR
    except KeyboardInterrupt:
        _discard_output()
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        sys.stdout, sys.stderr = before


def _run_process() -> int:
    """Runs the command that this process was started for."""
    # A search loads modules and makes few reference cycles: looking for them took a tenth of its time.
    gc.disable()
    gc.set_threshold(10_000, 20, 20)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # our arrays are small: a pool of threads costs more than it gives
    process.claim_process()
    _prepare_streams()  # not undone: the traceback of an uncaught error may contain text of others too
    try:
        status = main(sys.argv[1:])
    finally:
        gc.freeze()
    if status == FOUND and "lurcher.engine" in sys.modules and "argparse" not in sys.modules:
        _exit_at_once(status)
    return status


def _exit_at_once(status: int) -> None:
    """Ends the process after a plain search, whose objects need not be freed one by one: that takes a millisecond or two."""
    if sys.flags.inspect or sys.flags.interactive or sys.gettrace() or sys.getprofile():
        return
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python reports it when it exits
    os._exit(status)


def _run_confirmed(arguments: Sequence[str]) -> int:
    """Runs the command. An index of a whole disk or home folder is begun only after a yes at the terminal."""
    try:
        return _run(arguments)
    except BroadRoot as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        print(f"{printable(error.message)}. Index all of it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise
    return _run(arguments, agreed=True)


def _run(arguments: Sequence[str], *, agreed: bool = False) -> int:
    from lurcher.surfaces.cli import search_cmd
    from lurcher.surfaces.cli.fast_argv import parse_usual

    parsed: Any = parse_usual(arguments)
    if parsed is None:
        gc.enable()  # off while one search is all that the process does
        if not arguments and sys.stdout.isatty():
            from lurcher.surfaces.cli.start import run_start

            return run_start()
        from lurcher.surfaces.cli.flags import parse

        parsed = parse(arguments)
    if parsed.command is None:
        return FOUND
    if agreed:
        parsed.set.append(search_cmd.AGREED)
    if parsed.command == "search":
        return search_cmd.run_search(parsed)
    from importlib import import_module

    module = import_module(f"lurcher.surfaces.cli.{_MODULES.get(parsed.command, 'commands')}")
    status: int = getattr(module, f"run_{parsed.command}")(parsed)
    return status


def _wants_json(arguments: Sequence[str]) -> bool:
    if "mcp" in arguments[:1]:  # its output is the protocol's alone
        return False
    return "--json" in arguments or "--format=json" in arguments or "--format json" in " ".join(arguments)


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            stream = open(os.devnull, mode)  # noqa: SIM115
            setattr(sys, name, stream)
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            # Source may hold what the terminal's encoding cannot express; an answer must not fail on that.
            stream.reconfigure(errors="replace")
        if name != "stdin" and not isinstance(stream, SafeStream):
            setattr(sys, name, SafeStream(stream))


def _discard_output() -> None:
    """Discards what is still buffered, so that it does not fail again when the interpreter exits."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        target = os.open(os.devnull, os.O_WRONLY)
        os.dup2(target, sys.stdout.fileno())
        os.close(target)


def _fail(error: LurcherError, *, as_json: bool) -> int:
    left_out = getattr(error, "left_out", None)
    if left_out is not None:
        from lurcher.inspect import TO_SEE_LEFT_OUT

        error = PathError(f"{left_out[0]} is not in the index: {left_out[1]}", TO_SEE_LEFT_OUT)
    if as_json:
        from lurcher.surfaces.cli.search_cmd import print_json

        print_json({"error": error.to_dict()})
    drawing = error.hint.split("\n") if "\n" in error.hint else []
    hint = f" ({_one_line(error.hint)})" if error.hint and not drawing else ""
    print(f"lurcher: {_one_line(error.message)}{hint}", file=sys.stderr)
    for line in drawing:  # points at a place in the query, so its lines are printed below each other
        print(f"    {printable(line)}", file=sys.stderr)
    return ERROR


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
