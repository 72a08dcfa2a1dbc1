"""Evidence is the same from the kernel as from numpy, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.lanes.dense import DenseCosines
from lurcher.query import Group
from lurcher.ranking import evidence
from lurcher.ranking.evidence import score_dense, score_types
from tests.kernel import kernel

pytestmark = kernel.needed

FILES, DEFINITIONS = 7, 9
WORDS = ("parse", "parser", "open")


def both(module: Any, found: Callable[[], Any]) -> None:
    """What one module gives with the kernel is what it gives without."""
    native = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "native", lambda: None)
        plain = found()
    if native is None or plain is None:
        assert native is plain
        return
    for ours, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (native, plain)), strict=True):
        assert np.array(ours).tobytes() == np.array(theirs).tobytes()


@st.composite
def postings(draw: st.DrawFn) -> dict[tuple[str, str], tuple[Any, Any]]:
    found = {}
    for family, total in (("name", FILES), ("stem", FILES), ("folder", FILES), ("types", DEFINITIONS)):
        for term in (*WORDS, "pars"):
            owners = sorted(draw(st.sets(st.integers(0, total - 1), max_size=4)))
            counts = draw(st.lists(st.integers(0, 3), min_size=len(owners), max_size=len(owners)))
            found[family, term] = np.array(owners, np.int64), np.array(counts, np.uint8)
    return found


def rows_of(sizes: list[int]) -> list[tuple[Any, ...]]:
    """The definitions as three segments have them, the second of which begins with the fifth file."""
    table = np.zeros(DEFINITIONS, np.dtype([("pad", "u1"), ("file", "<u4"), ("parts", "<u2")]))
    table["parts"], table["file"] = sizes, np.arange(DEFINITIONS) % FILES
    table["file"][5:7] -= 5
    return [(table[first:last].tobytes(), 7, 1, 5, files) for first, last, files in ((0, 5, 0), (5, 7, 5), (7, DEFINITIONS, 0))]


def asked(found: dict[tuple[str, str], tuple[Any, Any]], sizes: list[int], idf: dict[str, float]) -> Any:
    nothing = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    columns = {"name": np.array(sizes[:FILES], np.uint16)}

    def snapshot() -> Any:
        kept: dict[Any, Any] = {}
        return SimpleNamespace(
            file_total=FILES, postings=lambda family, term: found.get((family, term), nothing), knows=lambda term: True,
            terms_with_prefix=lambda prefix, family: ["parser"] if prefix == "parse" else [],
            file_column=columns.__getitem__, definition_file=np.arange(DEFINITIONS) % FILES,
            definition_parts=np.array(sizes, np.uint16), definition_rows=lambda: rows_of(sizes),
            segments=[SimpleNamespace(definitions=range(DEFINITIONS))],
            explained=SimpleNamespace(get=kept.get, put=lambda key, value, rows: kept.update({key: value})),
        )  # fmt: skip

    groups = (Group("parse", 1.0, ("parser",)), Group("open", 1.0, ()))
    return SimpleNamespace(
        snapshot=snapshot(), plan=SimpleNamespace(groups=groups, text="parse open", report=None), own_words=frozenset(),
        lexical=SimpleNamespace(idf=idf),
    )  # fmt: skip


SIZES = st.lists(st.integers(0, 3), min_size=DEFINITIONS, max_size=DEFINITIONS)
RARITIES = st.sampled_from([{}, {"parse": 2.3}, {"parse": 0.7, "open": 3.1}])


@given(postings(), SIZES, RARITIES)
def test_types_are_covered_alike(found: dict[Any, Any], sizes: list[int], idf: dict[str, float]) -> None:
    both(evidence, lambda: score_types(asked(found, sizes, idf)))


REALS = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.7, 1.0, 0.1 + 0.2]), min_size=FILES, max_size=FILES)
MARKS = st.lists(st.booleans(), min_size=FILES, max_size=FILES)


@given(
    REALS, REALS, MARKS, st.lists(st.integers(0, 3), min_size=FILES, max_size=FILES), st.booleans(), st.sampled_from([1, 3, 60])
)
def test_files_near_the_question_gain_alike(
    cards: list[float], others: list[float], allowed: list[bool], counts: list[int], known: bool, most: int
) -> None:
    number = np.array(counts, np.int64)
    cosines = np.linspace(-0.2, 0.9, int(number.sum()))
    first = np.cumsum(number) - number
    snapshot: Any = SimpleNamespace(
        file_column={"units": number.astype(np.uint32)}.__getitem__, unit_counts=number, path_rank=np.arange(FILES)[::-1].copy()
    )

    class Lane(DenseCosines):
        def __bool__(self) -> bool:
            return True

        def cards(self) -> Any:
            return np.array(cards)

        def units(self, files: Any) -> Any:
            units = np.concatenate([np.arange(first[file], first[file] + number[file]) for file in np.array(files)])
            return units, cosines[units]

    settings = SimpleNamespace(default=SimpleNamespace(dense_alone=0.3))

    def score() -> Any:
        lane = object.__new__(Lane)
        lane.known = known
        context: Any = SimpleNamespace(snapshot=snapshot, allowed=np.array(allowed), settings=settings, lanes={"dense": lane})
        return score_dense(context, np.array(others), 0.3, 0.45)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "DENSE_FILES", most)
        both(evidence, score)


def test_owners_that_are_not_there_are_refused() -> None:
    module, ones = kernel.module(), np.ones(1, np.uint8)
    desk = np.zeros(9)
    for owner in (-1, 2, 1 << 62):
        owners = np.array([owner])
        with pytest.raises(ValueError, match="not there"):
            module.covered([(owners, ones, 1.0, 1.0)], [(bytes(12), 6, 0, 4, 0)], 1.0, 2, desk)
    assert not desk.any()
    owners = np.zeros(1, np.int64)
    for refused in (
        lambda: module.covered([(owners, None, 1.0, 1.0)], [(bytes(6), 6, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([(owners, np.ones(2, np.uint8), 1.0, 1.0)], [(bytes(6), 6, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([[owners, ones, 1.0, 1.0]], [(bytes(6), 6, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered((), [(bytes(6), 6, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([(owners, ones, 1.0, 1.0)], [(bytes(6), 6, 0, 4, 2)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(54), 6, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 6, 0, 4, 0)], 0.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 6, 3, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 6, 0, 5, 0)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 6, -1, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 6, 0, 4, -1)], 1.0, 2, desk),
        lambda: module.covered([(owners, ones, 1.0, 1.0)], [(b"\xff" * 6, 6, 0, 4, (1 << 63) - 1)], 1.0, 2, desk),
        lambda: module.covered([], [(bytes(6), 0, 0, 4, 0)], 1.0, 2, desk),
        lambda: module.covered([], [[bytes(6), 6, 0, 4, 0]], 1.0, 2, desk),
        lambda: module.covered([], (), 1.0, 2, desk),
    ):
        with pytest.raises((ValueError, TypeError)):
            refused()


def test_a_table_that_is_refused_is_let_go() -> None:
    for width in (0, 3, -1):
        rows = bytearray(6)
        with pytest.raises(ValueError, match="not so wide"):
            kernel.module().covered([], [(rows, width, 0, 4, 0)], 1.0, 2, np.zeros(16))
        rows.clear()  # which cannot be done while somebody reads them
