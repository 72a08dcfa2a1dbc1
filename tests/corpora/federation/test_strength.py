"""What speaks for a source."""

from __future__ import annotations

import pytest

from lurcher.corpora.federation import Strength, _about_the_past


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("did we ever cache lookups", 1.0),
        ("when was the retry limit raised", 1.0),
        ("has anyone tried pooling connections", 1.0),
        ("why are retries capped", 0.5),
    ],
)
def test_questions_about_the_past_speak_for_history(text: str, least: float) -> None:
    assert _about_the_past(text) >= least


@pytest.mark.parametrize(
    "text",
    [
        "how are redirects followed", "transaction commit", "how removed entries are swept", "fixed size ring buffer",
        "replaced placeholders", "command history",
    ],
)  # fmt: skip
def test_code_that_changes_things_is_not_the_past(text: str) -> None:
    assert _about_the_past(text) <= 0.25


def test_other_hits_fade_behind_the_best() -> None:
    notes = Strength(0.8, 4.0, True, "")
    assert notes.of(1.0) == 0.8 and notes.of(0.5) == pytest.approx(0.05)
