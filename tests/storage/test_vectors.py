"""Cosines of a snapshot: exact whatever the segments are, and bounded in memory."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lurcher.indexing.build import build_segment
from lurcher.storage import tables, vectors
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.segment_writer import encode_segment
from lurcher.storage.tables import CosineIndex, to_direction
from tests.tables import WORDS, table_of

TABLE = table_of(WORDS, dims=24)


def container_of(files: dict[str, str]) -> Container:
    data = build_segment([(path, text.encode()) for path, text in sorted(files.items())], 300, TABLE)
    return Container(b"".join(encode_container(*encode_segment(data))), "test")


FILES = {f"{word}/{other}.py": f"# {word} {other}\n{other} = {word}\n" for word in WORDS[:6] for other in WORDS[3:12]}


def vector(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(24)


def test_cosines_are_those_of_the_stored_vectors() -> None:
    container = container_of(FILES)
    stored = vectors.read_vectors(container)
    assert stored is not None
    asked = vector(1)
    expected = (stored.units * stored.unit_scales[:, None]) @ asked / np.linalg.norm(asked)
    found = CosineIndex([container]).for_all_units(to_direction(asked))
    assert found == pytest.approx(expected, abs=1e-3)
    assert np.abs(found).max() <= 1.0001


@given(st.integers(0, 10**6), st.lists(st.integers(0, 3), min_size=len(FILES), max_size=len(FILES)))
@settings(max_examples=20, deadline=None)
def test_cosines_do_not_depend_on_the_segments(seed: int, places: list[int]) -> None:
    direction = to_direction(vector(seed))
    alone = {path: CosineIndex([container_of({path: text})]).for_files(direction)[0] for path, text in list(FILES.items())[:8]}
    parts: list[dict[str, str]] = [{}, {}, {}, {}]
    for place, (path, text) in zip(places, FILES.items(), strict=True):
        parts[place][path] = text
    nearness = CosineIndex([container_of(part) for part in parts])
    found = dict(zip((path for part in parts for path in sorted(part)), nearness.for_files(direction).tolist(), strict=True))
    assert {path: found[path] for path in alone} == alone


def test_some_units_have_the_cosines_of_all_units(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = [dict(list(FILES.items())[::2]), dict(list(FILES.items())[1::2])]
    nearness = CosineIndex([container_of(half) for half in halves])
    direction = to_direction(vector(3))
    every = nearness.for_all_units(direction)
    some = np.array([5, 0, len(every) - 1, 17, 30])
    assert nearness.for_units(some, direction).tolist() == every[some].tolist()
    monkeypatch.setattr(tables, "_BLOCK_ROWS", 2)
    small = CosineIndex([container_of(half) for half in halves])
    assert small.for_units(some, direction).tolist() == every[some].tolist()
    assert small.for_all_units(direction).tolist() == every.tolist()
    alone = CosineIndex([container_of(FILES)])
    assert alone.for_units(some, direction).tolist() == alone.for_all_units(direction)[some].tolist()


def test_threads_do_not_disturb_each_other() -> None:
    nearness = CosineIndex([container_of(FILES)])
    directions = [to_direction(vector(seed)) for seed in range(8)]
    expected = [nearness.for_all_units(direction).tolist() for direction in directions]
    wrong: list[int] = []

    def work(number: int) -> None:
        found = (nearness.for_all_units(directions[number]).tolist() for _ in range(50))
        wrong.extend(number for values in found if values != expected[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_segments_that_do_not_go_together_have_no_size() -> None:
    other = build_segment([("a.py", b"x = 1\n")], 300, table_of(WORDS, dims=16))
    none = build_segment([("a.py", b"x = 1\n")], 300)
    mine = container_of({"a.py": "x = 1\n"})
    assert CosineIndex([mine]).dims == 24
    for data in (other, none):
        assert CosineIndex([mine, Container(b"".join(encode_container(*encode_segment(data))), "test")]).dims == 0
    assert CosineIndex([]).dims == 0


def test_nothing_points_nowhere() -> None:
    direction = to_direction(np.zeros(24))
    assert direction.length == 0
    assert not CosineIndex([container_of(FILES)]).for_files(direction).any()
