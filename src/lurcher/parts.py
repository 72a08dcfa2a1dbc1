"""What is loaded when it is first asked for: parts of a class, and models that are kept for the next question."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from abc import ABCMeta

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Kind = TypeVar("Kind")


class Later(ABCMeta):
    """A class that gets what its `LATER` parts have, each named as (module, class), once it lacks something.

    A part has what it would have as a parent that stands behind the others: what is there already stays.
    """

    def __getattr__(cls, name: str) -> Any:
        if not name.startswith("__"):
            complete(cls)  # or another thread has done so since the name was looked for
        return super().__getattribute__(name)


class Completed(metaclass=Later):
    """What such a class has as its parent."""

    LATER: tuple[tuple[str, str], ...] = ()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            complete(type(self))  # or another thread has done so since the name was looked for
        return super().__getattribute__(name)


def complete(cls: Any) -> None:
    """Put in what is still to come."""
    parts: tuple[tuple[str, str], ...] = cls.LATER
    if not parts:
        return
    found: dict[str, Any] = {}
    for module, name in parts:
        __import__(module)
        for parent in getattr(sys.modules[module], name).__mro__[:-1]:
            for key, value in vars(parent).items():
                if not key.startswith(("__", "_abc_")) and not getattr(value, "__isabstractmethod__", False):
                    found.setdefault(key, value)
    owner = next(parent for parent in cls.__mro__ if "LATER" in vars(parent))
    known = {key for parent in cls.__mro__ for key in vars(parent)}
    for key, value in found.items():
        if key not in known:
            setattr(owner, key, value)
    owner.LATER = ()


class Warm:
    """What took long to load, kept for the next question; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._kept: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], Kind]) -> Kind:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            found: Kind = self._kept[key]
            return found
