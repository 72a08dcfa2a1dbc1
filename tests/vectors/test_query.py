"""A question's vector, word by word, is what the table's matrix gives; the kernel and the reference give the same bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.vectors import embed_terms
from lurcher.vectors.table import QUERY, Table
from lurcher.vectors.unseen_terms import hash_grams, hash_term_grams
from tests.kernel import kernel
from tests.tables import WORDS, table_of

PIECES = ("get", "##user", "##us", "##er", "user", "größe", "検索")
TABLES: dict[str, Callable[[], Table]] = {
    "grams": lambda: table_of(WORDS, weights={"redirect": 3.0, "cookie": 0.25}),
    "small grams": lambda: table_of(WORDS, bits=4, buckets=7),
    "pieces": lambda: table_of(PIECES, compose="wordpiece"),
    "small pieces": lambda: table_of(PIECES, bits=4, compose="wordpiece", dims=31),
    "nothing": lambda: table_of(WORDS, compose="none"),
}
ASKED: list[dict[str, float]] = [
    {"redirect": 1.0}, {"redirect": 1.0, "cookie": 0.3, "unseenword": 2.0},
    {"getuser": 1.0, "getuserus": 0.5, "x": 1.0, "": 1.0},
    {"größe": 1.7, "größer": 0.01, "検索語": 5.0, "\ud800": 1.0}, {}, {"zz": 0.0, "pool": 0.0},
    {word: 0.1 + place for place, word in enumerate(WORDS)},
]  # fmt: skip
ALL = """
from tests.vectors.test_query import ASKED, TABLES
from lurcher.vectors import embed_terms
from lurcher.runtime.kernel import native
print(native() is not None)
for make in TABLES.values():
    table = make()
    for words in ASKED:
        vector, known = embed_terms(table, words)
        print(known, vector.tobytes().hex())
"""


@pytest.mark.parametrize("name", TABLES)
def test_it_is_what_the_matrix_gives(name: str) -> None:
    table = TABLES[name]()
    for words in ASKED:
        vector, known = embed_terms(table, words)
        amounts = np.sqrt(np.array(list(words.values()), np.float64))
        wanted: Any = amounts @ table.vectors(list(words), QUERY).astype(np.float64) if words else np.zeros(table.dims)
        assert len(vector) == table.dims
        assert np.allclose(np.asarray(vector), wanted, rtol=1e-12, atol=1e-12 * max(amounts.sum(), 1.0))
        assert known == bool((table.find(list(words)) >= 0).any())


@kernel.needed
def test_with_the_kernel_and_without_it_is_the_same(clean_environment: Callable[..., dict[str, str]]) -> None:
    told = {}
    for name in ("auto", "python"):
        done = subprocess.run(
            [sys.executable, "-c", ALL], capture_output=True, text=True, timeout=60, check=True,
            env={**clean_environment(), "LURCHER_KERNEL": name}, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        told[name] = done.stdout.splitlines()
    assert (told["auto"][0], told["python"][0]) == ("True", "False")
    assert told["auto"][1:] == told["python"][1:]
    assert len(told["auto"]) == 1 + len(TABLES) * len(ASKED)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(1, 7), unique=True, max_size=4),
    st.sampled_from((0, 1, 64, 1 << 16, (1 << 32) - 1)))
def test_the_grams_of_one_term_are_those_of_many(term: str, lengths: list[int], buckets: int) -> None:
    assert hash_term_grams(term, lengths, buckets) == hash_grams([term], lengths, buckets)[0].tolist()
