from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.sources.git.commit import decode_text, split_message


@pytest.mark.parametrize(
    ("message", "subject", "body", "trailers"),
    [
        ("One\n", "One", "", ()),
        ("One\ntwo\n\nBody.", "One two", "Body.", ()),
        ("One\n\nFixes: #1\n", "One", "", (("Fixes", "#1"),)),
        ("Fixes: #1\n", "Fixes: #1", "", ()),
        ("One\n\nText.\n\nFixes: #1\nCloses: #2", "One", "Text.", (("Fixes", "#1"), ("Closes", "#2"))),
        ("One\n\nNote: this is\nordinary prose", "One", "Note: this is\nordinary prose", ()),
        ("One\n\nSee https://example.org", "One", "See https://example.org", ()),
        ("One\n\nhttps://example.org", "One", "https://example.org", ()),
        ("One\n\nCo-authored-by: A\n  continued\n", "One", "", (("Co-authored-by", "A continued"),)),
        (
            "One\n\n(cherry picked from commit 0123456789abcdef0123456789abcdef01234567)\nSigned-off-by: B",
            "One", "", (("Cherry-picked-from", "0123456789abcdef0123456789abcdef01234567"), ("Signed-off-by", "B")),
        ),
        ("One\n\n[b: fixed a typo]\nSigned-off-by: B", "One", "[b: fixed a typo]", (("Signed-off-by", "B"),)),
        ("", "", "", ()),
    ],
)  # fmt: skip
def test_a_message_in_its_parts(message: str, subject: str, body: str, trailers: tuple[tuple[str, str], ...]) -> None:
    assert split_message(message) == (subject, body, trailers)


@given(st.binary(max_size=200))
def test_any_bytes_become_text(raw: bytes) -> None:
    text = decode_text(raw)
    assert text.encode("utf-8", "strict") is not None
    assert text.count("\n") == raw.count(b"\n")
    assert raw.isascii() <= (text == raw.decode("ascii", "replace"))


@given(st.text(max_size=300))
def test_no_word_of_a_message_is_lost(message: str) -> None:
    subject, body, trailers = split_message(message)
    kept = f"{subject} {body} {' '.join(f'{name}: {value}' for name, value in trailers)}"
    lost = set(message.replace(":", " ").split()) - set(kept.replace(":", " ").split())
    assert not lost or "cherry" in message.lower()
