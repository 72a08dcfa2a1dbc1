"""The command line. Results go to stdout, everything else to stderr; the exit status is grep's: 0 found, 1 nothing, 2 error."""

from __future__ import annotations

import gc
import os
import sys

from lurcher.errors import BroadRoot, LurcherError
from lurcher.runtime import process
from lurcher.runtime.light import TYPE_CHECKING, suppress
from lurcher.runtime.terminal import Guarded, printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


FOUND, NOTHING, ERROR, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if arguments is None:
        return _as_a_process()
    before = sys.stdout, sys.stderr
    try:
        _prepare_streams()
        try:
            status = _agreed(arguments)
        except LurcherError as error:
            status = _fail(error, as_json=_wants_json(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has seen enough, as `head` does.
        _discard_output()
        return FOUND
    except OSError as error:
        _discard_output()
        where = f" ({error.filename})" if error.filename else ""
        print(f"lurcher: {_one_line(error.strerror or str(error))}{_one_line(where)}", file=sys.stderr)
        return ERROR
    except KeyboardInterrupt:
        _discard_output()
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        sys.stdout, sys.stderr = before


def _as_a_process() -> int:
    """The command that this process was started for."""
    process.claim()
    _prepare_streams()  # for good: what Python says of an error that nobody caught is text of others too
    # Most commands make little that refers to itself, and end soon: looking for it took a tenth of a query's time.
    gc.set_threshold(10_000, 20, 20)
    try:
        return main(sys.argv[1:])
    finally:
        gc.freeze()


def _agreed(arguments: Sequence[str]) -> int:
    """The command; where it would begin an index of a whole disk or home folder, once somebody at a terminal has said yes."""
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
    from lurcher.surfaces.cli.declared import AGREED
    from lurcher.surfaces.cli.fast_argv import straight

    usual: Any = straight(arguments)
    if usual is not None:
        from lurcher.surfaces.cli.search_cmd import run_search

        if agreed:
            usual.set.append(AGREED)
        return run_search(usual)
    gc.enable()  # which it is not where this is all that the process does, and one question leaves little behind
    from lurcher.surfaces.cli.flags import parse

    parsed = parse(arguments)
    if parsed.command is None:
        return FOUND
    if agreed:
        parsed.set.append(AGREED)
    from lurcher.surfaces.cli import commands, search_cmd

    name = f"run_{parsed.command}"
    status: int = getattr(search_cmd if hasattr(search_cmd, name) else commands, name)(parsed)
    return status


def _wants_json(arguments: Sequence[str]) -> bool:
    if "mcp" in arguments[:1]:  # whose output is the protocol's alone
        return False
    return "--json" in arguments or "--format=json" in arguments or "--format json" in " ".join(arguments)


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            stream = open(os.devnull, mode)  # noqa: SIM115
            setattr(sys, name, stream)
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            # Source may hold what the terminal's encoding cannot express; an answer must not fail on that.
            stream.reconfigure(errors="replace")
        if name != "stdin" and not isinstance(stream, Guarded):
            setattr(sys, name, Guarded(stream))


def _discard_output() -> None:
    """Let nothing that is still buffered fail a second time when the interpreter ends."""
    with suppress(OSError, ValueError):
        target = os.open(os.devnull, os.O_WRONLY)
        os.dup2(target, sys.stdout.fileno())
        os.close(target)


def _fail(error: LurcherError, *, as_json: bool) -> int:
    if as_json:
        from lurcher.surfaces.cli.search_cmd import print_json

        print_json({"error": error.to_dict()})
    drawing = error.hint.split("\n") if "\n" in error.hint else []
    hint = f" ({_one_line(error.hint)})" if error.hint and not drawing else ""
    print(f"lurcher: {_one_line(error.message)}{hint}", file=sys.stderr)
    for line in drawing:  # shows a place in the query: its lines stand below each other
        print(f"    {printable(line)}", file=sys.stderr)
    return ERROR


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
