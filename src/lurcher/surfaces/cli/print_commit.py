"""Prints one commit: its message, the change that matches best, and its outcome."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.corpora.history.outcomes.verdicts import FIXED, PARTLY_REVERTED, Evidence, Outcome
from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.types import HOTFIXED, REVERTED, SUCCESS, Hit

SHORT = 10
"""Letters of a commit's name that are shown."""
MAX_BODY_LINES = 6


def commit_lines(hit: Hit, painter: Painter) -> Iterator[str]:
    """A commit with its message, the change that matches best, and its outcome."""
    commit = hit.commit or {}
    head = f"{painter.symbol(commit['sha'][:SHORT])}  {commit['date'][:10]}  {printable(commit['author'])}"
    yield f"{head}  {painter.dim(f'{hit.score:.3f}')}"
    judged = commit["outcome"]
    said = Outcome(judged["verdict"], judged["confidence"], tuple(Evidence(**entry) for entry in judged["evidence"]))
    yield from (f"    {line}" for line in outcome_lines(said, painter))
    if not hit.text:
        yield f"    {printable(commit['subject'])}"
        return
    message, _, change = hit.text.rstrip("\n").partition(f"\n\n{hit.path} @@ ")
    first, *rest = message.split("\n")
    yield f"    {painter.state(printable(first), 'ok') if painter.on else printable(first)}"
    shown = rest[:MAX_BODY_LINES] if painter.on else rest
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


def outcome_lines(found: Outcome, painter: Painter) -> list[str]:
    """The outcome of a commit that was not simply kept: what was done to it, by whom, when and why."""
    from datetime import datetime, timezone

    if found.verdict == SUCCESS:
        return []
    telling = {REVERTED: (REVERTED,), HOTFIXED: (FIXED, PARTLY_REVERTED)}[found.verdict]
    out = []
    for entry in found.evidence:
        if entry.kind in telling:
            day = datetime.fromtimestamp(max(0, entry.date), timezone.utc).strftime("%Y-%m-%d")
            why = f": {printable(entry.note)}" if entry.note else ""
            said = {REVERTED: "reverted", FIXED: "fixed", PARTLY_REVERTED: "reverted in part"}[entry.kind]
            state = painter.state(said, "problem" if entry.kind == REVERTED else "note")
            out.append(f"{state} by {entry.sha[:SHORT]}, {day}, {printable(entry.author)}{why}")
    return out
