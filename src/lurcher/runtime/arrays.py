"""Arrays for the query path: `np` is the kernel's arrays, which have the functions that queries use, or else numpy.

Importing numpy takes longer than answering a query, so queries do without it where the kernel is in use. Both give the same
numbers to the last bit. The kernel's arrays are buffers, which numpy accepts as they are.
"""

from __future__ import annotations

from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    from typing import Any

    import numpy as np


class _Numpy:
    """numpy, imported on first use."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        found = getattr(numpy, name)
        setattr(self, name, found)
        return found


class _KernelArrays:
    """The functions of numpy that queries use, by the kernel."""

    inf = float("inf")
    bool_, int8, uint8, uint16, int32, uint32 = "bool", "int8", "uint8", "uint16", "int32", "uint32"
    int64, uint64, float32, float64 = "int64", "uint64", "float32", "float64"

    def __init__(self, kernel: Any) -> None:
        for name in (
            "zeros", "full", "arange", "array", "asarray", "fromiter", "frombuffer", "where", "flatnonzero",
            "count_nonzero", "bincount", "repeat", "cumsum", "diff", "concatenate", "argsort", "lexsort", "unique",
            "isin", "maximum", "minimum", "abs", "trunc", "rint", "isfinite",
        ):  # fmt: skip
            setattr(self, name, getattr(kernel, name))
        self.empty = kernel.zeros

    def ones(self, count: int, kind: Any = "float64") -> Any:
        return self.full(count, 1, kind)  # type: ignore[attr-defined]

    def searchsorted(self, array: Any, values: Any, side: str = "left") -> Any:
        return self.asarray(array).searchsorted(values, side)  # type: ignore[attr-defined]

    def append(self, array: Any, value: Any) -> Any:
        return self.concatenate((array, self.asarray([value], array.dtype)))  # type: ignore[attr-defined]

    def union1d(self, left: Any, right: Any) -> Any:
        return self.unique(self.concatenate((left, right)))  # type: ignore[attr-defined]


if not TYPE_CHECKING:
    np = _Numpy() if native() is None else _KernelArrays(native())
