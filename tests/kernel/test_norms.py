"""What lengths make of counts, from the tables as they lie: to the last bit what arrays give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.storage.segment import FILE, UNIT
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import TableRows, normalise_lengths, row_layout
from tests.indexing.conftest import opened, write
from tests.kernel import kernel

pytestmark = kernel.needed
FIELDS = ("body", "comments", "symbols", "name", "folder", "stem")


def tables(seed: int, units: int, files: int) -> tuple[Any, Any]:
    """Rows as numpy has them, whose fields have any lengths."""
    random = np.random.default_rng(seed)
    unit, file = np.zeros(units, list(UNIT)), np.zeros(files, list(FILE))
    unit["file"] = np.sort(random.integers(0, max(files, 1), units))
    for rows, names in ((unit, FIELDS[:3]), (file, FIELDS[3:])):
        for name in names:
            rows[name] = random.integers(0, random.choice([1, 9, 60_000]), len(rows))
    return unit, file


def ours(table: Any, layout: Any) -> TableRows:
    return TableRows(memoryview(table.tobytes()), row_layout(tuple(layout)))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 999), st.integers(1, 40), st.integers(1, 9),
    st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0]), min_size=6, max_size=6),
    st.sampled_from([0.0, 0.5, 1.5]), st.sampled_from([0.0, 0.4, 0.75, 1.0]), st.booleans(),
    st.just(FIELDS) | st.lists(st.sampled_from(FIELDS), min_size=6, max_size=6, unique=True) | st.just(FIELDS[1:4]),
)  # fmt: skip
def test_norms_are_those_of_arrays(
    seed: int, units: int, files: int, amounts: list[float], k1: float, b: float, some: bool, order: tuple[str, ...]
) -> None:
    unit, file = tables(seed, units, files)
    live = (np.arange(files) % 2 == 0) if some else None
    amounts = amounts[: len(order)]
    weights = dict(zip(order, amounts, strict=True))
    columns = [unit[name].astype(float) if name in FIELDS[:3] else file[name].astype(float)[unit["file"]] for name in order]
    counted = np.ones(units, bool) if live is None else live[unit["file"]]
    room = np.full(units + 3, 7.0)
    sums = ours(unit, UNIT).lengths(ours(file, FILE), live, weights, room, 2)
    assert sums == (*(int(column[counted].sum()) for column in columns), int(counted.sum()))
    mean, length = 0.0, np.zeros(units)
    for weight, column in zip(amounts, columns, strict=True):
        length += weight * column
        mean += weight * (float(column[counted].sum()) / max(int(counted.sum()), 1))
    wanted = np.maximum(k1 * (1 - b + b * (length / mean if mean else length)), 1e-9)
    assert room[2 : units + 2].tobytes() == length.tobytes()
    assert normalise_lengths(room[2 : units + 2].copy(), mean, k1, b).tobytes() == wanted.tobytes()
    assert room[[0, 1, -1]].tolist() == [7.0, 7.0, 7.0]


def test_a_snapshot_of_several_segments_has_the_same_either_way(tmp_path: Path) -> None:
    write(tmp_path, {f"part{i}/module_{i}.py": f"# Part {i}.\ndef run_{i}(value):\n    return value + {i}\n" for i in range(9)})
    opened(tmp_path).index()
    write(tmp_path, {"part3/module_3.py": "def other():\n    return None\n", "new.py": "NEW = 1\n"})
    (tmp_path / "part4/module_4.py").unlink()
    engine = opened(tmp_path)
    engine.search("run")
    snapshot: Snapshot = engine.projects[0].view(lambda *_: None).snapshot
    assert len(snapshot.segments) > 1 and any(segment.live is not None for segment in snapshot.segments)
    weights = {"body": 1.0, "comments": 1.0, "symbols": 1.0, "name": 2.0, "folder": 1.0, "stem": 2.0}
    wanted = np.asarray(snapshot.norms_by_lengths(weights, 1.5, 0.75))
    assert np.asarray(snapshot.norms(weights, 1.5, 0.75)).tobytes() == wanted.tobytes()


def test_what_does_not_fit_is_refused() -> None:
    unit, file = tables(1, 5, 3)
    units, files, weights, room = ours(unit, UNIT), ours(file, FILE), {"body": 1.0, "name": 1.0}, np.zeros(5)
    with pytest.raises(ValueError, match="as many marks"):
        units.lengths(files, np.ones(2, bool), weights, room, 0)
    for first in (-1, 1, 6):
        with pytest.raises(ValueError, match="no room"):
            units.lengths(files, None, weights, room, first)
    with pytest.raises((ValueError, TypeError, BufferError)):
        units.lengths(files, None, weights, b"12345678" * 5, 0)
    with pytest.raises(ValueError, match="lengths"):
        normalise_lengths(bytearray(12), 1.0, 1.0, 1.0)
    unit["file"][4] = 3
    with pytest.raises(IndexError, match="in no file"):
        ours(unit, UNIT).lengths(files, None, weights, room, 0)
    module, data = kernel.module(), unit.tobytes()
    width = unit.dtype.itemsize
    for arguments in (
        (data[:-1], width, b"", 1, 0, None, ()), (data, 0, b"", 1, 0, None, ()), (data, width, b"", 0, 0, None, ()),
        (data, width, b"", 1, width - 3, None, ()), (data, width, b"", 1, -1, None, ()),
        (data, width, b"", 1, 0, None, ((False, width - 3, 4, 1.0),)), (data, width, b"", 1, 0, None, ((True, 0, 3, 1.0),)),
        (data, width, b"", 1, 0, None, ((False, 0, 4, 1.0),) * 17),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"rows|field"):
            module.lengths(*arguments, room, 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.integers(0, 12), st.sampled_from([0, 1, 7, 2**40]))
def test_columns_of_whole_numbers_are_those_of_numpy(seed: int, count: int, more: int) -> None:
    layout = (("a", "u1"), ("b", "<u4"), ("d", "<u2"), ("e", "<i4"), ("f", "<u8"))
    plain = np.frombuffer(np.random.default_rng(seed).bytes(np.dtype(list(layout)).itemsize * count), list(layout))
    rows = TableRows(memoryview(plain.tobytes()), row_layout(layout))
    for name in "abde":
        found = np.asarray(rows.as_numbers(name, more))
        assert found.dtype == np.int64 and found.tolist() == (plain[name].astype(np.int64) + more).tolist()
    with pytest.raises(ValueError, match="may not fit"):
        rows.as_numbers("f", more)
