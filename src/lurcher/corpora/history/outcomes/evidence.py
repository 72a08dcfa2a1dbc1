"""Every commit's message, merges included, read at once: what a verdict needs besides the changes.

Without a diff, git tells of 30,000 commits in half a second; so nothing of it has to be kept, and the order is always the one
that the history has now.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lurcher.sources.git import command
from lurcher.sources.git.parse import split_message, text_of

_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Message:
    """A commit without what it changed."""

    sha: str
    parents: tuple[str, ...]
    author: str
    authored: int
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...] = ()


def messages(top: Path, tip: str = "HEAD", seconds: float = _SECONDS, most: int | None = None) -> list[Message] | None:
    """All commits that `tip` leads to, children before parents, otherwise the latest first; None where git cannot tell.

    With `most` the first so many, by date alone: for the exact order git would have to read everything.
    """
    order = "--date-order" if most is None else f"--max-count={most}"
    arguments = (order, "--no-show-signature", "--no-notes", "--encoding=UTF-8", "-z", "--no-patch")
    fields = "--format=%H%x1f%P%x1f%an%x1f%at%x1f%B"
    process = command.start(top, "--no-replace-objects", "log", *arguments, fields, "--end-of-options", tip, "--")
    status, output = command.finish(process, seconds)
    if status != 0:
        return None
    found = []
    for record in output.split(b"\0"):
        parts = record.split(b"\x1f", 4)
        if len(parts) == 5:
            sha, parents, author, authored, raw = parts
            when = int(authored) if authored.lstrip(b"-").isdigit() else 0
            named = tuple(parents.decode("ascii").split())
            found.append(Message(sha.decode("ascii"), named, text_of(author), when, *split_message(text_of(raw))))
    return found
