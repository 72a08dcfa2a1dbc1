"""What a history index tells of one commit, one changed file, one hunk."""

from __future__ import annotations

from typing import NamedTuple


class Header(NamedTuple):
    """What is known of a commit without its changes."""

    sha: str
    subject: str
    author: str
    email: str
    authored: int
    committed: int
    body: str
    parents: tuple[str, ...]
    trailers: tuple[tuple[str, str], ...]


def header_of(name: bytes, authored: int, committed: int, strings: bytes) -> Header:
    """The header that begins a commit's strings."""
    fields = [part.decode("utf-8", "replace") for part in strings.split(b"\0", 6)[:6]]
    subject, author, email, body, parents, trailers = fields + [""] * (6 - len(fields))
    pairs = (line.partition(": ") for line in trailers.split("\n") if line)
    return Header(
        name.hex(), subject, author, email, authored, committed, body, tuple(parents.split()),
        tuple((key, value) for key, _, value in pairs),
    )  # fmt: skip


class ChangeView(NamedTuple):
    """What a commit did to one file; its hunks have the numbers `hunks`."""

    path: str
    old_path: str | None
    status: str
    kind: str
    language: str
    added: int
    removed: int
    binary: bool
    cut: bool
    hunks: range


class HunkView(NamedTuple):
    """Where a hunk is, and what it is about."""

    commit: int
    path: str
    old_path: str | None
    kind: str
    language: str
    old_start: int
    new_start: int
    removed: int
    """Lines kept."""
    added: int
    heading: str
    name: str
    """The definition around the change, or in it; empty where none is known."""
