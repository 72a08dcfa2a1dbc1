"""Prints who uses a definition, who calls it and what implements it, as text."""

from __future__ import annotations

import sys

from lurcher.runtime.process import format_count, printable
from lurcher.surfaces.cli.printer import Painter, from_here, print_notes, use_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.inspect.references.answer import Place, ReferencesAnswer
    from lurcher.inspect.references.calls import CallsAnswer, ImplementationsAnswer
    from lurcher.inspect.references.question import UsageAnswer
    from lurcher.surfaces.cli.printer import Locate

_MOST_DEFINITIONS = 10
"""Definitions of a name that are printed before its uses."""
_CANDIDATES = "candidates: the code does not say which definition these mean"


def print_usage(usage: UsageAnswer, locate: Locate) -> None:
    """Prints who uses a name, before the hits of a search; its notes are among those of the search."""
    from lurcher.inspect.references.answer import ReferencesAnswer
    from lurcher.inspect.references.calls import CallsAnswer

    answer = usage.answer.replace(basis=usage.answer.basis.replace(degraded=()))
    if isinstance(answer, ReferencesAnswer):
        print_references(answer, locate)
    elif isinstance(answer, CallsAnswer):
        print_calls(answer, locate)
    else:
        print_implementations(answer, locate)
    print()


def print_calls(answer: CallsAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
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


def print_references(answer: ReferencesAnswer, locate: Locate) -> None:
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


def print_implementations(answer: ImplementationsAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    _print_definitions(answer.definitions, painter, shown)
    for entry in answer.implementations:
        traits = [entry.kind, f"of {printable(entry.of)}", *([] if entry.resolution == "resolved" else ["candidate"])]
        print(f"{painter.path(shown(entry.path))}:{entry.line}  {painter.symbol(entry.name)}  {painter.dim(', '.join(traits))}")
    _print_total(len(answer.implementations), answer.total, "implementation")


def _print_definitions(definitions: Sequence[Place], painter: Painter, shown: Locate) -> None:
    for entry in definitions[:_MOST_DEFINITIONS]:
        where = f"{printable(str(shown(entry.path)))}:{entry.line}"
        print(painter.dim(f"{entry.kind} {printable(entry.name)} at {where}"))
    if len(definitions) > _MOST_DEFINITIONS:
        print(painter.dim(f"and {format_count(len(definitions) - _MOST_DEFINITIONS, 'further definition')}"))


def _print_total(listed: int, total: int, noun: str) -> None:
    """Prints the total to stderr, since it is no result."""
    cut = f", {listed:,} listed" if listed < total else ""
    print(f"{format_count(total, noun)}{cut}", file=sys.stderr)
