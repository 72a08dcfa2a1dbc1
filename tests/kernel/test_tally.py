"""Sums of postings, and what BM25 makes of them, are the same from the kernel as from numpy, to the last bit."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.lanes import lexical
from lurcher.query import Group
from lurcher.storage import tables as postings
from lurcher.storage.tables import PostingSum
from tests.kernel import kernel

pytestmark = kernel.needed


@st.composite
def parts(draw: st.DrawFn) -> tuple[int, list[tuple[Any, Any, float]]]:
    total = draw(st.sampled_from([1, 2, 63, 64, 65, 128, 1000, 4095, 4097, 20_000]))
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    found: list[tuple[Any, Any, float]] = []
    for _ in range(draw(st.integers(0, 6))):
        owners = np.flatnonzero(random.random(total) < draw(st.sampled_from([0.01, 0.5, 1.0])))
        counts = random.integers(1, 256, len(owners)).astype(np.uint8)
        amounts = random.normal(size=len(owners)) if draw(st.booleans()) else counts
        if draw(st.sampled_from([False, False, True])):
            owners = random.permutation(owners)
        found.append((owners, amounts, draw(st.sampled_from([1.0, 0.1, 0.3, -1.0, 0.0, 1e-300]))))
    return total, found


@given(parts())
def test_sums_are_the_same(given: tuple[int, list[tuple[Any, Any, float]]]) -> None:
    total, added = given
    sums = PostingSum()
    for part in added:
        sums.add(*part)
    native = sums.sparse(total)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "native", lambda: None)
        plain = sums.sparse(total)
    assert [array.tolist() for array in native] == [array.tolist() for array in plain]
    assert [np.asarray(array).dtype for array in native] == [np.int64, np.float64]


@given(st.integers(0, 1 << 30), st.sampled_from([1, 5, 300]))
def test_gains_are_the_same(seed: int, total: int) -> None:
    random = np.random.default_rng(seed)
    units = np.flatnonzero(random.random(total) < 0.5)
    tf, norm, scores = random.random(len(units)) * 9, random.random(total) + 1e-9, random.random(total)
    again = scores.copy()
    share = lexical._add_group(scores, units, tf, norm, Group("word", 1.0, ()), 2.7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "native", lambda: None)
        plain = lexical._add_group(again, units, tf, norm, Group("word", 1.0, ()), 2.7)
    assert scores.tobytes() == again.tobytes()
    assert share.amounts.tobytes() == plain.amounts.tobytes()


def test_owners_that_are_not_there_are_refused() -> None:
    module = kernel.module()
    owners, counts = np.array([0, 99]), np.array([1, 2], np.uint8)
    wrong: list[tuple[Any, ...]] = [
        ([(np.array([5, 100]), counts, 1.0)], 100), ([(np.array([5, -1]), counts, 1.0)], 100), ([(owners, counts, 1.0)], 50),
        ([(owners, counts, 1.0), (np.array([1 << 62]), counts[:1], 1.0)], 100), ([(owners[::-1].copy(), counts, 1.0)], 99),
        ([(owners, counts[:1], 1.0)], 100), ([(owners, np.zeros(3), 1.0)], 100), ([(owners, counts)], 100),
        ([(owners, counts, 1.0)], -1), ([[owners, counts, 1.0]], 100), ([(owners.view(np.int8)[:9], counts, 1.0)], 100),
        ((), 100), ([(owners, counts, None)], 100),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises((ValueError, TypeError, BufferError)):
            module.tally(*arguments)
    found, sums = module.tally([(owners, counts, 2.0)], 100)
    assert (np.frombuffer(found, np.int64).tolist(), np.frombuffer(sums).tolist()) == ([0, 99], [2.0, 4.0])


def test_units_that_are_not_there_gain_nothing() -> None:
    module, scores = kernel.module(), np.zeros(4)
    for units in (np.array([0, 4]), np.array([0, -1]), np.array([0, 1 << 61])):
        with pytest.raises(ValueError, match="not there"):
            module.bm25(units, np.ones(2), np.ones(4), 1.0, scores)
    for arguments in (
        (np.array([0]), np.ones(2), np.ones(4), 1.0, scores), (np.array([0]), np.ones(1), np.ones(3), 1.0, scores),
        (np.array([0]), np.ones(1), np.ones(4), 1.0, bytes(32)), (b"1234567", np.ones(1), np.ones(4), 1.0, scores),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError, BufferError)):
            module.bm25(*arguments)
    assert not scores.any()


def test_threads_do_not_meet_on_a_desk() -> None:
    owners, results = np.arange(50_000), []

    def work(factor: float) -> None:
        for _ in range(20):
            sums = PostingSum()
            sums.add(owners, np.ones(len(owners)), factor)
            results.append(bool((sums.sparse(50_000)[1] == factor).all()))

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 80
