"""Ends work that nobody waits for any more: servers say when, and loops that may run long call `check_cancelled`.

Cancellation belongs to a thread: work that is handed to another thread goes on.
"""

from __future__ import annotations

from _thread import _local
from time import monotonic

from lurcher.errors import DeadlineExceeded
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event
    from typing import TypeVar

    Result = TypeVar("Result")

_thread_state = _local()


class Cancelled(BaseException):
    """Nobody waits for the answer. A BaseException, so that no handler of ordinary errors catches it."""


def run_cancellable(work: Callable[[], Result], stop: Event, seconds: float | None = None) -> Result:
    """Run `work` in this thread; it ends early once `stop` is set, or after `seconds`."""
    before = getattr(_thread_state, "watched", None)
    _thread_state.watched = (stop, seconds, None if seconds is None else monotonic() + seconds)
    try:
        check_cancelled()
        return work()
    finally:
        _thread_state.watched = before


def check_cancelled() -> None:
    """Raise Cancelled or DeadlineExceeded if the work of this thread is to end."""
    watched = getattr(_thread_state, "watched", None)
    if watched is None:
        return
    stop, seconds, end = watched
    if stop.is_set():
        raise Cancelled
    if end is not None and monotonic() > end:
        raise DeadlineExceeded(f"the query took longer than {seconds:g} s", "narrow it to a folder or a language")
