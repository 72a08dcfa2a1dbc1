"""The kernel's checksum is zlib's."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kernel import kernel

pytestmark = kernel.needed


@given(st.binary(max_size=600), st.integers(0, 20))
@example(b"\0" * 64, 0)
@example(b"\xff" * 577, 1)
def test_any_bytes_have_the_same_sum(data: bytes, skipped: int) -> None:
    part = memoryview(data)[skipped:]
    assert kernel.module().crc32(part) == zlib.crc32(part)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_sum_goes_on_where_another_one_ended(before: bytes, data: bytes) -> None:
    assert kernel.module().crc32(data, kernel.module().crc32(before)) == zlib.crc32(before + data)


def test_long_texts_and_every_remainder() -> None:
    data = bytes(range(256)) * 300
    for size in (*range(64, 200), 65_535, 65_536, 65_537, len(data)):
        assert kernel.module().crc32(data[:size]) == zlib.crc32(data[:size])


def test_what_is_no_bytes_is_refused() -> None:
    for wrong in ("text", None, 5, memoryview(b"abcdef")[::2]):
        with pytest.raises((TypeError, BufferError)):
            kernel.module().crc32(wrong)
