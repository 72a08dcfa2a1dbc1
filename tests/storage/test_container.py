"""A file of sections: it comes back whole, or it is called damaged."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.errors import CorruptIndex
from lurcher.storage.container import BLOCK_BYTES, MAGIC, Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.disk import write_atomically

SECTIONS = st.dictionaries(st.text(max_size=8), st.tuples(st.sampled_from(["u1", "V"]), st.binary(max_size=200)), max_size=5)
FEW = {
    "first": ("u1", b"some bytes"),
    "empty": ("u1", b""),
    "numbers": ("<u4", struct.pack("<5I", 1, 2, 3, 4, 5)),
    "odd": ("V", b"xyz"),
}
LAYOUT = [("a", "<u2"), ("b", "u1")]


def packed(sections: dict[str, Any] = FEW, meta: dict[str, Any] | None = None) -> bytes:
    return b"".join(encode_container(sections, meta or {"files": 3}))


def read_all(data: bytes) -> dict[str, bytes]:
    """Everything that a reader does with a container."""
    container = Container(data, "test")
    found = {name: bytes(container.section(name)) for name in FEW}
    container.array("numbers", "<u4").sum()
    container.array("first", "u1").sum()
    container.table("odd", LAYOUT)
    container.verify()
    return found


@given(SECTIONS, st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3))
def test_sections_come_back(sections: dict[str, tuple[str, bytes]], meta: dict[str, Any]) -> None:
    container = Container(b"".join(encode_container(sections, meta)), "test")
    container.verify()
    assert container.meta == meta
    for name, (_, data) in sections.items():
        assert bytes(container.section(name)) == data
        assert container.length(name) == len(data)


def test_parts_of_a_section_can_be_read_alone() -> None:
    data = bytes(range(256)) * 1000
    container = Container(packed({"text": ("u1", data)}), "test")
    for start, end in ((0, 0), (0, 1), (BLOCK_BYTES - 1, BLOCK_BYTES + 1), (5, 3 * BLOCK_BYTES), (len(data), len(data))):
        assert bytes(container.section("text", start, end)) == data[start:end]
    for start, end in ((-1, 5), (0, len(data) + 1), (7, 6)):
        with pytest.raises(CorruptIndex, match="shorter"):
            container.section("text", start, end)


def test_arrays_are_of_the_kind_that_was_written() -> None:
    container = Container(packed(), "test")
    assert container.array("numbers", "<u4").tolist() == [1, 2, 3, 4, 5]
    assert container.table("odd", LAYOUT).tolist() == [(0x7978, 0x7A)]
    with pytest.raises(CorruptIndex, match="the wrong kind"):
        container.array("numbers", "u1")
    with pytest.raises(CorruptIndex, match="middle of a row"):
        container.table("first", LAYOUT)


def test_a_missing_section_is_damage() -> None:
    container = Container(packed(), "test")
    assert container.length("none") == 0
    with pytest.raises(CorruptIndex, match="no section 'none'"):
        container.section("none")


def test_every_flipped_byte_is_noticed() -> None:
    whole = packed()
    read_all(whole)
    for position in range(len(whole)):
        for bit in (0x01, 0x80, 0xFF):
            damaged = bytearray(whole)
            damaged[position] ^= bit
            with pytest.raises(CorruptIndex):
                read_all(bytes(damaged))


def test_every_truncation_is_noticed() -> None:
    whole = packed()
    for length in range(len(whole)):
        with pytest.raises(CorruptIndex):
            read_all(whole[:length])
        with pytest.raises(CorruptIndex):
            read_all(whole[len(whole) - length :])


def test_only_the_blocks_that_are_read_are_believed() -> None:
    data = bytearray(packed({"text": ("u1", bytes(3 * BLOCK_BYTES))}))
    data[len(MAGIC) + 2 * BLOCK_BYTES + 7] ^= 1
    container = Container(bytes(data), "test")
    assert container.section("text", 0, 2 * BLOCK_BYTES)
    with pytest.raises(CorruptIndex, match="checksum"):
        container.section("text", 2 * BLOCK_BYTES, 2 * BLOCK_BYTES + 1)
    with pytest.raises(CorruptIndex, match="checksum"):
        container.verify()


def forged(contents: bytes, body: bytes = bytes(64)) -> bytes:
    """A container with any table of contents under a checksum that holds."""
    head = MAGIC + body
    return head + contents + struct.pack("<QII8s", len(head), len(contents), zlib.crc32(contents), MAGIC)


SUM = zlib.crc32(bytes(16))
HOSTILE: list[Any] = [
    None, 3, [], "text", {}, {"sections": {}}, {"meta": {}}, {"sections": [], "meta": 3}, {"sections": 5, "meta": {}},
    *(
        {"sections": {"a": entry}, "meta": {}}
        for entry in (
            None, 3, "four", [], ["u1"], ["u1", 8, 16, [SUM], 5],
            ["u1", -8, 16, [SUM]], ["u1", 0, 8, [SUM]], ["u1", 8, -16, [SUM]], ["u1", 8, 16, []], ["u1", 8, 16, [SUM, SUM]],
            ["u1", 8, 16, SUM], ["u1", 8, 16, {"0": SUM}], ["u1", 9, 16, [SUM]], ["u1", 8, 2**70, [SUM]],
            ["u1", 2**70, 16, [SUM]],
            ["u1", 8, 65, [SUM]], ["u1", "8", 16, [SUM]], ["u1", 8.0, 16.0, [SUM]], ["u1", True, 16, [SUM]],
            ["u1", None, None, None],
            ["O", 8, 16, [SUM]], ["<f8", 8, 16, [SUM]], ["<u4", 8, 15, [SUM]], ["", 8, 16, [SUM]], [["u1"], 8, 16, [SUM]],
            [None, 8, 16, [SUM]], ["u1,u1", 8, 16, [SUM]], ["V1000000000", 8, 16, [SUM]],
        )
    ),
    {"sections": {"a": ["u1", 8, 16, [SUM]], "b": ["u1", 16, 16, [SUM]]}, "meta": {}},
    {"sections": {"a": ["u1", 8, 16, [SUM]], "b": ["u1", "x", 16, [SUM]]}, "meta": {}},
]  # fmt: skip


@pytest.mark.parametrize("contents", HOSTILE, ids=lambda value: json.dumps(value)[:60])
def test_a_table_of_contents_that_makes_no_sense_is_damage(contents: Any) -> None:
    with pytest.raises(CorruptIndex, match="test is damaged"):
        Container(forged(json.dumps(contents).encode()), "test").verify()


@pytest.mark.parametrize("contents", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000, b'{"sections": {}, "meta": NaN}'])
def test_contents_that_are_no_json_are_damage(contents: bytes) -> None:
    with pytest.raises(CorruptIndex):
        Container(forged(contents), "test")


@pytest.mark.parametrize("sums", [["x"], [None], [-1], [2**40], [0.5], [SUM + 1]])
def test_an_invalid_checksum_is_refused(sums: list[Any]) -> None:
    with pytest.raises(CorruptIndex):
        Container(forged(json.dumps({"sections": {"a": ["u1", 8, 16, sums]}, "meta": {}}).encode()), "test").section("a")


json_values: Callable[..., Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["u1", "<u4", "V"])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["sections", "meta", "a"]), inner, max_size=3),
    max_leaves=12,
)


@given(json_values, json_values)
def test_no_table_of_contents_does_worse_than_being_refused(entry: Any, other: Any) -> None:
    for contents in (entry, {"sections": entry, "meta": other}, {"sections": {"a": entry, "b": other}, "meta": {}}):
        try:
            container = Container(forged(json.dumps(contents).encode()), "test")
            container.verify()
            container.array("a", "<u4")
        except CorruptIndex:
            continue


def test_a_file_that_is_empty_missing_or_a_folder_is_damage(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name in ("empty", "missing", "folder"):
        with pytest.raises(CorruptIndex, match=name) as caught:
            Container.open(tmp_path / name)
        assert caught.value.hint == "run: lurcher index --rebuild"


def test_a_file_on_disk_is_read_as_one_in_memory(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", encode_container(FEW, {"x": 1}))
    container = Container.open(tmp_path / "file")
    container.verify()
    assert {name: bytes(container.section(name)) for name in FEW} == {name: data for name, (_, data) in FEW.items()}
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, [b"old"])
    with pytest.raises(TypeError):
        write_atomically(path, [b"new", "not bytes"])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
