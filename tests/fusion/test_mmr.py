from __future__ import annotations

import numpy as np
import pytest

from lurcher.ranking.fusion import choose

SAME, OTHER = (1.0, 0.0), (0.0, 1.0)


def test_a_copy_of_what_is_there_comes_after_something_else() -> None:
    relevance = np.array([1.0, 0.9, 0.5])
    order, gains = choose(relevance, np.array([SAME, SAME, OTHER]), 0.5)
    assert order.tolist() == [0, 2, 1]
    assert gains == pytest.approx([0.5, 0.25, 0.5 * 0.9 - 0.5])


def test_with_all_weight_on_relevance_the_order_stays() -> None:
    order, gains = choose(np.array([0.9, 0.8, 0.1]), np.array([SAME, SAME, SAME]), 1.0)
    assert order.tolist() == [0, 1, 2] and gains == pytest.approx([0.9, 0.8, 0.1])


def test_of_equals_the_earlier_one_is_chosen() -> None:
    assert choose(np.array([0.5, 0.5]), np.array([SAME, OTHER]), 0.5)[0].tolist() == [0, 1]


def test_nothing_gives_nothing() -> None:
    order, gains = choose(np.zeros(0), np.zeros((0, 2)), 0.5)
    assert order.tolist() == [] and gains == []
