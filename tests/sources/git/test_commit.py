"""Messages split into subject, body and trailers, and the kinds of changed files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.sources.git.commit import KINDS, decode_text, is_generated_or_vendored, kind_of, split_message


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


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/flask/app.py", "code"), ("Makefile", "code"), ("bin/run", "code"), ("tests/test_app.py", "test"),
        ("src/app.test.ts", "test"), ("spec/models/user_spec.rb", "test"), ("docs/guide.rst", "docs"), ("README.md", "docs"),
        ("CHANGES.rst", "changelog"), ("CHANGELOG.md", "changelog"), ("docs/changelog.md", "changelog"),
        ("newsfragments/123.bugfix.rst", "changelog"), ("src/history.py", "code"), ("src/news/views.py", "code"),
        ("tests/data/big.json", "data"), ("config.yaml", "data"), ("style.css", "data"), ("tests/fixtures/x.snap", "data"),
        ("weights.xyz", "data"),
    ],
)  # fmt: skip
def test_kinds_of_files(path: str, kind: str) -> None:
    assert KINDS[kind_of(path)] == kind


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("yarn.lock", True), ("a/b/jquery-3.1.js", True), ("vendor/lib/x.go", True), ("node_modules/x/index.js", True),
        ("logo.png", True), ("app.min.css", True), ("src/vendors.py", False), ("lock.py", False), ("src/a.py", False),
    ],
)  # fmt: skip
def test_what_nobody_wrote(path: str, left: bool) -> None:
    assert is_generated_or_vendored(path) is left
