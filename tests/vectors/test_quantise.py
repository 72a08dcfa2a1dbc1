from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.vectors.quantise import LARGEST, pack, quantise, row_bytes, unpack


@pytest.mark.parametrize("bits", [4, 8])
@given(seed=st.integers(0, 10**6), rows=st.integers(0, 5), dims=st.integers(1, 9))
def test_rows_come_back_as_they_were_stored(bits: int, seed: int, rows: int, dims: int) -> None:
    largest = LARGEST[bits]
    numbers = np.random.default_rng(seed).integers(-largest, largest + 1, (rows, dims)).astype(np.int8)
    packed = pack(numbers, bits)
    assert packed.shape == (rows, row_bytes(dims, bits))
    assert unpack(packed, bits, dims).tolist() == numbers.tolist()


@pytest.mark.parametrize(("bits", "most"), [(8, 0.01), (4, 0.17)])
def test_little_is_lost(bits: int, most: float) -> None:
    rows = np.random.default_rng(0).standard_normal((50, 64)).astype(np.float32) * np.logspace(-3, 3, 50)[:, None]
    numbers, scales = quantise(rows, bits)
    lost = np.linalg.norm(numbers * scales[:, None] - rows, axis=1) / np.linalg.norm(rows, axis=1)
    assert lost.max() < most
    assert np.abs(numbers).max() <= LARGEST[bits]


@pytest.mark.parametrize("bits", [4, 8])
def test_a_row_of_zeros_stays_one(bits: int) -> None:
    numbers, scales = quantise(np.zeros((2, 5)), bits)
    assert not numbers.any() and not scales.any()
    assert quantise(np.zeros((0, 5)), bits)[0].shape == (0, 5)
