"""A second look that prefers what stuck: commits that were reverted or had to be mended go down, as sure as that is."""

from __future__ import annotations

from lurcher.corpora.history.outcomes.verdicts import HOTFIXED, REVERTED, Outcome

LOSS = {REVERTED: 0.6, HOTFIXED: 0.3}
"""What a commit loses of its score when its verdict is certain."""


def lasting(outcome: Outcome) -> tuple[float, str]:
    """What a commit keeps of its score, and why."""
    return 1 - LOSS.get(outcome.verdict, 0.0) * outcome.confidence, outcome.verdict
