"""Token counts are tiktoken's, on every kind of text and in linear time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher import answer
from lurcher.answer import count_tokens, estimate_tokens, token_table
from lurcher.errors import LurcherError

# Counts that tiktoken 0.14 gave for cl100k_base.
COUNTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cl100k_counts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", COUNTS, ids=[row["name"] for row in COUNTS])
def test_count_is_what_tiktoken_counted(row: dict[str, Any]) -> None:
    assert count_tokens(row["text"] * row["repeat"]) == row["tokens"]


def test_special_tokens_are_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


@given(st.text(alphabet=st.characters()))
def test_count_never_raises_and_is_at_most_one_token_a_byte(text: str) -> None:
    assert 0 <= count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_one_long_line_takes_cpu_time_in_proportion_to_its_length() -> None:
    def seconds(characters: int) -> float:
        line = "-" * characters
        started = time.process_time()
        count_tokens(line)
        return time.process_time() - started

    count_tokens("warm")
    short = min(seconds(100_000) for _ in range(3))
    # Ten times the text: a quadratic counter would need a hundred times as long.
    assert seconds(1_000_000) < 40 * short + 0.1


def test_threads_that_count_first_at_the_same_time_agree() -> None:
    token_table.load_counter.cache_clear()
    answer._count_cached.cache_clear()
    text = "def answer() -> int:\n    return 42\n" * 50
    with ThreadPoolExecutor(8) as threads:
        counts = set(threads.map(count_tokens, [text] * 64))
    assert counts == {count_tokens(text)}


def test_importing_does_not_map_the_table() -> None:
    code = "import sys, lurcher.answer as t; t.estimate_tokens('x'); sys.exit(any('token_' in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("content", [None, b"", b"LTOKENS1", b"x" * 100_000], ids=["missing", "empty", "cut", "another file"])
def test_a_missing_or_foreign_table_is_an_error_that_says_what_to_do(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(token_table, "FILE", str(path))
    for kernel in {token_table.native(), None}:
        token_table.load_counter.cache_clear()
        answer._count_cached.cache_clear()
        monkeypatch.setattr(token_table, "native", lambda kernel=kernel: kernel)
        with pytest.raises(LurcherError, match="tokens cannot be counted") as caught:
            count_tokens("x")
        assert "pip install --force-reinstall lurcher" in caught.value.hint
    token_table.load_counter.cache_clear()


def test_the_table_is_what_the_public_ranks_make() -> None:
    tool = Path(__file__).parents[2] / "tools" / "build_token_table.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢" * 9, 3)])
def test_estimate_is_a_quarter_of_the_characters_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
