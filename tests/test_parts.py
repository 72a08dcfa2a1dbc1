"""A class gets its later parts when something of them is first asked for, and then has all of them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from abc import ABC, abstractmethod

import pytest

from lurcher.engine import Engine
from lurcher.parts import Completed, Warm
from lurcher.runtime.light import cached_property


class Own(ABC):  # noqa: B024
    def first(self) -> str:
        return "own"


class Further(ABC):
    kept = 7

    @abstractmethod
    def first(self) -> str: ...

    def second(self) -> str:
        return f"further {self.first()}"

    @cached_property
    def third(self) -> list[int]:
        return [3]


def made() -> type[Own]:
    class Whole(Own, Completed):
        LATER = ((__name__, "Further"),)

    return Whole


def test_parts_come_by_instance_and_by_class() -> None:
    one = made()()
    assert one.second() == "further own"  # type: ignore[attr-defined]
    assert one.first() == "own"
    assert one.third is one.third  # type: ignore[attr-defined]
    assert made().kept == 7  # type: ignore[attr-defined]


def test_what_no_part_has_is_an_attribute_error() -> None:
    whole = made()
    for _ in range(2):
        with pytest.raises(AttributeError, match="'Whole' object has no attribute 'fourth'"):
            _ = whole().fourth  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match="type object 'Whole' has no attribute 'fourth'"):
            _ = whole.fourth  # type: ignore[attr-defined]
    assert not hasattr(whole(), "__nothing__")


@pytest.mark.parametrize("name", ["history", "notes", "impact", "index_library", "_of_source", "_across", "brief"])
def test_an_engine_has_every_part(name: str) -> None:
    assert callable(getattr(Engine, name))
    assert "self" in inspect.signature(getattr(Engine, name)).parameters


def test_a_search_does_not_load_them() -> None:
    script = "import sys, lurcher.engine; print('lurcher.history' in sys.modules, callable(lurcher.engine.Engine.history))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_what_took_long_to_load_is_kept() -> None:
    warm = Warm()
    assert warm.get("a", list) is warm.get("a", list)


def test_a_thread_that_looked_before_the_parts_came_finds_them() -> None:
    whole = made()
    one = whole()
    assert one.second() == "further own"  # type: ignore[attr-defined]
    # Another thread did not find the name, and asks for the parts only now that they are all there.
    assert Completed.__getattr__(one, "kept") == 7  # type: ignore[arg-type]
    assert type(whole).__getattr__(whole, "kept") == 7  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="nothing"):
        Completed.__getattr__(one, "nothing")  # type: ignore[arg-type]
