"""Laws that hold for every note in every markup, and notes that are nothing but trouble."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.chunking.notes import MAX_SECTION, MIN_CUT, parse_note

BODY = "Plain words of a paragraph, wörter und 言葉. " * 6 + "\n"
PIECES = {
    "markdown": ["# A\n", "## B\n", "### C ##\n", "Set\n===\n", "Ext\n---\n", "~~~~\n", "```py\n", "> [!note] x\n",
                 "| a |\n|---|\n", "<!-- c\n", "-->\n", "<pre>\n", "</pre>\n", "---\n", "tags: [a\n", "^b1\n", "\t# t\n"],
    "restructuredtext": ["Title\n=====\n", "Part\n----\n", "~~~~\nOver\n~~~~\n", "code::\n\n   x\n\n", ".. note:: x\n",
                         "....\n"],
    "asciidoc": ["= A\n", "== B\n", "=== C\n", "----\n", "====\n", "<<a#b,c>>\n", ":tags: x\n"],
    "text": ["A\n", "====\n", "\n\n"],
}  # fmt: skip


@st.composite
def notes(draw: st.DrawFn) -> tuple[str, str]:
    language = draw(st.sampled_from(sorted(PIECES)))
    pieces = st.sampled_from([*PIECES[language], BODY, BODY * 8, "\n"]) | st.text(max_size=20)
    text = "".join(draw(st.lists(pieces, max_size=50)))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text, language


@settings(deadline=None, max_examples=150)
@given(notes())
def test_sections_are_the_lines_they_say_and_headings_nest(note: tuple[str, str]) -> None:
    text, language = note[0].encode("utf-8", "replace"), note[1]
    found = parse_note(text, language)
    lines = text.split(b"\n")
    whole = b""
    for chunk in found.chunks:
        shown = text[chunk.start_byte : chunk.end_byte]
        whole += shown
        ends = chunk.end_byte == len(text) or shown.endswith(b"\n")
        if ends and (chunk.start_byte == 0 or text[chunk.start_byte - 1 : chunk.start_byte] == b"\n"):
            assert shown.rstrip(b"\n") == b"\n".join(lines[chunk.start_line - 1 : chunk.end_line]).rstrip(b"\n")
    assert whole == text
    if len(text.decode("utf-8", "replace")) < MIN_CUT:
        assert len(found.chunks) <= 1
    open_: list[int] = []
    for heading in found.definitions:
        assert heading.start_line == text.count(b"\n", 0, heading.start_byte) + 1
        while open_ and open_[-1] <= heading.start_byte:
            open_.pop()
        assert not open_ or heading.end_byte <= open_[-1]
        open_.append(heading.end_byte)
    assert all(a[1] <= b[0] for a, b in pairwise(found.comments))
    longest = max((chunk.end_byte - chunk.start_byte for chunk in found.chunks), default=0)
    assert longest <= 4 * MAX_SECTION + 4


@pytest.mark.parametrize("language", ["markdown", "restructuredtext", "asciidoc", "org", "text"])
@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "   ", "---\ntitle: only\n---\n", "---\n---", "\r\n\r\n", "# \n", "==\n"])
def test_next_to_nothing_is_a_note_too(text: str, language: str) -> None:
    found = parse_note(text.encode(), language)
    assert b"".join(text.encode()[chunk.start_byte : chunk.end_byte] for chunk in found.chunks) == text.encode()


HOSTILE = {
    "one line": "word [link](a.md) #tag `code` " * 170_000,
    "headings": "".join(f"{'#' * (1 + i % 6)} heading {i}\n" for i in range(10_000)),
    "brackets": "[" * 10_000 + "]" * 10_000 + "\n" + "[[" * 10_000 + "]]" * 10_000,
    "backticks": "\n".join("`" * (i % 90 + 1) + "x" for i in range(20_000)),
    "a run of backticks": ("`" * 9_000 + "x\n") * 40,
    "comments": "`<!--` <!-- " * 40_000,
    "keys": "---\n" + ("a" + " " * 4_900 + "b\n") * 1_990 + "---\n",
    "list": "---\ntags: [" + ("x, " * 1_500 + "\n") * 1_990 + "---\n",
    "verbatim": "<pre>\n" * 40_000 + "<script>\n" * 40_000,
    "underlines": "x\n" + "=\n" * 100_000,
    "adornments": "====\nx\n====\n" * 20_000,
    "quotes": "> " * 9_000 + "\n" + ">" * 100_000,
    "attributes": "# x " + "{#" * 5_000 + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_time_a_note_takes_grows_no_faster_than_the_note(name: str) -> None:
    text = HOSTILE[name].encode()
    for language in ("markdown", "restructuredtext", "asciidoc", "org", "text"):
        begun = time.process_time()
        parse_note(text, language)
        assert time.process_time() - begun < 4, language
