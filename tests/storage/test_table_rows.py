"""Rows without numpy give what numpy's structured arrays give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.runtime.kernel import np as small
from lurcher.storage.tables import TableRows, row_layout
from tests.kernel import kernel

pytestmark = kernel.needed
LAYOUT = (("a", "u1"), ("b", "<u4"), ("c", "<i8"), ("d", "<u2"), ("e", "<i4"), ("f", "<u8"))


def both(seed: int, count: int) -> tuple[TableRows, Any]:
    plain = np.frombuffer(np.random.default_rng(seed).bytes(np.dtype(list(LAYOUT)).itemsize * count), list(LAYOUT))
    return TableRows(memoryview(plain.tobytes()), row_layout(LAYOUT)), plain


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 99), st.integers(0, 12), st.data())
def test_any_way_of_reading(seed: int, count: int, data: st.DataObject) -> None:
    ours, plain = both(seed, count)
    place = st.integers(-count, count - 1) if count else st.nothing()
    few = data.draw(st.lists(place, max_size=6 if count else 0))
    edge = st.none() | st.integers(-15, 15)
    part = slice(data.draw(edge), data.draw(edge), data.draw(st.none() | st.integers(-3, 3).filter(bool)))
    mask = np.array([data.draw(st.booleans()) for _ in range(count)], bool)
    places = np.array(few, np.int64)
    keys = ((part, part), (few, places), (places, places), (small.array(places), places), (mask, mask),
        (small.array(mask), mask),
            (range(count), slice(None)))  # fmt: skip
    for key, where in keys:
        found, wanted = ours[key], plain[where]
        assert len(found) == len(wanted) and found.tolist() == wanted.tolist()
        for name, kind in LAYOUT:
            assert np.asarray(found[name]).dtype == np.dtype(kind) and found[name].tolist() == wanted[name].tolist()
    for each in few:
        assert ours[each].item() == plain[each].item()
        assert {name: ours[each][name] for name, _ in LAYOUT} == {name: plain[each][name].item() for name, _ in LAYOUT}
    assert len(ours) == count and ours.tolist() == plain.tolist()


def test_rows_that_are_not_there_are_refused() -> None:
    ours, plain = both(1, 4)
    for key in (4, -5, [4], [0, -5], small.array([1 << 40]), np.array([True] * 3), small.zeros(5, "bool"), [True]):
        for rows in (ours, plain):
            with pytest.raises(IndexError):
                rows[np.asarray(key) if rows is plain and not isinstance(key, int) else key]
    for wrong in ([0.5], ["a"], None, "absent"):
        with pytest.raises((TypeError, IndexError, ValueError, KeyError)):
            ours[wrong]
    assert len(ours[[]]) == 0 and len(both(1, 0)[0][small.zeros(0, "bool")]) == 0


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 99), st.sampled_from([0, 1, 511, 512, 513, 1100]), st.data())
def test_limits_are_checked_as_by_numpy(seed: int, count: int, data: st.DataObject) -> None:
    ours, plain = both(seed, count)
    edge = st.sampled_from([-(2**31), -1, 0, 1, 200, 255, 2**16, 2**31, 2**32, 2**33, 2**61, 2**62 - 1])
    column = st.sampled_from(["a", "b", "d", "e", "f"])
    one = st.tuples(column, st.just("") | column, edge, edge)
    limits = data.draw(st.lists(one, max_size=4))
    wanted = all(
        low <= int(row[name]) + (int(row[added]) if added else 0) <= high for name, added, low, high in limits for row in plain
    )
    assert ours.within(limits) is wanted


@pytest.mark.parametrize(
    ("data", "width", "limits"),
    [
        (b"x" * 7, 4, ()), (b"x" * 8, 0, ()), (b"x" * 8, -4, ()), (b"x" * 8, 4, ((1, 4, -1, 0, 0, 1),)),
        (b"x" * 8, 4, ((-1, 1, -1, 0, 0, 1),)), (b"x" * 8, 4, ((0, 3, -1, 0, 0, 1),)), (b"x" * 8, 4, ((0, 1, 1, 4, 0, 1),)),
        (b"x" * 8, 4, ((0, 1, -1, 0, 0, 1),) * 17),
    ],
)  # fmt: skip
def test_limits_that_no_row_has_are_refused(data: bytes, width: int, limits: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match=r"rows|place|numbers"):
        kernel.module().within(data, width, limits)


def test_sums_beyond_what_a_number_holds_keep_to_no_limit() -> None:
    for high in (0, 300, 2**62 - 1):
        for place, size, other, other_size in ((0, 8, 8, 8), (0, 8, -1, 0), (0, 1, 8, 8), (0, 8, 8, 1)):
            assert kernel.module().within(b"\xff" * 16, 16, ((place, size, other, other_size, 0, high),)) is False
    with pytest.raises(TypeError):
        kernel.module().within(b"x" * 8, 8, (0,))
