"""Counting by numbers gives what counting by hand gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.runtime.kernel import native
from lurcher.terms import split, words
from lurcher.terms.count import NativeCounter, Postings, ReferenceCounter, TermCounter

FIELDS = ("body", "comments", "name")
TEXTS = st.lists(
    st.sampled_from(["getUser", "get_user", "user", "HTTP2", "x", "_", "10", "検索語", "größe", "a" * 130])
    | st.text(max_size=8),
    max_size=12,
).map(" ".join)
NEW_COUNTERS: list[Callable[[], TermCounter]] = [ReferenceCounter, *([NativeCounter] if native() else [])]
new_counter = pytest.mark.parametrize("new_counter", NEW_COUNTERS)
ADDED = st.lists(st.tuples(st.sampled_from(FIELDS), TEXTS), max_size=15)


def by_hand(added: list[tuple[str, int, str]]) -> dict[str, Counter[tuple[str, int]]]:
    counted: dict[str, Counter[tuple[str, int]]] = {field: Counter() for field in FIELDS}
    for field, owner, text in added:
        for word in words(text):
            counted[field].update((term, owner) for term in split(word))
    return counted


def rows(terms: list[str], postings: Postings) -> list[tuple[str, int, int]]:
    columns = (postings.terms.tolist(), postings.owners.tolist(), postings.counts.tolist())
    return [(terms[term], owner, count) for term, owner, count in zip(*columns, strict=True)]


@new_counter
@given(ADDED, st.lists(st.sampled_from(["user", "required", "検索"]), max_size=2))
def test_counts_equal_those_made_by_hand(
    new_counter: Callable[[], TermCounter], texts: list[tuple[str, str]], required: list[str]
) -> None:
    added = [(field, owner // 2, text) for owner, (field, text) in enumerate(texts)]
    counter = new_counter()
    for field, owner, text in added:
        counter.add(field, owner, text)
    for term in required:
        counter.require(term)
    terms, postings = counter.finish(FIELDS)
    expected = by_hand(added)
    assert terms == sorted({term for counts in expected.values() for term, _ in counts} | set(required))
    assert list(postings) == list(FIELDS)
    for field in FIELDS:
        wanted = sorted((term, owner, min(count, 255)) for (term, owner), count in expected[field].items())
        assert rows(terms, postings[field]) == wanted


@new_counter
def test_counts_stop_at_what_a_byte_holds(new_counter: Callable[[], TermCounter]) -> None:
    counter = new_counter()
    counter.add("body", 3, "often " * 1000 + "rare " + "exactly " * 255)
    terms, postings = counter.finish(("body",))
    assert rows(terms, postings["body"]) == [("exactly", 3, 255), ("often", 3, 255), ("rare", 3, 1)]


@new_counter
def test_a_field_that_nothing_was_added_to_is_empty(new_counter: Callable[[], TermCounter]) -> None:
    terms, postings = new_counter().finish(("body",))
    assert terms == []
    assert rows(terms, postings["body"]) == []


@new_counter
def test_a_required_term_has_a_number_without_any_posting(new_counter: Callable[[], TermCounter]) -> None:
    counter = new_counter()
    counter.add("body", 0, "present")
    counter.require("absent")
    terms, postings = counter.finish(("body",))
    assert terms == ["absent", "present"]
    assert rows(terms, postings["body"]) == [("present", 0, 1)]
