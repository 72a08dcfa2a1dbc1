"""Reranks commits by what became of them: a commit that was reverted or had to be fixed loses part of its score."""

from __future__ import annotations

from lurcher.types import HOTFIXED, REVERTED

PENALTIES = {REVERTED: 0.6, HOTFIXED: 0.3}
"""The share of its score that a commit loses if its verdict is certain."""


def outcome_factor(verdict: str, confidence: float) -> float:
    """What the score of a commit with this verdict is multiplied by; the less certain the verdict, the nearer to 1."""
    return 1 - PENALTIES.get(verdict, 0.0) * confidence
