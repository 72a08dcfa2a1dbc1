"""The kernel finds in a text what the reference finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.storage import bloom
from lurcher.storage.bloom import BloomBuilder
from tests.kernel import kernel

pytestmark = kernel.needed
PARTS = [b"name", b"_9", b" ", b"\n", b"->", "größe".encode(), b"\xff\x7f~"]
PIECES = st.lists(st.binary(max_size=40) | st.sampled_from(PARTS))


def both(texts: list[bytes]) -> tuple[BloomBuilder, BloomBuilder]:
    native = BloomBuilder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bloom, "native", lambda: None)
        plain = BloomBuilder()
    for text in texts:
        native.add(memoryview(text))
        plain.add(memoryview(text))
    return native, plain


@given(st.lists(PIECES.map(b"".join), max_size=3))
@settings(max_examples=60, deadline=None)
def test_hashes_are_the_same(texts: list[bytes]) -> None:
    native, plain = both(texts)
    assert np.array_equal(native.sorted_hashes(), plain.sorted_hashes())


@pytest.mark.parametrize("shift", range(-3, 4))
def test_pieces_end_where_those_of_the_reference_end(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(shift + 3)
    edge = bloom._PIECE_BYTES + shift
    texts = [
        b"x" * edge + b" end", b"a b" * (edge // 3) + b"tail" * 9, b"x" * (3 * edge), b"." * edge + b"word",
        random.integers(0, 256, 3 * edge).astype(np.uint8).tobytes(), b"word " * (edge // 5) + b"w" * 2 * edge,
    ]  # fmt: skip
    native, plain = both(texts)
    assert np.array_equal(native.sorted_hashes(), plain.sorted_hashes())
    filter_ = native.build()
    monkeypatch.setattr(bloom, "native", lambda: None)
    assert filter_ == plain.build()


def test_marks_must_be_as_many_as_there_are_threes() -> None:
    for marks in (np.zeros(0, bool), np.zeros((1 << 21) - 1, bool), np.zeros(1 << 22, bool)):
        with pytest.raises(ValueError, match="room"):
            kernel.module().Entries(7).add(b"a b", marks)
    with pytest.raises((TypeError, BufferError)):
        kernel.module().Entries(7).add(b"a b", bytes(1 << 21))
    with pytest.raises(TypeError):
        kernel.module().Entries(7).add("a b", np.zeros(1 << 21, bool))



@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=30))
def test_hashes_that_others_collected_count_once(hashes: list[int]) -> None:
    entries = BloomBuilder()
    for _ in range(2):
        entries.add_hashes(np.array(hashes, np.uint64))
    assert entries.sorted_hashes().tolist() == sorted(set(hashes))
