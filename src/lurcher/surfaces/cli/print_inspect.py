"""Surveys as text: a drawing of dependents on a terminal, plain lines when piped; the others look the same in both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from lurcher.inspect.answers import ContextAnswer, Dependent, ExistsAnswer, ImpactAnswer, OutlineAnswer, OutlineSymbol
from lurcher.runtime.plural import counted
from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.surfaces.cli.printer import Locate, colours, from_here, notes

_MOST_NAMES = 8
_SURE = 0.995


def impact(answer: ImpactAnswer, locate: Locate) -> None:
    painter, shown = Painter(colours()), from_here(locate)
    notes(answer.standing.degraded)
    if sys.stdout.isatty() and answer.dependents:
        print(painter.path(shown(answer.path)))
        for line in _tree(answer, painter, shown):
            print(line)
    else:
        for entry in answer.dependents:
            far = [f"hop {entry.hop}"] + ([f"via {printable(shown(entry.via))}"] if entry.hop > 1 else [])
            print("  ".join([f"{printable(shown(entry.path))}:{entry.line}", *far, *_traits(entry)]))
    impact_totals(answer)


def impact_totals(answer: ImpactAnswer) -> None:
    """What belongs to the answer but is not a result."""
    asked = f"{answer.path} ({answer.symbol})" if answer.symbol else answer.path
    if not answer.dependents:
        print(f"nothing imports {printable(asked)}", file=sys.stderr)
    for hop in answer.by_hop:
        cut = f", {hop.shown:,} listed" if hop.shown < hop.total else ""
        print(f"hop {hop.hop}: {counted(hop.total, 'file')}, {counted(hop.tests, 'test')} among them{cut}", file=sys.stderr)


def _traits(entry: Dependent) -> list[str]:
    """What is worth saying of a dependent: names, how it uses the symbol, whether it is a test, how sure that is."""
    traits = []
    if entry.names:
        more = f", … {len(entry.names) - _MOST_NAMES} more" if len(entry.names) > _MOST_NAMES else ""
        traits.append(printable(", ".join(entry.names[:_MOST_NAMES])) + more)
    if entry.use is not None:
        traits.append(entry.use)
    if entry.test:
        traits.append("test")
    if entry.confidence < _SURE:
        traits.append(f"confidence {entry.confidence:.2f}")
    return traits


def _tree(answer: ImpactAnswer, painter: Painter, shown: Callable[[str], str]) -> Iterator[str]:
    """Each dependent under the file through which it depends; one whose own was cut off hangs at the top and says so."""
    listed = {answer.path, *(entry.path for entry in answer.dependents)}
    below: dict[str, list[Dependent]] = {}
    for entry in answer.dependents:
        below.setdefault(entry.via if entry.via in listed else answer.path, []).append(entry)

    def drawn(path: str, margin: str) -> Iterator[str]:
        entries = below.get(path, [])
        for number, entry in enumerate(entries):
            last = number == len(entries) - 1
            traits = _traits(entry) + ([] if entry.via in listed else [f"via {printable(shown(entry.via))}"])
            said = painter.dim("  ".join(["", *traits])) if traits else ""
            yield f"{painter.dim(margin + ('└── ' if last else '├── '))}{painter.path(shown(entry.path))}:{entry.line}{said}"
            yield from drawn(entry.path, margin + ("    " if last else "│   "))

    yield from drawn(answer.path, "")


def outline(answer: OutlineAnswer, locate: Locate) -> None:
    painter, shown = Painter(colours()), from_here(locate)
    notes(answer.standing.degraded)
    for number, file in enumerate(answer.files):
        if number:
            print()
        what = f"{file.language}, {counted(file.lines, 'line')}"
        print(f"{painter.path(shown(file.path))}  {painter.dim(what)}")
        width = 2 * len(str(file.lines)) + 1
        for symbol in file.symbols:
            _symbol(symbol, painter, 1, width, bool(answer.kinds))
    if not answer.total:
        print("no symbols" + (f" of kind {' or '.join(answer.kinds)}" if answer.kinds else ""), file=sys.stderr)


def _symbol(symbol: OutlineSymbol, painter: Painter, depth: int, width: int, flat: bool) -> None:
    lines = f"{f'{symbol.start_line}-{symbol.end_line}':<{width}}"
    whole = f"  {painter.symbol(symbol.qualified)}" if flat and symbol.qualified != symbol.name else ""
    signature = painter.code(symbol.signature or symbol.name, set())
    print(f"{painter.dim(lines)}{'  ' * depth}{signature}{whole}  {painter.dim(symbol.kind)}")
    for child in symbol.children:
        _symbol(child, painter, depth + 1, width, flat)


def context(answer: ContextAnswer) -> None:
    notes(answer.standing.degraded)
    # A package is made for programs as much as for people: it has no colours, and its tabs and newlines stay.
    for line in answer.text.splitlines():
        print(printable(line))
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    said = f"{answer.tokens:,} tokens of {answer.budget:,}" + (f"; left out: {', '.join(left)}" if left else "")
    print(said, file=sys.stderr)


def exists(answer: ExistsAnswer, locate: Locate) -> None:
    notes(answer.standing.degraded)
    where = "" if answer.path is None else f"  {printable(from_here(locate)(answer.path))}:{answer.line}"
    print(answer.verdict + where)
