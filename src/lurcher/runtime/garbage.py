"""Work that makes many objects and no cycles: while it runs, nobody looks for cycles among them."""

from __future__ import annotations

import gc
from _thread import allocate_lock

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class CollectorPause:
    """`with UNCOLLECTED:` pauses Python's collector. Threads share it: the last one that leaves puts it back as it was.

    If each thread remembered by itself whether the collector was on, one that begins while another has paused it would
    leave it off for good.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._inside = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_on = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was_on:
                gc.enable()


GC_PAUSED = CollectorPause()
