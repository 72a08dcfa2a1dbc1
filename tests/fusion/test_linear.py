from __future__ import annotations

import numpy as np

from lurcher.ranking.fusion import scaled


def test_the_smallest_is_zero_and_the_largest_one() -> None:
    assert scaled(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]


def test_where_all_are_equal_nobody_is_ahead() -> None:
    assert scaled(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert scaled(np.array([])).tolist() == []


def test_negative_scores_are_on_the_same_scale() -> None:
    assert scaled(np.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 0.5, 1.0]
