"""`lurcher references` and `lurcher implementations`: who uses a definition, who calls it, what is made of it."""

from __future__ import annotations

import os

from lurcher.errors import UsageError
from lurcher.runtime.process import printable
from lurcher.sources import find_root
from lurcher.surfaces.cli.print_references import print_calls, print_implementations, print_references
from lurcher.surfaces.cli.printer import from_here, print_notes
from lurcher.surfaces.cli.search_cmd import Meter, file_locator, print_json, settings_of, split_location, wants_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TypeVar

    from lurcher.engine import Engine
    from lurcher.inspect.references.calls import AnyReferences
    from lurcher.surfaces.cli.printer import Locate

    AnyAnswer = TypeVar("AnyAnswer", bound=AnyReferences)

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
        target = _target(parsed.target, engine)
        if directions:
            calls = engine.calls(target, direction=directions[0], depth=parsed.depth, limit=limit, progress=meter.update)
        else:
            answer = engine.references(target, kinds=parsed.kind, limit=limit, progress=meter.update)
    if directions:
        rows = [(call.call_path, call.call_line, 1, call.name or call.via) for call in calls.calls]
        return _show(parsed, engine, calls, rows, print_calls)
    rows = [(entry.path, entry.line, entry.column, entry.text) for entry in answer.references]
    return _show(parsed, engine, answer, rows, print_references)


def run_implementations(parsed: Namespace) -> int:
    limit = _LIMIT if parsed.limit is None else parsed.limit
    with _open(parsed) as engine, Meter(parsed.quiet) as meter:
        answer = engine.implementations(_target(parsed.target, engine), limit=limit, progress=meter.update)
    rows = [(entry.path, entry.line, entry.column, entry.signature or entry.name) for entry in answer.implementations]
    return _show(parsed, engine, answer, rows, print_implementations)


def _open(parsed: Namespace) -> Engine:
    from lurcher.engine import Engine

    # Uses are looked for in the whole root, even from a folder of it, unless paths limit the question.
    return Engine.open(parsed.path or [find_root(".").place], overrides=settings_of(parsed))


def _target(given: str, engine: Engine) -> str:
    """A place with the file as the engine finds it from anywhere; a name as it is."""
    if engine.elsewhere or ":" not in given:  # of another project, a file here says nothing
        return given
    file, line, _ = split_location(given)
    if line is None or "\0" in file or not os.path.exists(file):
        return given
    return f"{os.path.abspath(file)}{given[len(file) :]}"


def _show(
    parsed: Namespace, engine: Engine, answer: AnyAnswer, rows: list[tuple[str, int, int, str]],
    print_text: Callable[[AnyAnswer, Locate], None],
) -> int:  # fmt: skip
    """Prints an answer in the format asked for; `rows` are path, line, column and text of its entries."""
    if wants_json(parsed):
        print_json(answer.to_dict())
    elif parsed.format == "vimgrep":
        print_notes(answer.basis.degraded)
        shown = from_here(file_locator(engine))
        for path, line, column, text in rows:
            print(f"{printable(shown(path))}:{line}:{column}:{printable(text)}")
    else:
        print_text(answer, file_locator(engine))
    return 0 if rows else 1
