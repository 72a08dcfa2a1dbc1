"""Prints commits: hits of history, the writers of lines, briefs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lurcher.corpora.history.outcomes.verdicts import (
    HOTFIXED,
    MENDED,
    PARTLY_REVERTED,
    REVERTED,
    SUCCESS,
    Evidence,
    Outcome,
)
from lurcher.inspect.brief import BriefAnswer
from lurcher.inspect.explain import WORK_TREE, ExplainAnswer, Writer
from lurcher.runtime.terminal import format_count, printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.surfaces.cli.printer import Locate, from_here, print_notes, use_colour
from lurcher.types import Hit

_SHORT = 10
_MOST_BODY = 6


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
    out = [f"{where}  {painter.symbol(entry.sha[:_SHORT])}  {day}  {printable(entry.author)}"]
    out.append(f"    {printable(entry.subject)}")
    if entry.path != path:
        out.append(painter.dim(f"    then called {printable(entry.path)}"))
    body = [line for line in entry.body.splitlines() if line.strip()]
    out += [painter.dim(f"    {printable(line)}") for line in body[:_MOST_BODY]]
    if len(body) > _MOST_BODY:
        out.append(painter.dim(f"    … {len(body) - _MOST_BODY} more lines"))
    if entry.outcome is not None:
        out += [f"    {line}" for line in outcome(entry.outcome, painter)]
    if entry.excerpt is not None:
        for line in entry.excerpt.text.split("\n"):
            mark = painter.state(line[:1], "problem" if line[:1] == "-" else "ok")
            out.append(f"    {mark} {painter.code(line[1:], set())}")
        if entry.excerpt.left_out:
            out.append(painter.dim(f"    … {entry.excerpt.left_out} more lines"))
    for near in entry.related:
        said = f"    perhaps related: {near.sha[:_SHORT]}  {near.date[:10]}  {printable(near.subject)} ({near.reason})"
        out.append(painter.dim(said))
    return out


def commit_lines(hit: Hit, painter: Painter) -> Iterator[str]:
    """A commit with its message, the change that matches best, and its outcome."""
    commit = hit.commit or {}
    head = f"{painter.symbol(commit['sha'][:_SHORT])}  {commit['date'][:10]}  {printable(commit['author'])}"
    yield f"{head}  {painter.dim(f'{hit.score:.3f}')}"
    judged = commit["outcome"]
    said = Outcome(judged["verdict"], judged["confidence"], tuple(Evidence(**entry) for entry in judged["evidence"]))
    yield from (f"    {line}" for line in outcome(said, painter))
    if not hit.text:
        yield f"    {printable(commit['subject'])}"
        return
    message, _, change = hit.text.rstrip("\n").partition(f"\n\n{hit.path} @@ ")
    first, *rest = message.split("\n")
    yield f"    {painter.state(printable(first), 'ok') if painter.on else printable(first)}"
    shown = rest[:_MOST_BODY] if painter.on else rest
    yield from (painter.dim(f"    {printable(line)}") for line in shown if line.strip())
    if not change:
        return
    place, *lines = change.split("\n")
    more = f" and {commit['file_count'] - 1} more files" if commit["file_count"] > 1 else ""
    yield f"    {painter.path(hit.path)}{painter.dim(f' @@ {printable(place)}{more}')}"
    for line in lines:
        if line[:1] in "+-":
            yield f"    {painter.state(line[:1], 'problem' if line[:1] == '-' else 'ok')} {painter.code(line[1:], set())}"
        else:
            yield painter.dim(f"    {printable(line)}")


def brief(answer: BriefAnswer) -> None:
    print_notes(answer.standing.degraded)
    print(answer.text, end="")
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    said = f"{answer.tokens:,} tokens of {answer.budget:,}" + (f"; left out: {', '.join(left)}" if left else "")
    print(said, file=sys.stderr)


def outcome(found: Outcome, painter: Painter) -> list[str]:
    """The outcome of a commit that was not simply kept: what was done to it, by whom, when and why."""
    from datetime import datetime, timezone

    if found.verdict == SUCCESS:
        return []
    telling = {REVERTED: (REVERTED,), HOTFIXED: (MENDED, PARTLY_REVERTED)}[found.verdict]
    out = []
    for entry in found.evidence:
        if entry.kind in telling:
            day = datetime.fromtimestamp(max(0, entry.date), timezone.utc).strftime("%Y-%m-%d")
            why = f": {printable(entry.note)}" if entry.note else ""
            said = {REVERTED: "reverted", MENDED: "mended", PARTLY_REVERTED: "reverted in part"}[entry.kind]
            state = painter.state(said, "problem" if entry.kind == REVERTED else "note")
            out.append(f"{state} by {entry.sha[:_SHORT]}, {day}, {printable(entry.author)}{why}")
    return out
