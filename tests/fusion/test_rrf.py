from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.ranking.fusion import fuse


def test_worked_by_hand() -> None:
    fused = fuse([(0.3, ["a", "b"]), (0.7, ["b", "c"])], k=60)
    assert fused["a"] == pytest.approx(0.3 / 61)
    assert fused["b"] == pytest.approx(0.3 / 62 + 0.7 / 61)
    assert fused["c"] == pytest.approx(0.7 / 62)


def test_absent_counts_nothing_and_no_list_gives_nothing() -> None:
    assert fuse([(1.0, [])]) == {}
    assert fuse([]) == {}


@given(st.lists(st.tuples(st.floats(0.01, 10), st.lists(st.integers(0, 20), unique=True)), max_size=4))
def test_order_of_lanes_does_not_matter(rankings: list[tuple[float, list[int]]]) -> None:
    forwards, backwards = fuse(rankings), fuse(rankings[::-1])
    assert forwards.keys() == backwards.keys()
    assert all(forwards[item] == pytest.approx(backwards[item]) for item in forwards)


@given(st.lists(st.integers(), unique=True, min_size=2))
def test_one_lane_keeps_its_order(items: list[int]) -> None:
    fused = fuse([(1.0, items)])
    assert sorted(items, key=lambda item: -fused[item]) == items
