"""This process: whether it is lurcher's own program, and its garbage collector."""

from __future__ import annotations

import gc
from _thread import allocate_lock

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_owned = False


def claim_process() -> None:
    """Declare that this process is a lurcher command, not a program that uses lurcher as a library.

    Only such a process may be forked (runtime/fork.py): we know what runs in it.
    """
    global _owned
    _owned = True


def is_own_process() -> bool:
    return _owned


class CollectorPause:
    """`with GC_PAUSED:` turns Python's cycle collector off, for work that makes many objects and no cycles.

    Threads share one counter: if each remembered by itself whether the collector was on, one that begins while another has
    paused it would leave it off for good.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._depth = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth and self._was_on:
                gc.enable()


GC_PAUSED = CollectorPause()
