"""Parts of a new segment whose texts are packed already, where they will be in the whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lurcher.indexing import writer
from lurcher.indexing.build import build_segment
from lurcher.storage import merge as merging
from lurcher.storage.container import PACK_BYTES, Container
from lurcher.storage.container_writer import ContainerWriter, encode_container
from lurcher.storage.segment_writer import SegmentData, encode_segment, write_segment
from tests.indexing.conftest import opened
from tests.indexing.conftest import write as write_files

Files = list[tuple[str, bytes]]


def files(seed: int, sizes: tuple[int, ...]) -> Files:
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(300)]
    texts = ["\n".join(chance.choices(words, k=size // 3 + 1))[:size].encode() for size in sizes]
    return [(f"f{number:02}.txt", text) for number, text in enumerate(texts)]


def part(given: Files, place: int | None) -> Container:
    data = build_segment(given, 1500, first=(place or 0) % PACK_BYTES)
    return Container(b"".join(encode_container(*encode_segment(data, part=True, aligned=place is not None))), "part")


def at_once(data: SegmentData) -> bytes:
    pieces: list[bytes | memoryview] = []
    write_segment(data, ContainerWriter(pieces.append))
    return b"".join(pieces)


def together(parts: list[Container]) -> bytes:
    pieces: list[bytes | memoryview] = []
    merging.merge_segments(parts, [None] * len(parts), ContainerWriter(pieces.append))
    return b"".join(pieces)


SIZES = (
    (10, 20, 30, 40), (PACK_BYTES, PACK_BYTES, PACK_BYTES, PACK_BYTES),
    (3 * PACK_BYTES + 5, 7, 2 * PACK_BYTES, 5 * PACK_BYTES - 12), (PACK_BYTES - 1, 1, 4 * PACK_BYTES, 0),
    (0, 3 * PACK_BYTES, 0, 100_001),
)  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("error", [None, 0, 1, PACK_BYTES - 1, PACK_BYTES])
def test_wherever_texts_were_foreseen_to_be_the_whole_is_the_same(sizes: tuple[int, ...], error: int | None) -> None:
    given = files(1, sizes)
    before = sum(sizes[:2])
    parts = [part(given[:2], 0), part(given[2:], None if error is None else before + error)]
    assert together(parts) == at_once(build_segment(given, 1500))


def test_blocks_that_were_foreseen_are_not_packed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = files(2, (5 * PACK_BYTES + 100, 6 * PACK_BYTES, 7 * PACK_BYTES))
    parts = [part(given[:1], 0), part(given[1:], 5 * PACK_BYTES + 100)]
    copied: list[int] = []
    original = ContainerWriter.write_block
    monkeypatch.setattr(ContainerWriter, "write_block", lambda self, *block: (copied.append(1), original(self, *block))[1])
    assert together(parts) == at_once(build_segment(given, 1500))
    assert len(copied) == 5 + 12


def test_a_writer_foresees_texts_that_are_other_than_their_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once one of them was read, those that follow are expected where they will be."""
    monkeypatch.setattr(writer, "SHARD_BYTES", 2 * PACK_BYTES)
    monkeypatch.setattr(writer, "MIN_SHARD_BYTES", 2 * PACK_BYTES)
    texts = {f"big{path}": text.decode() for path, text in files(3, (2 * PACK_BYTES - 30,) * 8)}
    write_files(root, {**texts, "big00a.txt": "\ufeff" + "mark\n" * 7000})
    write_files(root, {"big02a.bin": "\0" * 5000})
    copied: list[int] = []
    original = ContainerWriter.write_block
    monkeypatch.setattr(ContainerWriter, "write_block", lambda self, *block: (copied.append(1), original(self, *block))[1])
    opened(root).index()
    assert len(copied) >= 8
