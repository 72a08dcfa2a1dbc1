"""Units with all words of a phrase, and terms that begin alike, are the same from the kernel as from Python."""

from __future__ import annotations

from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.lanes import literal
from lurcher.storage import segment as segment_reader
from lurcher.storage.segment import Segment
from tests.kernel import kernel

pytestmark = kernel.needed


@given(st.lists(st.integers(1, 12), max_size=20), st.integers(1, 4), st.sampled_from([0.02, 0.3, 0.9]), st.integers(0, 1 << 30))
def test_units_that_share_a_line_with_every_piece(sizes: list[int], pieces: int, share: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), np.array(sizes, np.int64))
    masks: list[Any] = [random.random(len(groups)) < share for _ in range(pieces)]
    snapshot: Any = SimpleNamespace(unit_line_group=groups, line_groups=len(sizes))
    native = literal._select_by_line(snapshot, masks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literal, "native", lambda: None)
        assert native.tolist() == literal._select_by_line(snapshot, masks).tolist()


def test_masks_of_another_length_are_refused() -> None:
    together = kernel.module().together
    assert together([], np.arange(3)).tolist() == []
    assert together([np.ones(3, bool)], np.zeros(3, np.int64)).tolist() == [0, 1, 2]
    for masks in ([np.ones(2, bool)], [np.ones(3, bool), b""], [None], ()):
        with pytest.raises((ValueError, TypeError)):
            together(masks, np.arange(3))


TERMS = st.lists(st.text("abß\ud800中", min_size=1, max_size=4), max_size=30, unique=True)


def segment_of(terms: list[bytes], ends: list[int] | None = None) -> Any:
    found: Any = Segment.__new__(Segment)
    found.terms = memoryview(b"".join(terms))
    found.term_ends = memoryview(np.array(list(accumulate(map(len, terms))) if ends is None else ends, np.uint32))
    found.container = SimpleNamespace(corrupt=ValueError)
    return found


@given(TERMS, st.text("abß\ud800中", max_size=3), st.none() | st.lists(st.integers(0, 90), max_size=9))
def test_terms_from_one_on(words: list[str], asked: str, ends: list[int] | None) -> None:
    """Whatever ends they have: those of a damaged index lead nowhere, and to the same place."""
    segment = segment_of(sorted(word.encode("utf-8", "surrogatepass") for word in words), ends)
    key, count = asked.encode("utf-8", "surrogatepass"), len(segment.term_ends)

    def told() -> Any:
        try:
            return segment.lower_bound(key), segment.term_texts(0, count)
        except ValueError:
            return segment.lower_bound(key), "not text"

    native = told()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_reader, "native", lambda: None)
        assert native == told()
    with pytest.raises(IndexError):
        kernel.module().texts(segment.terms, segment.term_ends, 0, count + 1)
