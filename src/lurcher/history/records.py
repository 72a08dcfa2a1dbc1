"""A commit as git tells of it: who, when, why, and what it changed. Frozen, slotted."""

from __future__ import annotations

from dataclasses import dataclass

ADDED, MODIFIED, DELETED, RENAMED, COPIED, RETYPED = "A", "M", "D", "R", "C", "T"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One run of changed lines, without context."""

    old_start: int
    new_start: int
    heading: str
    """What git puts behind the @@: the line that begins the function around, as far as it knows."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one file."""

    path: str
    """As it is called after the commit; for a deleted file, as it was called before."""
    status: str
    hunks: tuple[Hunk, ...] = ()
    old_path: str | None = None
    """What it was called before, if that differs."""
    added: int = 0
    """Lines, those of hunks that are not kept included."""
    removed: int = 0
    binary: bool = False
    cut: bool = False
    """Whether hunks were left out: the file is huge or generated, or its blob is missing."""


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    """Whole, in hexadecimal."""
    parents: tuple[str, ...]
    author: str
    email: str
    authored: int
    """Seconds since 1970."""
    committed: int
    subject: str
    body: str
    """Without trailers."""
    trailers: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    patch_id: str = ""
    """The same for the same change under another hash; empty where nothing changed."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)
