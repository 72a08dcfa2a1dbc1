"""The manifest: which generation is live, and what each file looked like."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher.errors import CorruptIndex, OutdatedIndex
from lurcher.storage import manifest as manifests
from lurcher.storage.container_writer import encode_container
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS, FileRow, Manifest

PRINT = manifests.make_fingerprint(1500, "none")
NAMES = ("0" * 24 + ".segment", "a1" * 12 + ".segment")
PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30).filter(
    lambda path: not path.startswith("/") and ".." not in path.split("/")
)
U64, I64 = st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1)
ROWS = st.one_of(
    st.builds(FileRow, st.binary(min_size=16, max_size=16), U64, I64, I64, U64, st.integers(0, 1), st.integers(0, 2**32 - 1)),
    st.builds(FileRow, st.just(bytes(16)), U64, I64, I64, U64, st.just(NO_SEGMENT), st.integers(0, len(SKIP_REASONS) - 1)),
)


def manifest(rows: dict[str, FileRow] | None = None, **changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "generation": 3,
        "fingerprint": PRINT,
        "segments": NAMES,
        "skipped": {"binary": 2},
        "checked_ns": 5,
    }
    return Manifest(**{**values, **changes}, rows=rows or {})


@given(
    st.dictionaries(PATHS, ROWS, max_size=8),
    st.integers(1, 2**60),
    st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_a_manifest_comes_back(tmp_path: Path, rows: dict[str, FileRow], generation: int, skipped: dict[str, int]) -> None:
    written = manifest(rows, generation=generation, skipped=skipped)
    manifests.write_manifest(tmp_path, written)
    read = manifests.read_manifest(tmp_path, PRINT)
    assert read == written
    assert list(read.rows) == sorted(rows)


@pytest.mark.parametrize("path", ["a b.py", "ä/ö.py", "line\nbreak.py", "tab\t.py", "'\"\\.py", "検索.py", " ", "a" * 250])
def test_odd_paths_come_back(tmp_path: Path, path: str) -> None:
    row = FileRow(b"d" * 16, 1, 2, 3, 4, 0, 0)
    manifests.write_manifest(tmp_path, manifest({path: row}))
    read = manifests.read_manifest(tmp_path, PRINT)
    assert read is not None
    assert dict(read.rows) == {path: row}


def test_there_may_be_none_yet(tmp_path: Path) -> None:
    assert manifests.read_manifest(tmp_path, PRINT) is None
    assert manifests.read_manifest(tmp_path / "missing", PRINT) is None


def test_another_configuration_is_named(tmp_path: Path) -> None:
    manifests.write_manifest(tmp_path, manifest())
    with pytest.raises(OutdatedIndex) as caught:
        manifests.read_manifest(tmp_path, manifests.make_fingerprint(750, "none"))
    assert caught.value.message == "the index was made with chunk_chars 1500 (now 750)"


@pytest.mark.parametrize(
    ("found", "difference"),
    [
        ({**PRINT, "version": "0.0.1"}, "version 0.0.1 (now "),
        ({**PRINT, "format": 1, "version": "0.0.1"}, "format 1 (now "),
        ({key: value for key, value in PRINT.items() if key != "chunk_chars"}, "chunk_chars None (now 1500)"),
        ({}, "another format"),
        ({"history": 4, "version": PRINT["version"]}, "another format"),  # of history, before it had the format of all
    ],
)
def test_each_difference_is_named(tmp_path: Path, found: dict[str, Any], difference: str) -> None:
    manifests.write_manifest(tmp_path, manifest(fingerprint=found))
    with pytest.raises(OutdatedIndex) as caught:
        manifests.read_manifest(tmp_path, PRINT)
    assert difference in caught.value.message


def test_another_model_is_no_reason_to_start_over(tmp_path: Path) -> None:
    manifests.write_manifest(tmp_path, manifest(fingerprint={**PRINT, "model": "other"}))
    read = manifests.read_manifest(tmp_path, PRINT)
    assert read is not None and read.fingerprint["model"] == "other"


def test_any_damage_is_noticed(tmp_path: Path) -> None:
    manifests.write_manifest(
        tmp_path, manifest({"a.py": FileRow(b"d" * 16, 1, 2, 3, 4, 0, 0), "b.py": FileRow(b"e" * 16, 1, 2, 3, 4, 1, 0)})
    )
    path = tmp_path / manifests.NAME
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x41
        path.write_bytes(damaged)
        try:
            read = manifests.read_manifest(tmp_path, PRINT)
        except CorruptIndex:
            continue
        # Only what fills the space between sections may differ, since nobody reads it.
        assert whole[position] == 0
        assert read is not None
        assert list(read.rows) == ["a.py", "b.py"]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptIndex):
            manifests.read_manifest(tmp_path, PRINT)


ROW = struct.Struct("<16sQqqQiI")
META = {"generation": 3, "fingerprint": PRINT, "segments": list(NAMES), "skipped": {}, "checked_ns": 5}


@pytest.mark.parametrize(
    "change",
    [
        {"generation": "3"}, {"generation": None}, {"generation": 0}, {"generation": -4}, {"generation": 1 << 64},
        {"checked_ns": "now"}, {"checked_ns": 1 << 63}, {"checked_ns": -(1 << 70)},
        {"segments": 4}, {"segments": "abc"}, {"segments": [1]}, {"segments": ["../../../etc/passwd"]},
        {"segments": ["/dev/zero"]},
        {"segments": ["x.segment"]}, {"segments": [f"sub/{NAMES[0]}"]}, {"segments": []}, {"skipped": 3},
        {"skipped": {"a": "b"}},
        {"skipped": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_contents_that_make_no_sense_are_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    sections = {"rows": ("V", ROW.pack(b"d" * 16, 1, 2, 3, 4, 0, 0)), "paths": ("u1", b"a.py")}
    (tmp_path / manifests.NAME).write_bytes(b"".join(encode_container(sections, {**META, **change})))
    with pytest.raises(CorruptIndex):
        manifests.read_manifest(tmp_path, PRINT)


@pytest.mark.parametrize(
    ("rows", "paths"),
    [
        (b"", b"a.py"),
        (ROW.pack(b"", 1, 2, 3, 4, 0, 0), b""),
        (ROW.pack(b"", 1, 2, 3, 4, 0, 0)[:-1], b"a.py"),
        (ROW.pack(b"", 1, 2, 3, 4, 0, 0), b"\xff\xfe"),
        (ROW.pack(b"", 1, 2, 3, 4, 2, 0), b"a.py"),
        (ROW.pack(b"", 1, 2, 3, 4, -2, 0), b"a.py"),
        (ROW.pack(b"", 1, 2, 3, 4, NO_SEGMENT, 99), b"a.py"),
    ],
)
def test_rows_that_make_no_sense_are_damage(tmp_path: Path, rows: bytes, paths: bytes) -> None:
    (tmp_path / manifests.NAME).write_bytes(b"".join(encode_container({"rows": ("V", rows), "paths": ("u1", paths)}, META)))
    with pytest.raises(CorruptIndex):
        manifests.read_manifest(tmp_path, PRINT)


@pytest.mark.parametrize("missing", sorted(META))
def test_a_missing_entry_is_damage_or_another_format(tmp_path: Path, missing: str) -> None:
    meta = {key: value for key, value in META.items() if key != missing}
    (tmp_path / manifests.NAME).write_bytes(b"".join(encode_container({"rows": ("V", b""), "paths": ("u1", b"")}, meta)))
    with pytest.raises(CorruptIndex):
        manifests.read_manifest(tmp_path, PRINT)


def test_what_was_left_out_is_counted_by_reason() -> None:
    left_out = {f"{i}.bin": FileRow(bytes(16), 1, 2, 3, 4, NO_SEGMENT, i % 2) for i in range(3)}
    assert manifest(left_out, skipped={"binary": 2, "drawing": 1}).skip_counts() == {"binary": 4, "drawing": 1, "minified": 1}
