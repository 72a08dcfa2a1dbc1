"""What rankings ask of all units at once is the same from the kernel as from numpy, to the last bit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher import lanes as numbering
from lurcher.ranking import evidence
from lurcher.ranking.evidence import sum_harmonic
from tests.kernel import kernel

pytestmark = kernel.needed

COUNTS = st.lists(st.integers(0, 6) | st.sampled_from([15, 16, 17, 26, 33, 90]), max_size=12)
SHARES = st.sampled_from([0.0, 0.3, 1.0])


def tree(counts: list[int]) -> Any:
    number = np.array(counts, np.int64)
    return SimpleNamespace(
        unit_counts=number, first_unit=np.cumsum(number) - number, unit_file=np.repeat(np.arange(len(counts)), number),
        file_total=len(counts), divisors={},
    )  # fmt: skip


def scores_of(total: int, random: Any, share: float) -> Any:
    return np.where(random.random(total) < share, random.choice([random.random(), 1.0, 2.5, random.random()], total), 0.0)


@given(COUNTS, st.integers(0, 1 << 30), st.sampled_from([0.0, 0.7, 1.0, 1.4, 3.0]), SHARES)
def test_files_have_the_same_sums(counts: list[int], seed: int, power: float, share: float) -> None:
    random, snapshot = np.random.default_rng(seed), tree(counts)
    scores = scores_of(sum(counts), random, share)
    allowed = random.random(len(counts)) < 0.8
    files = numbering.best_units_by_file(snapshot, scores)
    native = sum_harmonic(snapshot, scores, files, allowed, power)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "native", lambda: None)
        plain = sum_harmonic(snapshot, scores, files, allowed, power)
    assert native.tobytes() == plain.tobytes()


@given(COUNTS, st.integers(0, 1 << 30), SHARES)
def test_files_have_the_same_best_units(counts: list[int], seed: int, share: float) -> None:
    snapshot, scores = tree(counts), scores_of(sum(counts), np.random.default_rng(seed), share)
    ours, theirs = numbering.best_units_by_file(snapshot, scores), numbering._best_units_by_file(snapshot, scores)
    for name in ours.__slots__:
        assert np.array(getattr(ours, name)).tobytes() == getattr(theirs, name).tobytes()


@given(
    st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0]), max_size=40),
    st.lists(st.sampled_from([0.0, 1.0, 1.7, 2.0, 9.0]), max_size=5), st.sampled_from([1, 200]),
)  # fmt: skip
def test_signatures_are_the_same(few: list[float], values: list[float], times: int) -> None:
    scores = np.array(few * times)
    native = numbering.count_above_and_equal(scores, values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "native", lambda: None)
        assert native == numbering.count_above_and_equal(scores, values)


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0]), min_size=1, max_size=60), st.integers(1, 70), st.integers(0, 1 << 30)
)
def test_the_largest_are_the_same(values: list[float], most: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    files = np.sort(random.permutation(2 * len(values))[: len(values)])
    snapshot: Any = SimpleNamespace(path_rank=random.permutation(2 * len(values)))
    native = np.array(numbering.top_positions(snapshot, files, np.array(values), most))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "native", lambda: None)
        plain = np.array(numbering.top_positions(snapshot, files, np.array(values), most))
    assert native.tolist() == plain.tolist()
    ranked = sorted(range(len(values)), key=lambda i: (-values[i], snapshot.path_rank[files[i]]))
    assert native.tolist() == sorted(ranked[:most])


def test_units_that_are_not_there_are_refused() -> None:
    harmonic, allowed, best, sums = kernel.module().harmonic, np.ones(1, bool), np.ones(1), np.zeros(1)
    for first, count in ((0, 4), (3, 1), (-1, 1), (0, -1), (1 << 62, 1), (0, 1 << 62), (4, 0x7FFFFFFFFFFFFFFF)):
        with pytest.raises(ValueError, match="not there"):
            harmonic(np.ones(3), best, np.array([first]), np.array([count]), allowed, np.ones(9), sums)
    with pytest.raises(ValueError, match="not there"):
        harmonic(np.ones(3), best, np.array([0]), np.array([3]), allowed, np.ones(2), sums)
    for arguments in (
        (np.ones(3), best, np.array([0]), np.array([3, 3]), allowed, np.ones(9), sums),
        (np.ones(3), np.ones(2), np.array([0]), np.array([3]), allowed, np.ones(9), sums),
        (np.ones(3), best, np.array([0]), np.array([3]), np.ones(2, bool), np.ones(9), sums),
        (np.ones(3), best, np.array([0]), np.array([3]), allowed, np.ones(9), np.zeros(2)),
        (b"1234567", best, np.array([0]), np.array([3]), allowed, np.ones(9), sums),
        (np.ones(3), best, np.array([0]), np.array([3]), allowed, np.ones(9), bytes(8)),
    ):
        with pytest.raises((ValueError, TypeError, BufferError)):
            harmonic(*arguments)


def test_files_that_are_not_there_are_refused() -> None:
    largest = kernel.module().largest
    for files, ranks, most in (([3], [0, 1], 1), ([-1], [0], 1), ([0, 1], [0, 1], 1), ([0], [0], 0)):
        with pytest.raises(ValueError):
            largest(np.ones(1), np.array(files), np.array(ranks), most)
    assert len(largest(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), 5)) == 0
