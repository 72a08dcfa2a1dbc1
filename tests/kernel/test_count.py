"""The kernel's counter equals the reference, whatever it is fed."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.terms import split
from lurcher.terms.count import NativeCounter, ReferenceCounter, TermCounter
from tests.kernel import kernel

pytestmark = kernel.needed
FIELDS = ("body", "comments", "name", "never")
ASCII = st.text(st.characters(max_codepoint=127), max_size=60)
NAMES = st.text(st.sampled_from("aZ_09bXx"), max_size=140)
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
HARD = st.sampled_from(
    ["A" * 128, "a" * 129, "aB" * 64, "a1" * 7, "1a" * 6, "_" * 200, "0" * 10, "0" * 11, "1_2", "_1_", "HTTPServer2X", "X", "x",
     "\0", "\x7f", "ǅabc", "ſ", "İx",
     "Σας", "e\u0301té", "\u0301", "नमस्ते", "한국어이름", "検索" * 40, "a\u200db", "𝐀bc", "١٢٣", "²", "\ufeffx"]
)  # fmt: skip
TEXTS = st.lists(ASCII | NAMES | LETTERS | HARD, max_size=8).map(" ".join)
ADDED = st.lists(st.tuples(st.sampled_from(FIELDS[:-1]), st.integers(0, 9) | st.just((1 << 32) - 1), TEXTS), max_size=12)


def finished(counter: TermCounter, added: list[tuple[str, int, str]], required: list[str]) -> list[Any]:
    for field, owner, text in added:
        counter.add(field, owner, text)
    for term in required:
        counter.require(term)
    terms, postings = counter.finish(FIELDS)
    columns = [(field, rows.terms, rows.owners, rows.counts, counter.incomplete(field)) for field, rows in postings.items()]
    for column in columns:
        assert [array.dtype for array in column[1:]] == [np.uint32, np.uint32, np.uint8, np.uint32]
    return [terms, [(field, *(array.tolist() for array in arrays)) for field, *arrays in columns]]


@given(ADDED, st.lists(TEXTS, max_size=3))
def test_both_counters_give_the_same(added: list[tuple[str, int, str]], required: list[str]) -> None:
    assert finished(NativeCounter(), added, required) == finished(ReferenceCounter(), added, required)


@given(st.text(st.sampled_from("aAbZz019_"), min_size=1, max_size=140))
def test_an_identifier_is_split_alike(identifier: str) -> None:
    counter = NativeCounter()
    counter.add("body", 0, identifier)
    terms, _ = counter.finish(("body",))
    assert terms == sorted(set(split(identifier)))


def test_many_identifiers_and_large_counts() -> None:
    added = [("body", owner, " ".join(f"name{number}Of{owner}" for number in range(3000))) for owner in (5, 2, 9, 2)]
    added.append(("comments", 1, "often " * 70_000))
    assert finished(NativeCounter(), added, []) == finished(ReferenceCounter(), added, [])


def test_wrong_arguments_are_errors_and_leave_the_counter_as_it_was() -> None:
    counter = kernel.module().Counter(1)
    counter.add(0, 0, "kept")
    wrong: list[tuple[str, tuple[Any, ...]]] = [
        ("add", (0, 0, "nicht ASCII: ß")), ("add", (99, 0, "x")), ("add", (0, 0, b"x")), ("add", (0, 0)), ("add", (0, "a", "")),
        ("add_words", (0, 0, ["kept", 1])), ("add_words", (0, 0, ("a",))), ("add_words", (99, 0, [])),
        ("add_words", (0, 0, ["kept", "\ud800"])),
        ("finish", (99, [], [])), ("finish", (1, [], [1])), ("finish", (1, (), [])), ("finish", (1, [], ["\ud800"])),
    ]  # fmt: skip
    for method, arguments in wrong:
        with pytest.raises((TypeError, ValueError)):
            getattr(counter, method)(*arguments)
    terms, [(_, owners, counts, _)], _ = counter.finish(1, [], [])
    assert (terms, bytes(owners), bytes(counts)) == (["kept"], bytes(4), b"\1")


def test_identifiers_beyond_ascii_must_come_split() -> None:
    counter = kernel.module().Counter(1)
    counter.add_words(0, 0, ["größe", "x"])
    assert counter.beyond() == ["größe"]
    for beyond in ([], [None], [("größe",)], [((1,), False)], [(["größe"], False)], [(("größe", "\ud800"), False)]):
        with pytest.raises((TypeError, ValueError)):
            counter.finish(1, beyond, [])
    assert counter.finish(1, [(("größe",), False)], [])[0] == ["größe", "x"]


def test_words_that_are_none_end_too() -> None:
    counter = kernel.module().Counter(1)
    counter.add_words(0, 0, ["", ".", "a.b", " x2 "])
    assert counter.finish(1, [], [])[0] == ["2", "ab", "x2"]


def test_nobody_adds_while_it_counts() -> None:
    counter = kernel.module().Counter(1)
    for owner in range(400):
        counter.add(0, owner, " ".join(f"name{number}Of{owner}" for number in range(500)))
    outcomes: list[object] = []

    def count() -> None:
        try:
            outcomes.append(len(counter.finish(1, [], [])[0]))
        except RuntimeError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    allowed = {len(counter.finish(1, [], [])[0]), "the counter is counting"}
    assert len(outcomes) == 4
    assert set(outcomes) <= allowed


def test_memory_is_given_back() -> None:
    import resource

    def once() -> None:
        counter = NativeCounter()
        for owner in range(50):
            counter.add("body", owner, " ".join(f"name{number}Of{owner}" for number in range(2000)))
        counter.finish(("body",))

    for _ in range(3):
        once()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):
        once()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000
