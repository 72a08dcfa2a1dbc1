"""Arrays of numbers for the query path: `np` is numpy, or the kernel's small arrays, which know what queries need.

Loading numpy takes longer than answering, so where the kernel is there nothing on the way to an answer asks for it. Both give
the same numbers to the last bit. Small arrays are buffers: code that works with numpy takes them as they are.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    from typing import Any

    import numpy as np


class _Numpy:
    """numpy, loaded when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        found = getattr(numpy, name)
        setattr(self, name, found)
        return found


class _Maximum:
    """What numpy's `maximum` is."""

    def __init__(self, kernel: Any) -> None:
        self.at = kernel.maximum_at
        self.reduceat = kernel.maximum_reduceat
        self._of_two = kernel.maximum

    def __call__(self, left: Any, right: Any) -> Any:
        return self._of_two(left, right)


class _Minimum:
    """What numpy's `minimum` is."""

    def __init__(self, kernel: Any) -> None:
        self.accumulate = kernel.minimum_accumulate
        self._of_two = kernel.minimum

    def __call__(self, left: Any, right: Any) -> Any:
        return self._of_two(left, right)


class _Small:
    """The part of numpy's face that queries look at, by the kernel."""

    inf = float("inf")
    bool_, int8, uint8, uint16, int32, uint32 = "bool", "int8", "uint8", "uint16", "int32", "uint32"
    int64, uint64, float32, float64 = "int64", "uint64", "float32", "float64"

    def __init__(self, kernel: Any) -> None:
        for name in (
            "zeros", "full", "arange", "array", "asarray", "fromiter", "frombuffer", "where", "flatnonzero",
            "count_nonzero", "bincount", "repeat", "cumsum", "diff", "concatenate", "argsort", "sort", "lexsort", "unique",
            "isin", "partition", "abs", "sqrt", "trunc", "rint", "isfinite",
        ):  # fmt: skip
            setattr(self, name, getattr(kernel, name))
        self.empty = kernel.zeros
        self.maximum, self.minimum = _Maximum(kernel), _Minimum(kernel)

    def ones(self, count: int, kind: Any = "float64") -> Any:
        return self.full(count, 1, kind)  # type: ignore[attr-defined]

    def searchsorted(self, array: Any, wanted: Any, side: str = "left") -> Any:
        return self.asarray(array).searchsorted(wanted, side)  # type: ignore[attr-defined]

    def append(self, array: Any, value: Any) -> Any:
        return self.concatenate((array, self.asarray([value], array.dtype)))  # type: ignore[attr-defined]

    def union1d(self, left: Any, right: Any) -> Any:
        return self.unique(self.concatenate((left, right)))  # type: ignore[attr-defined]


if not TYPE_CHECKING:
    np = _Numpy() if native() is None else _Small(native())
