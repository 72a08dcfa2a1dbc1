"""`lurcher references` and `lurcher implementations`: who uses a definition, who calls it, what is made of it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.errors import UsageError
from lurcher.runtime.process import printable
from lurcher.sources import find_root
from lurcher.surfaces.cli.print_references import print_calls, print_implementations, print_references
from lurcher.surfaces.cli.printer import from_here, print_notes
from lurcher.surfaces.cli.search_cmd import Meter, overrides_of, print_json, split_location, wants_json

if TYPE_CHECKING:
    from lurcher.engine import Engine
    from lurcher.inspect.references.calls import CallsAnswer

_LIMIT = 50
"""Entries that are listed unless a number is given; all are counted."""


def run_references(parsed: Namespace) -> int:
    directions = [name for name in ("callers", "callees", "tests") if getattr(parsed, name)]
    if len(directions) > 1:
        raise UsageError(f"--{directions[0]} and --{directions[1]} exclude each other", "give one of them")
    if parsed.depth is not None and not directions:
        raise UsageError("--depth is for --callers, --callees and --tests", "add one of them")
    if parsed.kind and directions:
        raise UsageError(f"--kind and --{directions[0]} exclude each other", "give one of them")
    limit = _LIMIT if parsed.limit is None else parsed.limit
    with _open(parsed) as engine, Meter(parsed.quiet) as meter:
        target = _target(parsed.target)
        if directions:
            calls = engine.calls(target, direction=directions[0], depth=parsed.depth, limit=limit, progress=meter.update)
            return _show_calls(parsed, calls, engine)
        answer = engine.references(target, kinds=parsed.kind, limit=limit, progress=meter.update)
    if wants_json(parsed):
        print_json(answer.to_dict())
    elif parsed.format == "vimgrep":
        print_notes(answer.basis.degraded)
        shown = from_here(engine.locate)
        for entry in answer.references:
            print(f"{printable(shown(entry.path))}:{entry.line}:{entry.column}:{printable(entry.text)}")
    else:
        print_references(answer, engine.locate)
    return 0 if answer.references else 1


def run_implementations(parsed: Namespace) -> int:
    limit = _LIMIT if parsed.limit is None else parsed.limit
    with _open(parsed) as engine, Meter(parsed.quiet) as meter:
        answer = engine.implementations(_target(parsed.target), limit=limit, progress=meter.update)
    if wants_json(parsed):
        print_json(answer.to_dict())
    elif parsed.format == "vimgrep":
        shown = from_here(engine.locate)
        for entry in answer.implementations:
            print(f"{printable(shown(entry.path))}:{entry.line}:{entry.column}:{printable(entry.signature or entry.name)}")
    else:
        print_implementations(answer, engine.locate)
    return 0 if answer.implementations else 1


def _open(parsed: Namespace) -> Engine:
    from lurcher.engine import Engine

    # Uses are looked for in the whole root, even from a folder of it, unless paths limit the question.
    return Engine.open(parsed.path or [find_root(".").path], overrides=overrides_of(parsed.set))


def _target(given: str) -> str:
    """A place with the file as the engine finds it from anywhere; a name as it is."""
    file, line, _ = split_location(given)
    if line is None or "\0" in file or not Path(file).exists():
        return given
    return f"{Path.cwd() / file}{given[len(file) :]}"


def _show_calls(parsed: Namespace, answer: CallsAnswer, engine: Engine) -> int:
    if wants_json(parsed):
        print_json(answer.to_dict())
        return 0 if answer.calls else 1
    if parsed.format == "vimgrep":
        shown = from_here(engine.locate)
        for call in answer.calls:
            print(f"{printable(shown(call.call_path))}:{call.call_line}:1:{printable(call.name or call.via)}")
    else:
        print_calls(answer, engine.locate)
    return 0 if answer.calls else 1
