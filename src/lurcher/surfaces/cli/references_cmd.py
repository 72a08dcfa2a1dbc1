"""`lurcher references` and `lurcher implementations`: who uses a definition, who calls it, what is made of it."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.errors import UsageError
from lurcher.runtime.process import format_count, printable
from lurcher.sources import find_root
from lurcher.surfaces.cli.printer import Painter, from_here, print_notes, use_colour
from lurcher.surfaces.cli.search_cmd import Meter, overrides_of, print_json, split_location, wants_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.engine import Engine
    from lurcher.inspect.references.answer import Place, ReferencesAnswer
    from lurcher.inspect.references.calls import CallsAnswer, ImplementationsAnswer
    from lurcher.surfaces.cli.printer import Locate

_LIMIT = 50
"""Entries that are listed unless a number is given; all are counted."""
_CANDIDATES = "candidates: the code does not say which definition these mean"


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
        _print_references(answer, engine.locate)
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
        _print_implementations(answer, engine.locate)
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
    painter, shown = Painter(use_colour()), from_here(engine.locate)
    if parsed.format == "vimgrep":
        for call in answer.calls:
            print(f"{printable(shown(call.call_path))}:{call.call_line}:1:{printable(call.name or call.via)}")
        return 0 if answer.calls else 1
    print_notes(answer.basis.degraded)
    _print_definitions(answer.definitions, painter, shown)
    for call in answer.calls:
        name = painter.symbol(call.name) if call.name else painter.dim("(top level)")
        traits = [call.kind, *([f"depth {call.depth}, via {printable(call.via)}"] if call.depth > 1 else [])]
        traits += [] if call.resolution == "resolved" else ["candidate"]
        where = f"{printable(shown(call.call_path))}:{call.call_line}"
        print(f"{painter.path(shown(call.path))}:{call.line}  {name}  {painter.dim(', '.join(traits))}  {where}")
    _print_total(len(answer.calls), answer.total, {"callers": "caller", "callees": "callee", "tests": "test"}[answer.direction])
    if not answer.complete:
        print("not everything within the depth was looked at", file=sys.stderr)
    return 0 if answer.calls else 1


def _print_references(answer: ReferencesAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    _print_definitions(answer.definitions, painter, shown)
    path, resolution = "", ""
    for entry in answer.references:
        if entry.resolution != resolution and entry.resolution == "candidate" and answer.definitions:
            print(painter.dim(_CANDIDATES))
        if (entry.path, entry.resolution) != (path, resolution):
            path, resolution = entry.path, entry.resolution
            print(painter.path(shown(path)))
        enclosing = f"  {printable(entry.enclosing)}" if entry.enclosing else ""
        print(f"  {entry.line}:{entry.column}  {entry.kind}{painter.dim(enclosing)}  {painter.code(entry.text, set())}")
    _print_total(len(answer.references), answer.total, "use")


def _print_implementations(answer: ImplementationsAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    _print_definitions(answer.definitions, painter, shown)
    for entry in answer.implementations:
        traits = [entry.kind, f"of {printable(entry.of)}", *([] if entry.resolution == "resolved" else ["candidate"])]
        print(f"{painter.path(shown(entry.path))}:{entry.line}  {painter.symbol(entry.name)}  {painter.dim(', '.join(traits))}")
    _print_total(len(answer.implementations), answer.total, "implementation")


def _print_definitions(definitions: Sequence[Place], painter: Painter, shown: Locate) -> None:
    for entry in definitions:
        where = f"{printable(str(shown(entry.path)))}:{entry.line}"
        print(painter.dim(f"{entry.kind} {printable(entry.name)} at {where}"))


def _print_total(listed: int, total: int, noun: str) -> None:
    """Prints the total to stderr, since it is no result."""
    cut = f", {listed:,} listed" if listed < total else ""
    print(f"{format_count(total, noun)}{cut}", file=sys.stderr)
