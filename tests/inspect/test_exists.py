"""Whether a text occurs: no is certain, yes can be made so."""

from __future__ import annotations

import numpy as np
import pytest

from lurcher.errors import QueryError
from lurcher.inspect import Basis
from lurcher.inspect.exists import ExistsAnswer, exists
from lurcher.storage.segment import Segment
from lurcher.storage.snapshot import Snapshot
from lurcher.types import IndexState
from tests.inspect.trees import FILES
from tests.small import snapshot_of

SNAPSHOT = snapshot_of(FILES)


def asked(pattern: str, exact: bool = False, snapshot: Snapshot = SNAPSHOT) -> ExistsAnswer:
    return exists(snapshot, pattern, exact, Basis(IndexState(1, True, 0)))


def test_a_name_is_probably_there_and_another_is_certainly_not() -> None:
    yes, no = asked("checkout"), asked("check_out")
    assert (yes.exists, yes.certain, yes.path) == (True, False, None)
    assert (no.exists, no.certain) == (False, True)


def test_exact_says_where() -> None:
    answer = asked("checkout", exact=True)
    assert (answer.exists, answer.certain, answer.path, answer.line) == (True, True, "shop/cart.py", 4)
    answer = asked("times=3):", exact=True)
    assert (answer.exists, answer.path, answer.line) == (True, "shop/client.py", 8)


def test_exact_undoes_a_false_yes() -> None:
    """Both words occur, with the same signs around them, but never one after the other."""
    pattern = "return checkout"
    assert asked(pattern).exists
    answer = asked(pattern, exact=True)
    assert (answer.exists, answer.certain, answer.path) == (False, True, None)


def test_parts_of_words_do_not_count_either_way() -> None:
    assert not asked("check").exists
    assert not asked("check", exact=True).exists
    assert asked("->", exact=True).exists is False


def test_what_only_a_dead_file_has_is_a_false_yes_that_exact_undoes() -> None:
    (segment,) = SNAPSHOT.segments
    live = np.ones(len(FILES), bool)
    live[sorted(FILES).index("shop/wire.py")] = False
    snapshot = Snapshot([Segment(segment.container, live)], 2)
    assert asked("_private", snapshot=snapshot).exists
    assert not asked("_private", exact=True, snapshot=snapshot).exists


def test_several_segments_are_one() -> None:
    (segment,) = SNAPSHOT.segments
    other = snapshot_of({"z.py": "def only_here():\n    pass\n"}).segments[0]
    order = [(0, i) for i in range(len(FILES))] + [(1, 0)]
    snapshot = Snapshot([segment, other], 2, order)
    assert asked("only_here", snapshot=snapshot).exists and asked("checkout", snapshot=snapshot).exists
    assert asked("only_here", exact=True, snapshot=snapshot).path == "z.py"


@pytest.mark.parametrize("pattern", ["", " \n", "x" * 1001])
def test_patterns_that_are_none(pattern: str) -> None:
    with pytest.raises(QueryError):
        asked(pattern)


def test_an_empty_tree_has_nothing() -> None:
    assert not asked("x", snapshot=snapshot_of({})).exists
    assert not asked("x", snapshot=Snapshot([], 1)).exists
