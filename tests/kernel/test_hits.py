"""What is read for a hit is the same from the kernel as from Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lurcher.answer import hits
from lurcher.ranking import evidence
from lurcher.ranking.evidence import _average_nearest_units
from lurcher.storage import container
from lurcher.storage.segment import DEFINITION, FUNCTION_KINDS, KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import TableRows, row_layout
from tests.kernel import kernel

pytestmark = kernel.needed

LINE = st.text("abAB_ \t\v\x1c", max_size=12) | st.text("aBÄé\xa0 中İȺ", max_size=8)
WANTED = st.sets(st.text("ab_", min_size=1, max_size=3) | st.text("aäé中", min_size=1, max_size=2), max_size=70)


@given(st.lists(LINE, max_size=8).map("\n".join), WANTED)
@example("", {"a"})
@example("\n\n  ab\nab b", {"ab", "b"})
@example("A b\nä a", {"a"})
def test_the_best_line_is_the_same(text: str, wanted: set[str]) -> None:
    snapshot: Any = SimpleNamespace(unit_text=lambda unit: text, unit=lambda unit: (0, 7, 0, 0, 0, 0))
    native = hits.find_focus(snapshot, 0, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hits, "native", lambda: None)
        assert native == hits.find_focus(snapshot, 0, wanted)


def test_some_lines_are_left_to_python() -> None:
    best_line = kernel.module().best_line
    assert best_line("\xa0a", "\xa0a", {"a"}) == best_line("\ud800", "\ud800", {"a"}) == best_line("a", "\ud800", {"a"}) == -1
    assert best_line("  a\n b ab", "  a\n b ab", {"ä", "ab", "b"}) == 5
    with pytest.raises(ValueError, match="lines"):
        best_line("a", "a\n", {"a"})
    assert best_line("a\nb", "a\nb", ["\ud800", "b"]) == 2
    for terms in ({""}, [b"a"], [3]):
        with pytest.raises((ValueError, TypeError)):
            best_line("a", "a", terms)


DEFINED = st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20), st.integers(0, len(KINDS) - 1))


@given(st.lists(DEFINED, max_size=12), st.integers(0, 21), st.integers(0, 4), st.sampled_from([TYPE_KINDS, FUNCTION_KINDS]))
def test_the_innermost_definition_is_the_same(rows: list[Any], byte: int, skipped: int, kinds: frozenset[str]) -> None:
    table = np.zeros(len(rows), np.dtype(DEFINITION))
    for place, (unit, start, end, kind) in enumerate(rows):
        table[place]["unit"], table[place]["start"], table[place]["end"], table[place]["kind"] = unit, start, end, kind
    first = min(skipped, len(rows))
    numbers = SimpleNamespace(item=lambda: (0, 0, 0, 0, first, len(rows) - first))

    def snapshot(definitions: Any) -> Snapshot:
        found = Snapshot([], 1)
        found.segments = [SimpleNamespace(definitions=definitions, files=[numbers])]  # type: ignore[list-item]
        return found

    ours, theirs = snapshot(TableRows(memoryview(table.tobytes()), row_layout(tuple(DEFINITION)))), snapshot(table)
    assert ours.innermost(0, byte, kinds) == theirs.innermost(0, byte, kinds)


def test_rows_that_are_not_there_are_refused() -> None:
    innermost = kernel.module().innermost
    assert innermost(bytes(40), 10, 0, 4, 8, 0, 4, 0, b"\1") == -1
    for arguments in (
        (bytes(40), 10, 0, 4, 8, 0, 5, 0, b""), (bytes(40), 10, 7, 0, 8, 0, 1, 0, b""), (bytes(40), 10, 0, 7, 8, 0, 1, 0, b""),
        (bytes(40), 10, 0, 4, 10, 0, 1, 0, b""), (bytes(40), 10, 0, 4, 8, -1, 1, 0, b""), (bytes(40), 0, 0, 4, 8, 0, 1, 0, b""),
        (bytes(40), 10, 0, 4, 8, 1, 1 << 62, 0, b""), (bytes(40), 10, 0, 4, 8, 1 << 62, 1, 0, b""),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not there"):
            innermost(*arguments)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 1 << 30))
def test_the_nearest_units_are_the_same(counts: list[int], seed: int) -> None:
    number = np.array(counts, np.int64)
    cosines = np.random.default_rng(seed).choice([0.1, 0.3, -0.2, 0.7, 0.1 + 0.2], int(number.sum()))
    lane: Any = SimpleNamespace(units=lambda pool: (np.arange(len(cosines)) + 5, cosines))

    def found() -> tuple[bytes, list[int]]:
        context: Any = SimpleNamespace(snapshot=SimpleNamespace(unit_counts=number), nearest=None)
        means = _average_nearest_units(context, lane, np.arange(len(counts)))
        return np.array(means).tobytes(), np.array(context.nearest).tolist()

    native = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "native", lambda: None)
        assert native == found()


def test_runs_that_are_not_there_are_refused() -> None:
    nearest = kernel.module().nearest
    for counts, most in (([2], 3), ([4], 3), ([0, 3], 3), ([-1, 4], 3), ([3], 0), ([3], 9), ([1 << 62], 3)):
        with pytest.raises(ValueError):
            nearest(np.ones(3), np.array(counts), most)


@given(
    st.lists(st.tuples(st.integers(-1, 70), st.integers(1, 40)), min_size=1, max_size=8), st.integers(1, 64),
    st.none() | st.binary(min_size=7, max_size=7),
)  # fmt: skip
def test_the_same_blocks_are_verified(places: list[tuple[int, int]], length: int, known: bytes | None) -> None:
    starts = np.array([start for start, _ in places])
    ends = np.array([start + size for start, size in places])
    blocks = -(-length // 10)
    checked = None if known is None else bytearray(byte & 1 for byte in known[:blocks])

    def verified() -> set[int] | None:
        one = object.__new__(container.Container)
        one.name, one._buffer, found = "test", memoryview(bytes(length)), set()
        one._table = {"rows": container._SectionEntry("u1", 0, length, [0] * blocks)}
        one._checked = {} if checked is None else {"rows": bytearray(checked)}
        one._verify = lambda name, position, length, sums, start, end: found.update(  # type: ignore[method-assign]
            block for block in range(start // 10, (end - 1) // 10 + 1) if checked is None or not checked[block]
        )
        try:
            one.section_with_parts("rows", starts, ends)
        except container.CorruptIndex:
            return None
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "BLOCK_BYTES", 10)
        native = verified()
        patch.setattr(container, "native", lambda: None)
        assert native == verified()


def test_marks_that_do_not_fit_are_refused() -> None:
    unchecked = kernel.module().unchecked
    for ends, size, length, marks in (([5, 6], 10, 20, None), ([5], 0, 20, None), ([5], 10, 20, b"\0"), ([5], 10, -1, None)):
        with pytest.raises(ValueError):
            unchecked(np.array([0]), np.array(ends), size, length, marks)
    assert unchecked(np.array([5]), np.array([5]), 10, 20, None) is None
    far = np.array([1 << 62])
    assert unchecked(far, far + 5, 1 << 62, (1 << 63) - 1, None) == [1]
