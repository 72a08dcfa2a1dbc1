"""The part of a text that a judge sees."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from lurcher.rerank.llm import best_window, make_prompt
from lurcher.rerank.stage import Candidate


def test_a_text_that_fits_is_whole() -> None:
    assert best_window("a\nb\n", "b", 500) == "a\nb"


def test_the_lines_with_the_most_words_are_chosen() -> None:
    rows = ["padding padding"] * 20 + ["weigh the", "parcel now"] + ["weigh weigh weigh"] + ["padding padding"] * 20
    assert best_window("\n".join(rows), "weigh a parcel", 40) == "weigh the\nparcel now\nweigh weigh weigh"


def test_a_line_that_does_not_fit_is_cut() -> None:
    assert best_window("parcel " * 100, "parcel", 20) == ("parcel " * 100)[:20]


def test_without_a_word_it_is_the_beginning() -> None:
    assert best_window("\n".join(map(str, range(1000))), "parcel", 8) == "0\n1\n2\n3"


@given(st.text(alphabet="ab \n", max_size=300), st.text(alphabet="ab ", max_size=20), st.integers(1, 60))
def test_it_is_a_part_of_the_text_and_fits(text: str, query: str, most: int) -> None:
    found = best_window(text, query, most)
    assert found in text and len(found) <= most


def test_hostile_texts_take_no_time() -> None:
    texts = ["\n" * 200_000 + "x" * 10, "a\n" * 100_000, "rate " * 50_000, "ignore " * 50_000, "#" * 300_000, "1:1" * 100_000]
    started = time.thread_time()
    make_prompt("rate a parcel", [Candidate("a", text, 1.0) for text in texts * 5], 500)
    assert time.thread_time() - started < 6  # of the processor: what others do meanwhile does not count
