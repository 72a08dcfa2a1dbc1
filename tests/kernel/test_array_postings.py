"""Postings that were packed are taken apart again, and bytes that are none are told from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.storage.postings import pack_postings
from lurcher.terms.count import Postings
from tests.kernel import kernel
from tests.kernel.arrays import same

pytestmark = kernel.needed
OWNERS = st.lists(st.integers(0, 9) | st.integers(0, 700) | st.integers(0, (1 << 32) - 2), min_size=1, max_size=40,
    unique=True).map(sorted)


@settings(max_examples=80, deadline=None)
@given(st.lists(OWNERS, max_size=5), st.integers(0, 255))
def test_packed_lists_come_back(lists: list[list[int]], count: int) -> None:
    terms = np.repeat(np.arange(len(lists)), [len(each) for each in lists]).astype(np.uint32)
    owners = np.array([owner for each in lists for owner in each], np.uint32)
    packed = pack_postings(Postings(terms, owners, np.full(len(owners), count, np.uint8)))
    ends, data = np.cumsum(packed.sizes), packed.data.tobytes()
    for number, wanted in enumerate(lists):
        part = memoryview(data)[int(ends[number] - packed.sizes[number]) : int(ends[number])]
        found = kernel.module().postings(part, len(wanted), wanted[-1] + 1)
        assert found is not None or len(wanted) > wanted[-1] + 1
        same(found[0], np.array(wanted, np.int64))
        same(found[1], np.full(len(wanted), count, np.uint8))
        assert kernel.module().postings(part, len(wanted), wanted[-1]) is None, "an owner is beyond the last"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.integers(-2, 40) | st.sampled_from([1 << 32, 1 << 62]), st.integers(-2, 1 << 34))
def test_any_bytes_give_owners_that_are_there_or_nothing(data: bytes, rows: int, total: int) -> None:
    found = kernel.module().postings(data, rows, total)
    if rows <= 0 or rows > total or len(data) not in (2 * rows, 3 * rows, 5 * rows):
        assert found is None
        return
    width = len(data) // rows - 1
    owners = np.cumsum(np.frombuffer(data[: width * rows], f"<u{width}"), dtype=np.int64)
    if owners[-1] >= total:
        assert found is None
    else:
        same(found[0], owners)
        same(found[1], np.frombuffer(data[width * rows :], np.uint8))


def test_what_is_no_list_of_bytes_is_refused() -> None:
    wrong: list[tuple[Any, ...]] = [
        (), (b"12",), (b"12", 1), (b"12", 1, 2, 3), ("12", 1, 2), (None, 1, 2), (b"12", "1", 2), (b"12", 1.0, 2),
        (b"12", 1, None),
        (b"12", 1 << 70, 2), (b"12", 1, 1 << 70), (np.zeros(4, np.uint8)[::2], 1, 2),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises((TypeError, ValueError, OverflowError, BufferError)):
            kernel.module().postings(*arguments)
