"""The compiled kernel (`lurcher._kernel`), which runs the most expensive loops in C where it can be used.

A loop that exists in C and in Python is one function of its own module, which calls `native()` and takes one way or the other.
Both give the same bytes; the Python version is the reference.
"""

from __future__ import annotations

import os
import sys

from lurcher.errors import ConfigError
from lurcher.runtime.light import TYPE_CHECKING, cache

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

VERSION = 18
"""Version of the interface between Python and C; a kernel that was built for another one is not used."""


@cache
def native() -> ModuleType | None:
    """The kernel; None where it was not built or must not be used."""
    return _load()[0]


def describe_kernel() -> dict[str, str]:
    """For `lurcher status`: which implementation is in use, and why it is not the native one."""
    module, reason = _load()
    return {"name": "native"} if module is not None else {"name": "python", "reason": reason}


def wants_kernel(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the kernel may be used; LURCHER_KERNEL=python says no. Read here because configuration is loaded later."""
    chosen = (os.environ if environ is None else environ).get("LURCHER_KERNEL") or "auto"
    if chosen not in ("auto", "python"):
        raise ConfigError(f"environment: LURCHER_KERNEL cannot be {chosen!r}", "allowed: auto, python")
    return chosen == "auto"


def _load() -> tuple[ModuleType | None, str]:
    if not wants_kernel():
        return None, "LURCHER_KERNEL=python"
    if sys.byteorder != "little":
        return None, "the byte order of this machine is not that of the index"
    try:
        __import__("lurcher._kernel")
        module = sys.modules["lurcher._kernel"]
    except ImportError:
        return None, "it was not built when lurcher was installed"
    if module.VERSION != VERSION:
        return None, "it was built for another version of lurcher"
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
