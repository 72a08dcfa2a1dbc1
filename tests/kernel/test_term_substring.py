"""Terms with some bytes, their owners and best units are the same from the kernel as from Python; broken lists are told."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.storage.postings import pack_postings
from lurcher.terms.count import Postings
from tests.kernel import kernel

pytestmark = kernel.needed

TERMS = st.lists(st.text("abeqz_1\u00df", min_size=1, max_size=6), min_size=1, max_size=40, unique=True)


def ends_of(terms: list[bytes]) -> Any:
    return np.array(list(accumulate(map(len, terms))), np.uint32)


@given(TERMS, st.text("abeqz_1\u00df", min_size=1, max_size=4), st.integers(0, 50))
def test_terms_that_hold_some_bytes(words: list[str], piece: str, most: int) -> None:
    terms = sorted(word.encode() for word in words)
    wanted = [number for number, term in enumerate(terms) if piece.encode() in term]
    found = kernel.module().terms_with(b"".join(terms), ends_of(terms), piece.encode(), most)
    assert (None if found is None else found.tolist()) == (wanted if len(wanted) <= most else None)


def test_bytes_over_the_border_of_two_terms_are_in_neither() -> None:
    terms = [b"cab", b"bac", b"bbcab"]
    assert kernel.module().terms_with(b"".join(terms), ends_of(terms), b"abb", 9).tolist() == []
    assert kernel.module().terms_with(b"".join(terms), ends_of(terms), b"bba", 9).tolist() == []
    assert kernel.module().terms_with(b"".join(terms), ends_of(terms), b"ab", 9).tolist() == [0, 2]


def test_ends_that_lead_nowhere_are_survived() -> None:
    module = kernel.module()
    for ends in ([0, 0, 0], [9, 3, 1], [2**32 - 1] * 3, []):
        found = module.terms_with(b"abcabc", np.array(ends, np.uint32), b"bc", 9)
        assert all(0 <= number < len(ends) for number in found.tolist())
    for wrong in ((b"abc", b"123", b"a", 9), (b"abc", np.zeros(1, np.uint32), b"", 9), (None, b"", b"a", 9)):
        with pytest.raises((ValueError, TypeError)):
            module.terms_with(*wrong)


@st.composite
def families(draw: st.DrawFn) -> tuple[dict[int, list[int]], int]:
    total = draw(st.sampled_from([1, 5, 300, 70_000]))
    terms = draw(st.lists(st.integers(0, 60), max_size=12, unique=True))
    owners = st.lists(st.integers(0, total - 1), min_size=1, max_size=9, unique=True).map(sorted)
    return {term: draw(owners) for term in sorted(terms)}, total


@given(families(), st.lists(st.integers(0, 70), unique=True, max_size=20))
def test_owners_of_some_terms_are_marked(family: tuple[dict[int, list[int]], int], asked: list[int]) -> None:
    lists, total = family
    rows = [(term, owner) for term, owners in lists.items() for owner in owners]
    packed = pack_postings(
        Postings(
            np.array([term for term, _ in rows], np.uint32), np.array([owner for _, owner in rows], np.uint32),
            np.ones(len(rows), np.uint8),
        )
    )  # fmt: skip
    module = kernel.module()
    views = packed.terms, np.cumsum(packed.rows).astype(np.uint32), np.cumsum(packed.sizes).astype(np.uint32)
    spans = module.spans(np.array(sorted(asked), np.int64), *views)
    assert len(spans[0]) == len(set(asked) & set(lists))
    mask = module.zeros(total, "bool")
    assert module.mark(packed.data, *spans, mask)
    assert np.flatnonzero(mask).tolist() == sorted({owner for term in asked for owner in lists.get(term, ())})


def test_lists_that_are_broken_are_reported() -> None:
    module, mask = kernel.module(), kernel.module().zeros(10, "bool")
    one = np.array([3], np.int64)

    def numbers(*each: int) -> Any:
        return np.array(each, np.uint32)

    assert module.spans(one, numbers(3), numbers(2), numbers(5)) is None  # neither one, two nor four bytes each
    assert module.spans(one, numbers(1, 3), numbers(4, 2), numbers(8, 12)) is None  # fewer rows than none
    assert [array.tolist() for array in module.spans(one, numbers(1, 4), numbers(1, 2), numbers(2, 4))] == [[], [], []]
    for arguments in ((np.array([3, 3]), numbers(3), numbers(1), numbers(2)), (one, numbers(3), numbers(1, 2), numbers(2))):
        with pytest.raises(ValueError, match="not"):
            module.spans(*arguments)
    for start, stop, rows in ((0, 2, 1), (-2, 0, 1), (0, 99, 1), (2, 2, 1), (0, 4, 3), (0, 4, 0), (0, 4, -2)):
        sound = (start, stop, rows) == (0, 2, 1)
        assert module.mark(b"\x05\x01\xff\xff", np.array([start]), np.array([stop]), np.array([rows]), mask) is sound
    assert not module.mark(b"\x0a\x01", np.array([0]), np.array([2]), np.array([1]), mask)  # owner 10 of 10
    assert np.flatnonzero(mask).tolist() == [5]
    for wrong in (np.zeros(10, bool), module.zeros(10, "uint8"), None):
        with pytest.raises((ValueError, TypeError)):
            module.mark(b"\x05\x01", np.array([0]), np.array([2]), np.array([1]), wrong)


def test_units_that_are_not_there_are_refused() -> None:
    for first, counts in (([0], [4]), ([-1], [1]), ([3], [1]), ([0], [-1]), ([1 << 62], [1]), ([0, 1], [1])):
        with pytest.raises(ValueError, match="not"):
            kernel.module().best_units(np.zeros(3), np.array(first), np.array(counts))


def test_what_is_found_is_what_python_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    from lurcher.lanes import literal

    terms = sorted({b"parse", b"parser", b"sparse", b"arse", b"x"})
    blob, ends = b"".join(terms), memoryview(ends_of(terms)).cast("B").cast("I")

    class Terms:
        terms, term_bytes, term_ends = memoryview(blob), blob, ends

    segment: Any = Terms()
    found = literal.find_terms_containing(segment, b"arse")
    monkeypatch.setattr(literal, "native", lambda: None)
    assert found is not None and list(found) == literal.find_terms_containing(segment, b"arse") == [0, 1, 2, 3]
