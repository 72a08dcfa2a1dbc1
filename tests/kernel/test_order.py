"""What rankings ask of all units at once is the same from the kernel as from numpy, to the last bit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.index import order
from lurcher.ranking.evidence import content
from tests.kernel import kernel

pytestmark = kernel.needed


@given(
    st.lists(st.integers(0, 6) | st.sampled_from([24, 25, 26, 90]), max_size=12), st.integers(0, 1 << 30),
    st.sampled_from([0.0, 0.7, 1.0, 1.4, 3.0]), st.sampled_from([0.0, 0.3, 1.0]),
)  # fmt: skip
def test_files_have_the_same_sums(counts: list[int], seed: int, power: float, share: float) -> None:
    random = np.random.default_rng(seed)
    number = np.array(counts, np.int64)
    snapshot: Any = SimpleNamespace(
        unit_counts=number, first_unit=np.cumsum(number) - number, unit_file=np.repeat(np.arange(len(counts)), number),
        file_total=len(counts), divisors={},
    )  # fmt: skip
    total = int(number.sum())
    scores = np.where(random.random(total) < share, random.choice([random.random(), 1.0, 2.5, random.random()], total), 0.0)
    allowed = random.random(len(counts)) < 0.8
    native = content.harmonic(snapshot, scores, allowed, power)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "native", lambda: None)
        plain = content.harmonic(snapshot, scores, allowed, power)
    assert native.tobytes() == plain.tobytes()


@given(st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0]), max_size=40), st.sampled_from([0.0, 1.0, 1.7, 2.0, 9.0]))
def test_standing_is_the_same(values: list[float], value: float) -> None:
    scores = np.array(values)
    native = order.standing(scores, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "native", lambda: None)
        assert native == order.standing(scores, value)


def test_units_that_are_not_there_are_refused() -> None:
    harmonic, allowed, sums = kernel.module().harmonic, np.ones(1, bool), np.zeros(1)
    for first, count in ((0, 4), (3, 1), (-1, 1), (0, -1), (1 << 62, 1), (0, 1 << 62), (4, 0x7FFFFFFFFFFFFFFF)):
        with pytest.raises(ValueError, match="not there"):
            harmonic(np.ones(3), np.array([first]), np.array([count]), allowed, np.ones(9), sums)
    with pytest.raises(ValueError, match="not there"):
        harmonic(np.ones(3), np.array([0]), np.array([3]), allowed, np.ones(2), sums)
    for arguments in (
        (np.ones(3), np.array([0]), np.array([3, 3]), allowed, np.ones(9), sums),
        (np.ones(3), np.array([0]), np.array([3]), np.ones(2, bool), np.ones(9), sums),
        (np.ones(3), np.array([0]), np.array([3]), allowed, np.ones(9), np.zeros(2)),
        (b"1234567", np.array([0]), np.array([3]), allowed, np.ones(9), sums),
        (np.ones(3), np.array([0]), np.array([3]), allowed, np.ones(9), bytes(8)),
    ):
        with pytest.raises((ValueError, TypeError, BufferError)):
            harmonic(*arguments)
