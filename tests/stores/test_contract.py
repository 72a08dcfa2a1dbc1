"""What every store has to do, whatever it is made of: `lurcher.stores.base` word for word."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from uuid import UUID

import numpy as np
import pytest

from lurcher.errors import IndexLocked
from lurcher.stores.base import Head, Question, Sparse, Store, StoredFile, StoredUnit

DIMS = 8


def direction(*numbers: int) -> np.ndarray:
    """A vector of length one that points into some dimensions, the first the most."""
    vector = np.zeros(DIMS, np.float32)
    for place, number in enumerate(numbers):
        vector[number] = 1.0 / (1 + place)
    return vector / np.float32(np.linalg.norm(vector))


def sparse(**words: float) -> Sparse:
    """Words are single letters here."""
    numbers = sorted((ord(word), weight) for word, weight in words.items())
    return Sparse(np.array([n for n, _ in numbers], np.uint32), np.array([w for _, w in numbers], np.float32))


def key(number: int) -> str:
    return str(UUID(int=number, version=5))


def file(
    number: int, path: str, units: Iterable[tuple[np.ndarray | None, Sparse]], *, language: str = "python",
    names: tuple[str, ...] = (), card: np.ndarray | None = None, digest: str = "",
) -> StoredFile:  # fmt: skip
    made = tuple(
        StoredUnit(10 * i + 1, 10 * i + 10, f"f{i}", "function", f"{path} unit {i} ✓\n", f"{path}{i}", dense, words)
        for i, (dense, words) in enumerate(units)
    )
    record = f"record {number}\0".encode()
    return StoredFile(key(number), path, language, digest or f"digest {number}", names, card, made, record)


def head(generation: int, files: int = 0, **more: str) -> Head:
    return Head(generation, "print", "2026-01-01T00:00:00Z", "c0ffee", files, files, DIMS, more)


def put(store: Store, project: str, files: list[StoredFile], born: int) -> int:
    done: list[int] = []
    store.put(project, iter(files), born, done.append)
    return sum(done)


def found(store: Store, project: str, generation: int, **question: object) -> list[str]:
    asked = {"dense": None, "sparse": None, **question}
    return [item.path for item in store.candidates(project, generation, Question(**asked))]  # type: ignore[arg-type]


EVERYTHING = sparse(a=1.0, b=1.0, c=1.0, x=1.0)


@pytest.fixture
def filled(store: Store) -> Store:
    """A project of three files at generation 1."""
    files = [
        file(1, "src/a.py", [(direction(0), sparse(a=2.0, x=0.1)), (direction(1), sparse(a=0.5))], card=direction(0)),
        file(2, "src/deep/b.go", [(direction(2), sparse(b=1.0, x=0.1))], language="go", card=direction(2), names=("pool",)),
        file(3, "c.py", [(None, sparse(c=1.0, x=0.1))], names=("client", "/c")),
    ]
    assert put(store, "one", files, 1) == 3
    store.put_pages("one", {"w.61": b"first\0page", "w.62": b"second"}, 1)
    store.publish("one", head(1, 3, root="shop"))
    return store


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert store.projects() == []
    assert store.head("one") is None
    assert list(store.listing("one")) == []
    assert store.pages("one", 1, ["w.61"]) == {}
    assert store.records("one", [key(1)]) == {}
    assert store.texts("one", [(key(1), 0)]) == {}
    assert not store.drop("one")
    assert found(store, "one", 1, sparse=EVERYTHING, dense=direction(0), names=("a",)) == []


def test_what_was_put_comes_back(filled: Store) -> None:
    assert filled.projects() == ["one"]
    assert filled.head("one") == head(1, 3, root="shop")
    listed = {item.key: (item.path, item.digest, item.born, item.died) for item in filled.listing("one")}
    assert listed == {
        key(1): ("src/a.py", "digest 1", 1, None),
        key(2): ("src/deep/b.go", "digest 2", 1, None),
        key(3): ("c.py", "digest 3", 1, None),
    }
    assert filled.records("one", [key(1), key(3), key(9)]) == {key(1): b"record 1\0", key(3): b"record 3\0"}
    assert filled.texts("one", [(key(1), 1), (key(2), 0)]) == {
        (key(1), 1): "src/a.py unit 1 ✓\n", (key(2), 0): "src/deep/b.go unit 0 ✓\n"
    }  # fmt: skip
    assert filled.pages("one", 1, ["w.61", "w.63"]) == {"w.61": b"first\0page"}
    assert all(isinstance(value, str) for value in filled.state().values())


def test_each_leg_finds_what_it_is_for(filled: Store) -> None:
    assert found(filled, "one", 1, sparse=sparse(b=1.0)) == ["src/deep/b.go"]
    assert found(filled, "one", 1, sparse=sparse(a=1.0, c=5.0)) == ["c.py", "src/a.py"]
    assert found(filled, "one", 1, dense=direction(2), depth=1) == ["src/deep/b.go"]
    assert found(filled, "one", 1, names=("client", "nobody")) == ["c.py"]
    assert found(filled, "one", 1, names=("/c",)) == ["c.py"]
    assert found(filled, "one", 1) == []


def test_candidates_say_which_legs_found_them(filled: Store) -> None:
    question = Question(direction(0), sparse(a=1.0, c=0.1), ("client",))
    legs = {item.path: dict(item.legs) for item in filled.candidates("one", 1, question)}
    assert legs["src/a.py"] == {"dense": 1, "card": 1, "sparse": 1}
    assert legs["c.py"]["names"] == 1 and legs["c.py"]["sparse"] == 3
    scores = [item.score for item in filled.candidates("one", 1, question)]
    assert scores == sorted(scores, reverse=True) and min(scores) > 0


def test_a_limit_is_respected_and_no_file_occurs_twice(filled: Store) -> None:
    assert len(found(filled, "one", 1, sparse=EVERYTHING, limit=2)) == 2
    paths = found(filled, "one", 1, sparse=EVERYTHING, dense=direction(0))
    assert sorted(paths) == ["c.py", "src/a.py", "src/deep/b.go"]


@pytest.mark.parametrize("rrf", [None, 60.0, 1.0])
def test_fusion_takes_any_constant(filled: Store, rrf: float | None) -> None:
    assert found(filled, "one", 1, sparse=sparse(a=1.0), dense=direction(0), rrf=rrf)[0] == "src/a.py"


def test_filters_apply_to_every_leg(filled: Store) -> None:
    asked = {"sparse": EVERYTHING, "dense": direction(0), "names": ("client", "pool")}
    assert found(filled, "one", 1, **asked, languages=("go",)) == ["src/deep/b.go"]
    assert sorted(found(filled, "one", 1, **asked, folders=("src",))) == ["src/a.py", "src/deep/b.go"]
    assert found(filled, "one", 1, **asked, folders=("src/deep",)) == ["src/deep/b.go"]
    assert sorted(found(filled, "one", 1, **asked, folders=("src/deep", "src"), languages=("python",))) == ["src/a.py"]
    assert found(filled, "one", 1, **asked, folders=("sr",)) == []
    assert found(filled, "one", 1, **asked, folders=("src/dee_",)) == []
    assert found(filled, "one", 1, **asked, folders=("%",)) == []


def test_a_generation_becomes_visible_with_its_head(filled: Store) -> None:
    put(filled, "one", [file(4, "src/a.py", [(direction(3), sparse(a=3.0))], names=("new",))], 2)
    filled.put_pages("one", {"w.61": b"changed"}, 2)
    filled.retire("one", [key(1)], 2)
    asked = {"sparse": sparse(a=1.0), "dense": direction(3), "names": ("new",)}
    before = filled.candidates("one", 1, Question(**asked))  # type: ignore[arg-type]
    assert key(1) in [item.key for item in before] and key(4) not in [item.key for item in before]
    assert filled.pages("one", 1, ["w.61", "w.62"]) == {"w.61": b"first\0page", "w.62": b"second"}
    assert filled.pages("one", 2, ["w.61", "w.62"]) == {"w.61": b"changed", "w.62": b"second"}
    assert filled.head("one") == head(1, 3, root="shop")
    filled.publish("one", head(2, 3))
    after = [item.key for item in filled.candidates("one", 2, Question(**asked))]  # type: ignore[arg-type]
    assert key(4) in after and key(1) not in after
    assert filled.head("one") == head(2, 3)


def test_a_page_can_be_put_again_and_be_empty(filled: Store) -> None:
    filled.put_pages("one", {"w.61": b"once"}, 2)
    filled.put_pages("one", {"w.61": b"twice", "w.62": b""}, 2)
    assert filled.pages("one", 2, ["w.61", "w.62"]) == {"w.61": b"twice", "w.62": b""}


def test_a_file_can_be_put_again(filled: Store) -> None:
    again = file(5, "d.py", [(direction(4), sparse(x=1.0))])
    assert put(filled, "one", [again], 2) == 1
    assert put(filled, "one", [again], 2) == 1
    assert [item.key for item in filled.listing("one")].count(key(5)) == 1


def test_only_the_successor_is_published(filled: Store) -> None:
    for generation in (1, 3):
        with pytest.raises(IndexLocked):
            filled.publish("one", head(generation))
    assert filled.head("one") == head(1, 3, root="shop")
    with pytest.raises(IndexLocked):
        filled.publish("new", head(2))


def test_sweeping_removes_what_nobody_sees(filled: Store) -> None:
    put(filled, "one", [file(4, "src/a.py", [(direction(3), sparse(a=3.0))])], 2)
    put(filled, "one", [file(6, "later.py", [(direction(3), sparse(a=3.0))])], 3)
    filled.put_pages("one", {"w.61": b"changed"}, 2)
    filled.put_pages("one", {"w.61": b"never published"}, 3)
    filled.retire("one", [key(1)], 2)
    filled.publish("one", head(2, 3))
    assert filled.sweep("one", 2) >= 2
    assert sorted(item.key for item in filled.listing("one")) == sorted([key(2), key(3), key(4)])
    assert filled.records("one", [key(1), key(6)]) == {}
    assert filled.texts("one", [(key(1), 0), (key(6), 0)]) == {}
    assert filled.pages("one", 3, ["w.61", "w.62"]) == {"w.61": b"changed", "w.62": b"second"}
    assert filled.sweep("one", 2) == 0


def test_retiring_again_does_not_bring_a_file_back(filled: Store) -> None:
    """A writer that died before it swept leaves retired files; the next one may retire them again."""
    filled.retire("one", [key(1)], 2)
    filled.publish("one", head(2, 2))
    filled.retire("one", [key(1), key(2)], 3)
    assert {item.key: item.died for item in filled.listing("one")} == {key(1): 2, key(2): 3, key(3): None}
    assert sorted(found(filled, "one", 2, sparse=EVERYTHING)) == ["c.py", "src/deep/b.go"]


def test_what_was_left_or_had_died_is_taken_over(filled: Store) -> None:
    put(filled, "one", [file(4, "left.py", [(direction(3), sparse(a=3.0))])], 5)
    filled.retire("one", [key(1), key(2)], 2)
    filled.adopt("one", [key(4), key(2)], 2)
    filled.adopt("one", [key(1)], 1)
    states = {item.key: (item.born, item.died) for item in filled.listing("one")}
    assert states == {key(1): (1, None), key(2): (2, None), key(3): (1, None), key(4): (2, None)}
    paths = found(filled, "one", 2, sparse=EVERYTHING, dense=direction(3))
    assert sorted(paths) == ["c.py", "left.py", "src/a.py", "src/deep/b.go"]
    assert "left.py" not in found(filled, "one", 1, sparse=EVERYTHING, dense=direction(3))


HOSTILE = ["one ", "ONE", "one%", "o_e", "one/x", "one' OR '1'='1", "*", "öne", "lib:one"]


@pytest.mark.parametrize("other", HOSTILE)
def test_projects_do_not_see_each_other(filled: Store, other: str) -> None:
    """The same paths and the same words under a name that a careless store might take for the first one's."""
    assert found(filled, other, 9, sparse=EVERYTHING, dense=direction(0), names=("client",)) == []
    assert filled.records(other, [key(1)]) == {} and filled.texts(other, [(key(1), 0)]) == {}
    put(filled, other, [file(11, "src/a.py", [(direction(0), sparse(a=9.0))], names=("client",))], 1)
    filled.put_pages(other, {"w.61": b"other"}, 1)
    filled.publish(other, head(1, 1))
    question = Question(direction(0), EVERYTHING, ("client", "pool"))
    assert [item.key for item in filled.candidates(other, 1, question)] == [key(11)]
    assert key(11) not in [item.key for item in filled.candidates("one", 1, question)]
    assert [item.key for item in filled.listing(other)] == [key(11)]
    assert filled.pages("one", 1, ["w.61"]) == {"w.61": b"first\0page"}
    filled.retire(other, [key(1), key(2), key(3)], 1)
    filled.adopt(other, [key(1), key(2), key(3)], 7)
    assert filled.sweep("one", 1) == 0
    assert filled.projects() == sorted(["one", other])
    assert filled.drop(other)
    assert filled.projects() == ["one"]
    assert len(list(filled.listing("one"))) == 3
    assert len(found(filled, "one", 1, sparse=EVERYTHING, dense=direction(0))) == 3


