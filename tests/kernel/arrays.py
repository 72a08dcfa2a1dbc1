"""Arrays for tests: numpy's, drawn over every kind, and what it means that a small array equals one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st

from lurcher.runtime.kernel import np as small

KINDS = ("bool", "int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
WHOLE, REAL = KINDS[1:8], KINDS[8:]
REFUSED = (TypeError, ValueError, IndexError, OverflowError)


def numbers_of(kind: str) -> st.SearchStrategy[Any]:
    """Numbers that a kind can hold, the extreme ones often."""
    if kind == "bool":
        return st.booleans()
    if kind in REAL:
        rare = st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.5, float("inf"), -float("inf"), float("nan"), 1e30, 3e-40])
        return rare | st.floats(width=32 if kind == "float32" else 64) | st.integers(-3, 3).map(float)
    limits = np.iinfo(kind)
    edges = [int(limits.min), int(limits.min) + 1, int(limits.max), int(limits.max) - 1]
    few = st.integers(max(int(limits.min), -3), 5)
    return few | st.sampled_from(edges) | st.integers(int(limits.min), int(limits.max))


@st.composite
def arrays(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, size: int | None = None, most: int = 20) -> Any:
    kind = draw(st.sampled_from(kinds))
    count = draw(st.integers(0, most)) if size is None else size
    return np.array(draw(st.lists(numbers_of(kind), min_size=count, max_size=count)), kind)


@st.composite
def alike(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, most: int = 20) -> tuple[Any, Any]:
    """Two arrays of one length, or one of them of one number."""
    first = draw(arrays(kinds, most=most))
    return first, draw(arrays(kinds, size=draw(st.sampled_from((len(first), len(first), 1)))))


def of(plain: Any) -> Any:
    """The small array of the same numbers, with memory of its own."""
    return small.array(plain)


@contextmanager
def quiet() -> Iterator[None]:
    """Numpy warns of what both do alike: overflow, and what is no number."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def kind_of(found: Any) -> str:
    return str(found.dtype)


def image(found: Any) -> bytes:
    """The bytes of an array, with one kind of what is no number."""
    copy = np.array(found)
    if copy.dtype.kind == "f":
        copy[np.isnan(copy)] = np.nan
    return copy.tobytes()


def same(ours: Any, theirs: Any) -> None:
    """Of one kind, and alike to the last bit."""
    assert kind_of(ours) == theirs.dtype.name, (ours, theirs)
    assert len(ours) == len(theirs), (ours, theirs)
    assert image(ours) == image(theirs), (ours, theirs)


def same_number(ours: Any, theirs: Any) -> None:
    assert type(ours) in (bool, int, float)
    assert repr(ours) == repr(theirs.item() if isinstance(theirs, np.generic) else theirs)


def either(function: Callable[[], Any]) -> Any:
    """What it gives, or None where it is refused."""
    try:
        return function()
    except REFUSED:
        return None
