"""The compiled kernel (`lurcher._kernel`), which runs the most expensive loops in C, and arrays for the query path.

A loop that exists in C and in Python is one function of its own module, which calls `native()` and takes one way or the other.
Both give the same bytes; the Python version is the reference.

`np` is the kernel's arrays, which have the functions that queries use, or else numpy. Importing numpy takes longer than
answering a query, so queries do without it where the kernel is in use. Both give the same numbers to the last bit. The
kernel's arrays are buffers, which numpy accepts as they are.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from lurcher.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    import numpy as np

__all__ = ["KERNEL_VERSION", "describe_kernel", "hash_seed", "native", "np", "start_writeback", "trim_heap", "wants_kernel"]

KERNEL_VERSION = 23
"""Version of the interface between Python and C; a kernel that was built for another one is not used."""
_UNWANTED = "LURCHER_KERNEL=python"
_NOT_BUILT = "it was not built when lurcher was installed"
_OTHER_VERSION = "it was built for another version of lurcher"
_HINTS = {
    _UNWANTED: "unset LURCHER_KERNEL to use it",
    _NOT_BUILT: "with a C compiler and Python's headers, pip install --force-reinstall --no-deps --no-binary lurcher lurcher",
    _OTHER_VERSION: "run: pip install --force-reinstall --no-deps lurcher",
}


@cache
def native() -> ModuleType | None:
    """The kernel; None where it was not built or must not be used."""
    return _load()[0]


def describe_kernel() -> dict[str, str]:
    """For `lurcher status` and `doctor`: which implementation is in use, why it is not the native one, and what to do then."""
    module, reason = _load()
    return {"name": "native"} if module is not None else {"name": "python", "reason": reason, "hint": _HINTS.get(reason, "")}


def wants_kernel(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the kernel may be used; LURCHER_KERNEL=python says no. Read here because configuration is loaded later."""
    chosen = (os.environ if environ is None else environ).get("LURCHER_KERNEL") or "auto"
    if chosen not in ("auto", "python"):
        raise ConfigError(f"environment: LURCHER_KERNEL cannot be {chosen!r}", "allowed: auto, python")
    return chosen == "auto"


def _load() -> tuple[ModuleType | None, str]:
    if not wants_kernel():
        return None, _UNWANTED
    if sys.byteorder != "little":
        return None, "the byte order of this machine is not that of the index"
    try:
        __import__("lurcher._kernel")
        module = sys.modules["lurcher._kernel"]
    except ImportError:
        return None, _NOT_BUILT
    if module.VERSION != KERNEL_VERSION:
        return None, _OTHER_VERSION
    return module, ""


def hash_seed() -> int:
    """A seed for the kernel's hash tables, random per process as for Python's dictionaries: no text can force collisions."""
    return hash("lurcher") & 0xFFFFFFFFFFFFFFFF


def start_writeback(descriptor: int, start: int, size: int) -> None:
    """Start writing a part of a file to disk without waiting for it; does nothing without the kernel."""
    kernel = native()
    if kernel is not None:
        kernel.write_out(descriptor, start, size)


def trim_heap() -> None:
    """Return free heap memory to the system; does nothing without the kernel."""
    kernel = native()
    if kernel is not None:
        kernel.give_back()


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
