"""Blocks of LZ4: the kernel gives what the library gives, and refuses what it refuses, and copies from nowhere besides."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lz4.block import LZ4BlockError, compress, decompress

from tests.kernel import kernel

pytestmark = kernel.needed


def by_the_library(block: bytes, size: int) -> bytes | None:
    try:
        data: bytes = decompress(block, uncompressed_size=size)
    except (LZ4BlockError, ValueError):
        return None
    return data if len(data) == size else None


repeated = st.builds(
    lambda piece, times, end: piece * times + end, st.binary(min_size=1, max_size=40), st.integers(1, 900), st.binary()
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000) | repeated | st.lists(repeated, max_size=5).map(b"".join))
def test_what_was_packed_is_unpacked(data: bytes) -> None:
    for mode in ("default", "high_compression"):
        block = compress(data, mode=mode, store_size=False)
        if data:
            assert kernel.module().unpack(block, len(data)) == data
            assert kernel.module().unpack(memoryview(block), len(data) + 1) is None
            assert kernel.module().unpack(block, len(data) - 1) is None
            assert kernel.module().unpack(block[:-1], len(data)) is None
            assert kernel.module().unpack(block + b"x", len(data)) is None


@settings(max_examples=300, deadline=None)
@given(repeated, st.integers(0, 2**32), st.integers(1, 6))
@example(b"ab" * 100, 0, 1)
def test_damaged_blocks_give_nothing_or_what_the_library_makes_of_them(data: bytes, seed: int, changes: int) -> None:
    block = bytearray(compress(data, store_size=False))
    chance = random.Random(seed)
    for _ in range(changes):
        block[chance.randrange(len(block))] = chance.choice((0, 1, 15, 16, 240, 255, chance.randrange(256)))
    for size in (len(data), len(data) - 1, 1):
        if size > 0:
            assert kernel.module().unpack(bytes(block), size) in (None, by_the_library(bytes(block), size))


@settings(max_examples=500, deadline=None)
@given(st.binary(min_size=1, max_size=60), st.integers(1, 300))
def test_any_bytes_give_nothing_or_what_the_library_makes_of_them(block: bytes, size: int) -> None:
    assert kernel.module().unpack(block, size) in (None, by_the_library(block, size))


@pytest.mark.parametrize(
    "block", [b"", b"\xf0", b"\xf0\xff", b"\xf0" + b"\xff" * 1000, b"\x10a\x01", b"\x1fa\x01\x00" + b"\xff" * 500]
)
def test_blocks_that_end_too_soon_give_nothing(block: bytes) -> None:
    for size in (0, 1, 20, 100_000):
        assert kernel.module().unpack(block, size) is None


def test_there_is_no_size_below_zero() -> None:
    with pytest.raises(ValueError, match="no such size"):
        kernel.module().unpack(b"", -1)