def test_a_dropped_project_is_gone(filled: Store) -> None:
    assert filled.drop("one")
    assert filled.head("one") is None and list(filled.listing("one")) == []
    assert filled.pages("one", 1, ["w.61"]) == {}
    assert not filled.drop("one")
    put(filled, "one", [file(1, "a.py", [(direction(0), sparse(a=1.0))])], 1)
    filled.publish("one", head(1, 1))
    assert found(filled, "one", 1, sparse=EVERYTHING) == ["a.py"]


def test_one_writer_at_a_time(store: Store) -> None:
    entered, leave = threading.Event(), threading.Event()

    def write() -> None:
        with store.writing("one", 5):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert entered.wait(120)
        with pytest.raises(IndexLocked), store.writing("one", 0.1):
            pass
        with store.writing("two", 5):
            pass
    finally:
        leave.set()
        thread.join(120)
    with store.writing("one", 5):
        pass


def test_a_writer_that_fails_lets_the_next_one_in(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.writing("one", 1):
        raise ZeroDivisionError
    with store.writing("one", 1):
        pass


def test_many_files_go_in_and_come_out(store: Store) -> None:
    """More than a batch, units without a vector among them, and one file without units."""
    files = [
        file(100 + i, f"src/f{i}.py", [(direction(i % DIMS), sparse(a=1.0 + i / 1000)), (None, sparse(b=1.0))])
        for i in range(700)
    ]
    files.append(file(99, "empty.py", []))
    assert put(store, "many", files, 1) == 701
    store.publish("many", head(1, 701))
    assert len(list(store.listing("many"))) == 701
    keys = [item.key for item in files]
    assert len(store.records("many", keys)) == 701
    assert len(store.texts("many", [(item, 1) for item in keys[:-1]])) == 700
    asked = found(store, "many", 1, sparse=sparse(a=1.0), depth=300, limit=250)
    assert asked[0] == "src/f699.py" and len(asked) == 250


def test_questions_from_several_threads(filled: Store) -> None:
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(5):
                assert len(found(filled, "one", 1, sparse=EVERYTHING, dense=direction(0))) == 3
                assert len(filled.records("one", [key(1), key(2)])) == 2
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not problems
