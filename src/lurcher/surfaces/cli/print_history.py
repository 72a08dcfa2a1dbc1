"""Prints the writers of lines, and briefs."""

from __future__ import annotations

import sys

from lurcher.inspect.brief import BriefAnswer
from lurcher.inspect.explain import WORK_TREE, ExplainAnswer, Writer
from lurcher.runtime.terminal import format_count, printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.surfaces.cli.print_commit import MAX_BODY_LINES, SHORT, outcome_lines
from lurcher.surfaces.cli.printer import Locate, from_here, print_notes, use_colour


def explain(answer: ExplainAnswer, locate: Locate) -> None:
    """Each commit with its lines, its message and the change it made."""
    painter, shown = Painter(use_colour()), from_here(locate)
    path = answer.path if answer.revision != WORK_TREE else shown(answer.path)
    print_notes(answer.degraded)
    for number, entry in enumerate(answer.writers):
        if number:
            print()
        for line in _writer(entry, answer.path, path, painter):
            print(line)
    if not answer.writers:
        print(f"{printable(path)} has no lines", file=sys.stderr)
    left = answer.total - len(answer.writers)
    if left > 0:
        print(f"{len(answer.writers)} of {format_count(answer.total, 'commit')}; more: -k {answer.total}", file=sys.stderr)


def _writer(entry: Writer, path: str, shown: str, painter: Painter) -> list[str]:
    lines = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in entry.lines)
    where = f"{painter.path(shown)}:{lines}"
    if entry.sha is None:
        return [f"{where}  {painter.state('not committed yet', 'note')}"]
    day = (entry.date or "")[:10]
    out = [f"{where}  {painter.symbol(entry.sha[:SHORT])}  {day}  {printable(entry.author)}"]
    out.append(f"    {printable(entry.subject)}")
    if entry.path != path:
        out.append(painter.dim(f"    then called {printable(entry.path)}"))
    body = [line for line in entry.body.splitlines() if line.strip()]
    out += [painter.dim(f"    {printable(line)}") for line in body[:MAX_BODY_LINES]]
    if len(body) > MAX_BODY_LINES:
        out.append(painter.dim(f"    … {len(body) - MAX_BODY_LINES} more lines"))
    if entry.outcome is not None:
        out += [f"    {line}" for line in outcome_lines(entry.outcome, painter)]
    if entry.excerpt is not None:
        for line in entry.excerpt.text.split("\n"):
            mark = painter.state(line[:1], "problem" if line[:1] == "-" else "ok")
            out.append(f"    {mark} {painter.code(line[1:], set())}")
        if entry.excerpt.left_out:
            out.append(painter.dim(f"    … {entry.excerpt.left_out} more lines"))
    for near in entry.related:
        said = f"    perhaps related: {near.sha[:SHORT]}  {near.date[:10]}  {printable(near.subject)} ({near.reason})"
        out.append(painter.dim(said))
    return out


def brief(answer: BriefAnswer) -> None:
    print_notes(answer.standing.degraded)
    print(answer.text, end="")
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    said = f"{answer.tokens:,} tokens of {answer.budget:,}" + (f"; left out: {', '.join(left)}" if left else "")
    print(said, file=sys.stderr)
