"""Light dataclasses and patterns behave as the standard ones."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import subprocess
import sys
import threading
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pytest

from lurcher.config import Settings
from lurcher.runtime import light
from lurcher.types import Filter, Query

T = TypeVar("T")


def declared(module: Any) -> dict[str, Any]:
    """The same classes, declared with one or the other."""

    @module.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        name: str = module.field(default="p", repr=False)
        tags: list[str] = module.field(default_factory=list, compare=False)
        shared: ClassVar[int] = 7

        def total(self) -> int:
            return self.x + self.y

    @module.dataclass(slots=True)
    class Box(Generic[T]):
        content: T
        seen: int = 0

        def __post_init__(self) -> None:
            self.seen += 1

    @module.dataclass(frozen=True, slots=True, eq=False)
    class Same:
        one: int

    @module.dataclass
    class Open:
        one: int = 1

        def __repr__(self) -> str:
            return "mine"

    @module.dataclass(frozen=True)
    class Empty:
        pass

    return {"Point": Point, "Box": Box, "Same": Same, "Open": Open, "Empty": Empty}


@pytest.fixture(params=[light, dataclasses], ids=["light", "standard"])
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    return declared(request.param)


def test_values_defaults_and_methods(made: dict[str, Any]) -> None:
    for _ in range(3):  # the first instance is made in another way than those after it
        point = made["Point"](1, tags=["a"])
        assert (point.x, point.y, point.name, point.tags, point.total(), point.shared) == (1, 2, "p", ["a"], 3, 7)
        assert made["Point"](y=5, x=4).y == 5
        assert made["Point"](1).tags is not made["Point"](1).tags
        with pytest.raises((AttributeError, TypeError)):  # the standard one stumbles over its own slots
            point.other = 1
        assert made["Box"]("x").seen == 1
        assert made["Open"]().one == 1
        made["Empty"]()


@pytest.mark.parametrize("wrong", [{}, {"x": 1, "z": 2}, {"y": 1}], ids=str)
def test_wrong_arguments_are_type_errors(made: dict[str, Any], wrong: dict[str, int]) -> None:
    for _ in range(3):
        with pytest.raises(TypeError):
            made["Point"](**wrong)
        with pytest.raises(TypeError):
            made["Point"](1, 2, "n", [], 5)
        with pytest.raises(TypeError):
            made["Point"](1, x=1)


def test_repr_equality_and_hash(made: dict[str, Any]) -> None:
    point, same, other = made["Point"](1, tags=["a"]), made["Point"](1, tags=["b"]), made["Point"](2)
    assert repr(point).endswith("Point(x=1, y=2, tags=['a'])")
    assert point == same != other
    assert hash(point) == hash(same)
    assert point != (1, 2, "p")
    assert repr(made["Open"]()) == "mine"
    assert made["Same"](1) != made["Same"](1)
    assert {made["Same"](1)}
    assert made["Open"]() == made["Open"](1)
    assert made["Empty"]() == made["Empty"]()
    with pytest.raises(TypeError):
        hash(made["Open"]())
    with pytest.raises(TypeError):
        hash(made["Box"](1))


def test_frozen_ones_do_not_change(made: dict[str, Any]) -> None:
    point = made["Point"](1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    box = made["Box"](1)
    box.content = 2
    assert box.content == 2


def test_the_standard_library_takes_them_for_its_own(made: dict[str, Any]) -> None:
    point = made["Point"](1, tags=["a"])
    assert dataclasses.is_dataclass(point)
    assert [field.name for field in dataclasses.fields(point)] == ["x", "y", "name", "tags"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "name": "p", "tags": ["a"]} == light.asdict(point)
    assert dataclasses.replace(point, y=9) == made["Point"](1, 9) == light.replace(point, y=9)
    assert copy.deepcopy(point) == point == copy.copy(point)
    assert dataclasses.fields(made["Empty"]) == ()
    match point:
        case object(x=x):
            assert x == 1
    assert made["Point"].__match_args__ == ("x", "y", "name", "tags")


def test_those_of_the_package_can_be_pickled_and_taken_apart() -> None:
    query = Query("text", filter=Filter(languages=("python",)))
    assert pickle.loads(pickle.dumps(query)) == query
    assert light.asdict(query) == dataclasses.asdict(query)
    search = Settings().search
    assert light.asdict(search) == dataclasses.asdict(search)
    assert [item.name for item in light.fields(search)] == [item.name for item in dataclasses.fields(search)]


def test_what_they_cannot_do_is_refused() -> None:
    parent = declared(light)["Point"]
    with pytest.raises(TypeError, match="parent"):

        @light.dataclass
        class Child(parent):  # type: ignore[misc, valid-type]
            z: int

    with pytest.raises(TypeError, match="without a default"):

        @light.dataclass
        class Wrong:
            one: int = 1
            two: int  # type: ignore[misc]

    with pytest.raises(ValueError, match="can change"):

        @light.dataclass
        class Shared:
            one: list[int] = []  # type: ignore[misc]  # noqa: RUF012


def test_first_instances_may_be_made_at_once() -> None:
    point = declared(light)["Point"]
    made: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: made.append(point(n, y=n))) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted((one.x, one.y) for one in made) == [(n, n) for n in range(16)]


def test_a_pattern_is_a_pattern_once_it_is_used() -> None:
    lazy, real = light.pattern(r"(\d+)-x", re.I), re.compile(r"(\d+)-x", re.I)
    for _ in range(2):
        assert lazy.findall("1-X 22-x") == real.findall("1-X 22-x")
        assert lazy.sub("_", "1-X!") == "_!"
        assert lazy.groups == 1
    assert light.pattern(rb"\w").match(b"a")
    with pytest.raises(AttributeError):
        _ = lazy.nothing  # type: ignore[attr-defined]


def test_declaring_them_imports_nothing_slow() -> None:
    code = "import sys, lurcher.types, lurcher.config; print(*sorted({'dataclasses', 'inspect', 'numpy'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


class Named(light.NamedTuple):
    """Two items."""

    x: int
    y: int = 2

    def total(self) -> int:
        return self.x + self.y


class Standard(NamedTuple):
    x: int
    y: int = 2


def test_tuples_with_names_are_as_the_standard_ones() -> None:
    one, other = Named(1), Standard(1)
    assert one == other == (1, 2) == Named(y=2, x=1) == Named._make([1, 2])
    assert (one.x, one[1], one.total(), len(one), hash(one)) == (1, 2, 3, 2, hash(other))
    assert Named._fields == Standard._fields == Named.__match_args__
    assert Named._field_defaults == Standard._field_defaults
    assert one._asdict() == other._asdict()
    assert one._replace(x=5) == (5, 2)
    assert repr(one) == "Named(x=1, y=2)"
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert type(pickle.loads(pickle.dumps(one))) is Named
    assert Named.__doc__ == "Two items."
    with pytest.raises(AttributeError):
        one.x = 3  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})], ids=str)
def test_tuples_with_other_items_are_type_errors(wrong: tuple[tuple[int, ...], dict[str, int]]) -> None:
    for kind in (Named, Standard):
        with pytest.raises(TypeError):
            kind(*wrong[0], **wrong[1])
    with pytest.raises(TypeError):
        Named._make([1])
    with pytest.raises(ValueError, match="no z"):
        Named(1)._replace(z=2)


def test_a_value_is_worked_out_once() -> None:
    class Counted:
        calls = 0

        @light.cached_property
        def value(self) -> list[int]:
            self.calls += 1
            return []

    one = Counted()
    assert one.value is one.value
    assert one.calls == 1
    one.__dict__["value"] = [1]
    assert one.value == [1]
    assert isinstance(Counted.value, light.cached_property)


def test_errors_are_passed_over() -> None:
    with light.suppress(KeyError, OSError):
        raise FileNotFoundError
    with pytest.raises(ValueError, match="kept"), light.suppress(KeyError):
        raise ValueError("kept")


def test_results_are_kept_as_functools_does() -> None:
    calls: list[int] = []

    @light.lru_cache(maxsize=2)
    def double(x: int) -> int:
        """Twice."""
        calls.append(x)
        return 2 * x

    assert [double(1), double(1), double(2), double(3), double(1)] == [2, 2, 4, 6, 2]
    assert calls == [1, 2, 3, 1]
    double.cache_clear()
    assert (double.__name__, double.__doc__, double(1), calls[-1]) == ("double", "Twice.", 2, 1)


def test_two_threads_may_compare_the_first_objects_of_a_class() -> None:
    @light.dataclass(frozen=True)
    class Pair:
        left: int
        right: int

    asked = Pair.__dict__["__light_values__"]
    one = Pair(1, 2)
    assert asked.__get__(one, Pair)(one) == (1, 2)
    assert asked.__get__(one, Pair)(one) == (1, 2)  # by a thread that found it before it was replaced


def test_a_value_that_is_worked_out_twice_is_the_same_for_all() -> None:
    class Kept:
        @light.cached_property
        def room(self) -> dict[str, int]:
            if "room" not in self.__dict__ and not found:
                found.append({})
                found.append(self.room)  # as another thread would, meanwhile
            return {}

    found: list[dict[str, int]] = []
    one = Kept()
    assert one.room is found[1] and one.room is one.room
