"""Records are values: equal, hashed, shown, copied and pickled by what they hold."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil

import pytest

import lurcher
from lurcher.query import Query
from lurcher.ranking import defer_why
from lurcher.types import Answer, Filter, Hit, IndexState, Match, Record, Why


class Point(Record):
    __slots__ = ("x", "y", "tags")

    def __init__(self, x: int, y: int = 2, tags: tuple[str, ...] = ()) -> None:
        self.x, self.y, self.tags = x, y, tags


class Other(Record):
    __slots__ = ("x", "y", "tags")

    def __init__(self, x: int, y: int = 2, tags: tuple[str, ...] = ()) -> None:
        self.x, self.y, self.tags = x, y, tags


def hit() -> Hit:
    return Hit("1", "code", "a.py", 1, 2, "python", None, None, 0.5, 3, "text", Why(), matches=(Match(1, 2, 3, 4),))


def test_records_are_compared_by_class_and_content() -> None:
    assert Point(1) == Point(1, 2, ())
    assert Point(1) != Point(1, 3)
    assert Point(1) != Other(1)
    assert Point(1) != (1, 2, ())


def test_equal_records_have_one_hash() -> None:
    assert {Point(1), Point(1), Point(2)} == {Point(1), Point(2)}
    assert hash(Query("a", filter=Filter(globs=("*.py",)))) == hash(Query("a", filter=Filter(globs=("*.py",))))


def test_a_record_shows_how_it_was_made() -> None:
    assert repr(Point(1, tags=("a",))) == "Point(x=1, y=2, tags=('a',))"


def test_replace_changes_a_copy() -> None:
    before = Point(1)
    assert before.replace(y=5) == Point(1, 5)
    assert before == Point(1)
    with pytest.raises(TypeError, match="no_such"):
        before.replace(no_such=1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_are_equal(again: object) -> None:
    assert callable(again)
    for one in (Point(1, tags=("a",)), hit(), Query("words")):
        made = again(one)
        assert made == one and made is not one


def test_other_attributes_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 1  # type: ignore[attr-defined]


def test_defaults_that_can_change_are_not_shared() -> None:
    first, second = hit(), hit()
    first.links["notes"].append("one")
    assert second.links == {"commits": [], "notes": []}


def test_the_slots_of_every_record_are_the_arguments_in_their_order() -> None:
    for module in pkgutil.walk_packages(lurcher.__path__, "lurcher."):
        if not module.name.endswith(("__main__", "_kernel")):
            importlib.import_module(module.name)
    known = [cls for cls in Record.__subclasses__() if cls.__module__.startswith("lurcher.")]
    assert len(known) > 10
    for cls in known:
        parameters = inspect.signature(cls).parameters.values()
        if all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters):
            assert tuple(each.name for each in parameters) == cls.__slots__, cls


def answer_of(*hits: Hit) -> Answer:
    return Answer("x", "hybrid", "symbol", "default", ("code",), hits, len(hits), 1, None, IndexState(1, True, 0))


def hit_at(line: int) -> Hit:
    return Hit(f"h{line}", "code", "a.py", line, line + 2, "python", "A.b", "method", 0.5, 1, "text", Why())


def test_reasons_are_computed_once_and_when_they_are_read() -> None:
    made = []

    def compute() -> Why:
        made.append(1)
        return Why(fused=0.5, scores={"a": 1.0})

    later = defer_why(compute)
    assert made == []
    assert later == Why(fused=0.5, scores={"a": 1.0}) and Why(fused=0.5, scores={"a": 1.0}) == later
    assert repr(later) == repr(compute()) and later.to_dict() == compute().to_dict()
    assert pickle.loads(pickle.dumps(defer_why(compute))) == later
    assert later.compute is None, "what it was computed from is let go"
    assert not hasattr(later, "other") and not hasattr(Why(), "compute")
    assert len(made) == 4


def test_an_answer_reads_as_the_sequence_of_its_hits() -> None:
    one, two = hit_at(1), hit_at(5)
    answer = answer_of(one, two)
    assert list(answer) == [one, two] and len(answer) == 2 and answer[1] is two
    assert answer_of() and not len(answer_of())  # nothing found is an answer as well


def test_answers_and_hits_are_shown_in_short() -> None:
    assert repr(hit_at(1)) == "<Hit a.py:1-3 A.b 0.500>"
    assert repr(answer_of(hit_at(1))) == "<Answer to 'x': 1 of 1 hits>\n  <Hit a.py:1-3 A.b 0.500>"
    assert repr(answer_of()) == "<Answer to 'x': nothing found>"


def test_hits_can_be_members_of_a_set() -> None:
    assert {hit_at(1), hit_at(1), hit_at(5)} == {hit_at(1), hit_at(5)}
