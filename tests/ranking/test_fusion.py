"""The formulas of fusion, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.ranking.linear import fuse_ranks, scale_min_max, select_diverse

SAME, OTHER = (1.0, 0.0), (0.0, 1.0)


def test_fused_ranks_worked_by_hand() -> None:
    fused = fuse_ranks([(0.3, ["a", "b"]), (0.7, ["b", "c"])], k=60)
    assert fused["a"] == pytest.approx(0.3 / 61)
    assert fused["b"] == pytest.approx(0.3 / 62 + 0.7 / 61)
    assert fused["c"] == pytest.approx(0.7 / 62)


def test_absent_counts_nothing_and_no_list_gives_nothing() -> None:
    assert fuse_ranks([(1.0, [])]) == {}
    assert fuse_ranks([]) == {}


@given(st.lists(st.tuples(st.floats(0.01, 10), st.lists(st.integers(0, 20), unique=True)), max_size=4))
def test_order_of_lanes_does_not_matter(rankings: list[tuple[float, list[int]]]) -> None:
    forwards, backwards = fuse_ranks(rankings), fuse_ranks(rankings[::-1])
    assert forwards.keys() == backwards.keys()
    assert all(forwards[item] == pytest.approx(backwards[item]) for item in forwards)


@given(st.lists(st.integers(), unique=True, min_size=2))
def test_fusing_one_lane_does_not_change_its_order(items: list[int]) -> None:
    fused = fuse_ranks([(1.0, items)])
    assert sorted(items, key=lambda item: -fused[item]) == items


def test_the_smallest_is_zero_and_the_largest_one() -> None:
    assert scale_min_max(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]


def test_where_all_are_equal_nobody_is_ahead() -> None:
    assert scale_min_max(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert scale_min_max(np.array([])).tolist() == []


def test_negative_scores_are_on_the_same_scale() -> None:
    assert scale_min_max(np.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 0.5, 1.0]


def test_a_copy_of_what_is_there_comes_after_something_else() -> None:
    relevance = np.array([1.0, 0.9, 0.5])
    order, gains = select_diverse(relevance, np.array([SAME, SAME, OTHER]), 0.5)
    assert order.tolist() == [0, 2, 1]
    assert gains == pytest.approx([0.5, 0.25, 0.5 * 0.9 - 0.5])


def test_with_all_weight_on_relevance_the_order_stays() -> None:
    order, gains = select_diverse(np.array([0.9, 0.8, 0.1]), np.array([SAME, SAME, SAME]), 1.0)
    assert order.tolist() == [0, 1, 2] and gains == pytest.approx([0.9, 0.8, 0.1])


def test_of_equals_the_earlier_one_is_chosen() -> None:
    assert select_diverse(np.array([0.5, 0.5]), np.array([SAME, OTHER]), 0.5)[0].tolist() == [0, 1]


def test_nothing_gives_nothing() -> None:
    order, gains = select_diverse(np.zeros(0), np.zeros((0, 2)), 0.5)
    assert order.tolist() == [] and gains == []
