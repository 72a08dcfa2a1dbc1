"""Whether the loops that cost most run in C (`lurcher._kernel`) or in Python and numpy: decided once, here.

Each loop has one seam: a function of its own module that asks `native()` and goes one way or the other. Both ways give the
same bytes, and those of Python are the reference.
"""

from __future__ import annotations

import sys

from lurcher.config import wants_kernel
from lurcher.runtime.light import TYPE_CHECKING, cache

if TYPE_CHECKING:
    from types import ModuleType

VERSION = 17
"""Of what the kernel offers; one that was built for another is not used."""


@cache
def native() -> ModuleType | None:
    """The kernel, where it was built and is wanted."""
    return _load()[0]


def describe_kernel() -> dict[str, str]:
    """Which one is in use, and why it is not the kernel."""
    module, reason = _load()
    return {"name": "native"} if module is not None else {"name": "python", "reason": reason}


def _load() -> tuple[ModuleType | None, str]:
    if not wants_kernel():
        return None, "LURCHER_KERNEL=python"
    if sys.byteorder != "little":
        return None, "this machine's numbers have another byte order than the index"
    try:
        __import__("lurcher._kernel")
        module = sys.modules["lurcher._kernel"]
    except ImportError:
        return None, "it was not built when lurcher was installed"
    if module.VERSION != VERSION:
        return None, "it was built for another version of lurcher"
    return module, ""


def hash_seed() -> int:
    """For tables of the kernel's: like that of Python's own dictionaries, so that no text can be made to fill one slot."""
    return hash("lurcher") & 0xFFFFFFFFFFFFFFFF


def start_writeback(descriptor: int, start: int, size: int) -> None:
    """Have a part of a file written to the disk, without waiting for that, as far as somebody can."""
    kernel = native()
    if kernel is not None:
        kernel.write_out(descriptor, start, size)


def trim_heap() -> None:
    """Give memory that was in use for a while back to the system, as far as somebody can."""
    kernel = native()
    if kernel is not None:
        kernel.give_back()
