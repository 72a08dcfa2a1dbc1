"""The kernel's sums and products equal those of numpy, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lurcher.storage import tables as vectors
from lurcher.storage.tables import Direction, ProductBuffer, to_direction
from lurcher.vectors import quantise
from lurcher.vectors.quantise import pack, unpack
from tests.kernel import kernel

pytestmark = kernel.needed


@contextmanager
def reference() -> Iterator[None]:
    """Whoever asks for the kernel finds none."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (quantise, vectors):
            patch.setattr(module, "native", lambda: None)
        yield


@st.composite
def summed(draw: st.DrawFn) -> dict[str, Any]:
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    height, dims = draw(st.integers(1, 40)), draw(st.sampled_from([1, 2, 3, 31, 32, 33, 64]))
    total, count = draw(st.integers(0, 70)), draw(st.integers(0, 200)) if draw(st.booleans()) else 0
    size = draw(st.sampled_from([1e-9, 1.0, 1e5]))
    return {
        "owners": random.integers(0, max(total, 1), count if total else 0),
        "rows": random.integers(0, height, count if total else 0),
        "amounts": random.normal(size=count if total else 0) * size * (random.random(count if total else 0) < 0.9),
        "total": total,
        "matrix": random.integers(-127, 128, (height, dims)).astype(np.int8),
        "halves": random.integers(-7, 8, (height, dims)).astype(np.int8),
    }


@given(summed())
def test_sums_are_the_same(given: dict[str, Any]) -> None:
    parts = given["owners"], given["rows"], given["amounts"], given["total"]
    for bits, matrix in ((8, given["matrix"]), (4, given["halves"])):
        stored = quantise.PackedRows(pack(matrix, bits), bits, matrix.shape[1])
        assert np.array_equal(unpack(stored.rows.view(np.uint8), bits, matrix.shape[1]), matrix)
        native = list(quantise.weighted_sums(*parts, matrix.__getitem__, len(matrix), stored))
        plain = list(quantise.weighted_sums(*parts, matrix.__getitem__, len(matrix)))
        for column in (1, 2):
            assert joined(native, column).tobytes() == joined(plain, column).tobytes()


def joined(found: list[Any], column: int) -> NDArray[Any]:
    # Adding zero makes no difference between the two zeros, as nothing that reads sums does.
    return np.concatenate([np.zeros(0), *(np.ravel(row[column]) for row in found)]) + 0.0


@given(st.integers(0, 1 << 30), st.integers(1, 90), st.integers(1, 40), st.booleans())
def test_products_are_the_same(seed: int, dims: int, height: int, one_sided: bool) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(-128, 128, (height, dims)).astype(np.int8)
    vector = random.normal(size=dims)
    if one_sided:  # one number takes all, and needs more than two bytes
        vector[0] = 1e6
    direction = to_direction(vector)
    for places in (None, random.integers(0, height, 50)):
        native = ProductBuffer().products(memoryview(rows.tobytes()), dims, places, direction)
        with reference():
            assert native.tobytes() == ProductBuffer().products(memoryview(rows.tobytes()), dims, places, direction).tobytes()


def whole(*numbers: float) -> NDArray[np.float64]:
    return np.array(numbers, np.float64)


def test_what_does_not_fit_is_refused() -> None:
    module = kernel.module()
    ends, rows, amounts, data = np.array([1, 2]), np.array([0, 1]), whole(3, 4), np.zeros(8, np.int8)
    module.row_sums(ends, rows, amounts, data, 8, 4)
    wrong: list[tuple[Any, ...]] = [
        (np.array([1, 3]), rows, amounts, data, 8, 4), (np.array([2, 1]), rows, amounts, data, 8, 4),
        (np.array([-1, 2]), rows, amounts, data, 8, 4), (np.array([1 << 62, 2]), rows, amounts, data, 8, 4),
        (ends, np.array([0, 2]), amounts, data, 8, 4), (ends, np.array([0, -1]), amounts, data, 8, 4),
        (ends, rows, amounts[:1], data, 8, 4), (ends, rows, whole(1, 2.5), data, 8, 4),
        (ends, rows, whole(1, np.nan), data, 8, 4), (ends, rows, whole(1, -np.inf), data, 8, 4),
        (ends, rows, whole(1, 1e9), data, 8, 4), (ends, rows, amounts, data, 7, 4), (ends, rows, amounts, data, 8, 3),
        (ends, rows, amounts, data, 8, 0), (ends, rows, amounts, data, 8, -4), (ends, rows, amounts, data[:5], 8, 4),
        (ends.view(np.int8)[:15], rows, amounts, data, 8, 4), (ends.view(np.int8)[1:9], rows, amounts, data, 8, 4),
        (ends, rows, np.repeat(amounts, 2)[::2], data, 8, 4), (None, rows, amounts, data, 8, 4),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises((ValueError, TypeError, BufferError)):
            module.row_sums(*arguments)


def test_products_of_rows_that_are_not_there_are_refused() -> None:
    desk, rows = ProductBuffer(), np.zeros((3, 4), np.int8)
    direction = Direction(np.array([1, 2, 3, 4], np.float32), 1.0)
    for places in (np.array([0, 3]), np.array([-1]), np.array([1 << 60])):
        with pytest.raises(ValueError, match="not there"):
            desk.products(memoryview(rows.tobytes()), 4, places, direction)
    for numbers in ([1, 2, 3], [1, 2, 3, 0.5], [1, 2, 3, 1e9], [1, 2, 3, np.nan], []):
        with pytest.raises(ValueError, match="not"):
            desk.products(memoryview(rows.tobytes()), 4, None, Direction(np.array(numbers, np.float32), 1.0))
    found = np.zeros(3)
    found.flags.writeable = False
    with pytest.raises((ValueError, TypeError, BufferError)):
        kernel.module().products(rows.ravel(), None, direction.numbers, found)
