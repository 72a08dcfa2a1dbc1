"""Which commits are read, and how much of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogSettings:
    first_parent: bool = False
    """Follow first parents only; what a merge brought is then the merge's change."""
    merges: bool = False
    """Tell of merges too, each with its change against its first parent."""
    diff_bytes: int = 20_000
    secrets: bool = False
    """Keep the lines of files that look like secrets too."""
