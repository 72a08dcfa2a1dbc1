"""By which rules outcomes are found: what others found by other rules does not serve."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lurcher.settings.past import OutcomeSettings


def rules_of(settings: OutcomeSettings) -> dict[str, Any]:
    return asdict(settings)


def rules_text(settings: OutcomeSettings) -> str:
    """The rules as one comparable text."""
    return "\n".join(f"{name}={value}" for name, value in rules_of(settings).items())
