"""How notes are cut: the rules at their borders, and spans that are exact whatever the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.chunking.notes import MAX_SECTION, MIN_CUT, parse_note
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.parsed_file import ParsedFile
from lurcher.sources.roles import PARSED, is_note

PIECES = [
    "# One\n", "## Two\n", "### Three\n", "text of a paragraph " * 20 + "\n", "\n", "```\n", "<!--", "-->", "[[x]]", "é漢字",
    "---\n", "%%",
]  # fmt: skip
MARKUPS = ("markdown", "restructuredtext", "asciidoc", "org", "text")


def parse(text: str, language: str = "markdown") -> ParsedFile:
    return parse_note(text.encode(), language)


def starts(text: str) -> list[int]:
    return [chunk.start_line for chunk in parse(text).chunks]


def filled(size: int) -> str:
    line = "word " * 15 + "\n"
    return (line * (size // len(line) + 1))[: size - 1] + "\n"


def test_a_short_note_stays_whole() -> None:
    head = "# T\n\nintro\n\n## A\n\n"
    assert starts(head + filled(MIN_CUT - 1 - len(head))) == [1]
    assert starts(head + filled(MIN_CUT - len(head))) == [1, 5]


def test_a_longer_one_is_cut_at_second_level_headings_only() -> None:
    text = f"# T\n\nintro\n\n## A\n{filled(900)}\n### Below\n{filled(900)}\n## B\nend\n"
    lines = text.split("\n")
    assert starts(text) == [1, 5, lines.index("## B") + 1]


def test_a_title_alone_is_no_section() -> None:
    assert starts(f"---\ntags: a\n---\n\n# T\n\n## A\n{filled(1200)}## B\nx\n")[0:1] == [1]
    assert len(starts(f"---\ntags: a\n---\n\n# T\n\n## A\n{filled(1200)}## B\nx\n")) == 2


def test_too_long_a_section_is_cut_at_the_third_level() -> None:
    def note(size: int) -> str:
        return f"## A\nintro\n\n### X\n{filled(size // 2)}### Y\n{filled(size - size // 2)}"

    frame = len(note(1000)) - 1000
    assert len(starts(note(MAX_SECTION - frame))) == 1
    assert len(starts(note(MAX_SECTION - frame + 1))) == 3


def test_what_is_still_too_long_is_cut_between_paragraphs() -> None:
    paragraph = filled(1000) + "\n"
    text = "## A\n" + paragraph * 8
    found = parse(text).chunks
    assert len(found) > 3
    lines = text.split("\n")
    assert all(not lines[chunk.start_line - 2].strip() for chunk in found[1:])


def test_a_fence_is_not_cut_if_it_can_be_helped() -> None:
    fence = "```\n" + ("code\n\n" * 300) + "```\n"
    text = "## A\n" + filled(3000) + "\n" + fence + "\n" + filled(3000)
    begin = text[: text.index("```")].count("\n") + 1
    end = begin + fence.count("\n") - 1
    assert not any(begin < chunk.start_line <= end for chunk in parse(text).chunks)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_those_of_the_file(newline: str) -> None:
    text = newline.join(["# T", "", "intro", "", "## Åäö", *(["wörd " * 30] * 20), "## B", "end", ""])
    found = parse(text)
    lines = text.split("\n")
    for chunk in found.chunks:
        shown = text.encode()[chunk.start_byte : chunk.end_byte].decode().split("\n")
        wanted = lines[chunk.start_line - 1 : chunk.end_line]
        assert [line for line in shown if line] == [line for line in wanted if line]
    heading = found.definitions[1]
    assert (heading.name, heading.container, heading.start_line, heading.end_line) == ("Åäö", "T", 5, 25)
    assert heading.qualified == "T › Åäö"


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=30), max_size=60), st.sampled_from(MARKUPS))
def test_sections_tile_the_note(pieces: list[str], language: str) -> None:
    text = "".join(pieces).encode("utf-8", "replace")
    found = parse_note(text, language)
    position = 0
    for chunk in found.chunks:
        assert chunk.start_byte == position < chunk.end_byte
        assert chunk.start_line == text.count(b"\n", 0, chunk.start_byte) + 1
        assert chunk.end_line == text.count(b"\n", 0, chunk.end_byte - 1) + 1
        position = chunk.end_byte
    assert position == len(text)
    assert len(found.above) == len(found.chunks)
    assert all(0 <= a < b <= len(text) for a, b in found.comments)
    assert all(a.start_byte <= b.start_byte for a, b in zip(found.definitions, found.definitions[1:], strict=False))


@pytest.mark.parametrize("hostile", [
    "#" + " " * 200_000 + "x", "<!--" * 50_000, "[[" * 100_000, "`" * 100_001, "\n".join(["# a"] * 20_000), "![](" * 50_000,
    "---\n" + "a" * 300_000, "- " * 100_000, "%%\n" * 50_000, "> " * 100_000, "x\n===\n" * 20_000, "[a](b.md)\n" * 20_000,
])  # fmt: skip
def test_hostile_notes_take_no_long_time(hostile: str) -> None:
    begun = time.process_time()
    parse(hostile)
    assert time.process_time() - begun < 5


def test_what_is_a_note() -> None:
    assert is_note("a/b.md", "markdown") and is_note("todo.TXT", "text")
    assert not is_note("LICENSE", "text") and not is_note("a.py", "python")


def test_what_counts_as_code_has_a_grammar() -> None:
    assert {name for name, known in LANGUAGES.items() if known.grammar is not None or known.script} == PARSED
