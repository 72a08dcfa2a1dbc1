"""The kernel and its reference count the same tokens, and both count what tiktoken does."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.answer.token_table import FILE, HEADER, PAGES, PythonCounter, load_counter
from tests.kernel import kernel

pytestmark = kernel.needed
PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""How cl100k_base cuts a text."""
PARTS = st.sampled_from([
    "'s", "'LL", "'Ve", "'re", "'ſ", "'", "l", "v", "R", " ", "  ", "\t", "\n", "\r\n", "\x0b", "\x1c", "\x85", "\u3000",
    "return", "getUserName", "HTTPServer", "__init__", "0", "12", "1234", "²", "٣", "Ⅷ", "über", "漢字", "한국어", "e\u0301",
    "👩\u200d👧", "!=", "{}", "=> ", "//", "====", "<|endoftext|>", "zqxj" * 40, "\u0378", "\U0010ffff",
])  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(PARTS, max_size=30).map("".join)


@cache
def reference() -> Callable[[str], int]:
    return PythonCounter(Path(FILE).read_bytes()).count


@cache
def tiktoken_counter() -> Callable[[str], int]:
    import tiktoken

    sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
    try:
        from build_token_table import read_ranks
    finally:
        del sys.path[0]
    encoding = tiktoken.Encoding("cl100k_base", pat_str=PATTERN, mergeable_ranks=read_ranks(), special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


@given(TEXTS)
def test_kernel_reference_and_tiktoken_agree(text: str) -> None:
    assert load_counter()(text) == reference()(text) == tiktoken_counter()(text)


def test_all_agree_on_every_character_beside_others() -> None:
    # Of planes 4 to 16 only the first characters: they have no letters, numbers or spaces.
    for start in (*range(0, 0xD800, 0x400), *range(0xE000, 0x32000, 0x400), *range(0x40000, 0x110000, 0x10000)):
        characters = map(chr, range(start, start + 0x400))
        text = "".join(f"{one} a{one}b {one}x 1{one}2 '{one} {one}\n{one}{one} " for one in characters)
        expected = tiktoken_counter()(text)
        assert load_counter()(text) == expected, f"kernel, from U+{start:04X}"
        if start < 0x3400:  # where classes of characters alternate; the reference takes its time
            assert reference()(text) == expected, f"reference, from U+{start:04X}"


def test_all_agree_on_source_code() -> None:
    for path in sorted(Path(__file__).parents[2].glob("src/lurcher/answer/*.py")):
        text = path.read_text("utf-8")
        assert load_counter()(text) == reference()(text) == tiktoken_counter()(text), path


@pytest.mark.parametrize("part", ["a", "-", " ", "\n", "漢", "ab", "0", "🎉", "<|endoftext|>"])
def test_a_million_of_the_same_take_seconds_at_most(part: str) -> None:
    text = part * (1_000_000 // len(part))
    started = time.process_time()
    count = load_counter()(text)
    assert time.process_time() - started < 10  # half a second; a quadratic counter would need an hour
    short = part * (2_000 // len(part))
    assert reference()(short) == load_counter()(short) == tiktoken_counter()(short)
    assert 0 < count < len(text) * 4


def test_a_lone_surrogate_is_refused_by_both() -> None:
    for count in (load_counter(), reference()):
        with pytest.raises(UnicodeEncodeError):
            count("a\ud800")


@pytest.mark.parametrize("size", [0, 7, 19, 20, 5_000, 1_000_000])
def test_a_table_that_is_cut_short_is_refused_by_both(size: int) -> None:
    table = Path(FILE).read_bytes()[:size]
    with pytest.raises(ValueError, match="no table of tokens"):
        kernel.module().count_tokens(table, "text")
    with pytest.raises(ValueError, match="no table of tokens"):
        PythonCounter(table)


@pytest.mark.parametrize("kind", range(5))
def test_a_table_with_wrong_classes_is_counted_to_its_end(kind: int) -> None:
    table = Path(FILE).read_bytes()
    first_page = HEADER.size + PAGES
    damaged = table[:first_page] + bytes([kind]) * 256 + table[first_page + 256 :]
    assert 0 < kernel.module().count_tokens(damaged, "a 1 \n\n'x\r") <= 10
