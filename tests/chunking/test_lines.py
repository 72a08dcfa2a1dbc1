"""Text without a grammar is cut into runs of whole lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lurcher.chunking.lines import chunk_lines
from lurcher.languages.parsed_file import Span


def pieces(text: bytes, target: int) -> list[str]:
    return [text[span.start_byte : span.end_byte].decode() for span in chunk_lines(text, target)]


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk_lines(b"", 10) == ()


def test_lines_are_collected_up_to_the_target() -> None:
    assert pieces(b"aaaa\nbbbb\ncccc\n", 10) == ["aaaa\nbbbb\n", "cccc\n"]


def test_lines_are_one_based_and_the_newline_belongs_to_its_line() -> None:
    assert chunk_lines(b"aaaa\nbbbb\ncccc", 10) == (Span(0, 10, 1, 2), Span(10, 14, 3, 3))


def test_only_newlines_count_as_line_ends() -> None:
    assert chunk_lines("a\rb\x0bc\u2028d\n".encode(), 100)[-1].end_line == 1


def test_a_chunk_prefers_to_end_after_a_blank_line() -> None:
    assert pieces(b"aaaa\nbbb\n\ncc\ndddddd\n", 14) == ["aaaa\nbbb\n\n", "cc\ndddddd\n"]


def test_a_line_longer_than_the_target_is_cut_inside_at_a_space() -> None:
    assert pieces(b"alpha beta gamma\n", 12) == ["alpha beta ", "gamma\n"]


def test_the_target_counts_characters_not_bytes() -> None:
    assert pieces("ééééé\nüüüüü\n".encode(), 12) == ["ééééé\nüüüüü\n"]
    assert pieces(("漢" * 10).encode(), 4) == ["漢漢漢漢", "漢漢漢漢", "漢漢"]


def test_a_megabyte_on_one_line_is_cut_quickly() -> None:
    assert "".join(pieces(b"x" * 1_000_000, 1500)) == "x" * 1_000_000


@given(st.text(alphabet="ab é漢😀\n\r\t;", max_size=300), st.integers(min_value=1, max_value=40))
def test_chunks_tile_the_text_and_keep_to_the_target(text: str, target: int) -> None:
    encoded = text.encode()
    spans = chunk_lines(encoded, target)
    assert b"".join(encoded[span.start_byte : span.end_byte] for span in spans) == encoded
    for span in spans:
        chunk = encoded[span.start_byte : span.end_byte].decode()
        assert 0 < len(chunk) <= target
        assert span.start_line == encoded[: span.start_byte].count(b"\n") + 1
        assert span.end_line == encoded[: span.end_byte - 1].count(b"\n") + 1
        if span.start_byte and encoded[span.start_byte - 1] != ord("\n"):
            start, end = encoded.rfind(b"\n", 0, span.start_byte) + 1, encoded.find(b"\n", span.start_byte)
            assert len(encoded[start : end + 1 if end >= 0 else len(encoded)].decode()) > target
