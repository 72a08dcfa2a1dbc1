"""The texts that a segment is built of: given, or read by whoever builds it, be that another process."""

from __future__ import annotations

from typing import NamedTuple

from lurcher.sources.decode import Skip, Text, read_text

Files = list[tuple[str, bytes | None]]
"""Path and text; no text where whoever builds them is to read it."""


class Tree(NamedTuple):
    """Where texts are read from, and which."""

    root: str
    max_file_bytes: int
    follow_symlinks: bool
    secrets: bool = False

    def read(self, path: str) -> Text | Skip:
        return read_text(f"{self.root}/{path}", self.max_file_bytes, follow_symlinks=self.follow_symlinks, secrets=self.secrets)


class Seen(NamedTuple):
    """What a file was when its builder read it."""

    path: str
    reason: str
    """Why it has no text; nothing where it has."""
    digest: str | None
    size: int = 0
    """Of its text."""


def texts_of(files: Files, tree: Tree | None) -> tuple[list[tuple[str, bytes]], list[Seen]]:
    """The files that have a text, read where that is left to do, and what was seen of those."""
    texts: list[tuple[str, bytes]] = []
    seen: list[Seen] = []
    for path, text in files:
        if text is None:
            assert tree is not None
            outcome = tree.read(path)
            reason = outcome.reason if isinstance(outcome, Skip) else ""
            seen.append(Seen(path, reason, outcome.digest, len(outcome.data) if isinstance(outcome, Text) else 0))
            if isinstance(outcome, Skip):
                continue
            text = outcome.data
        texts.append((path, text))
    return texts, seen
