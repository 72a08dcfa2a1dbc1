"""What the parts of one running process share: its collector, cancellation, caches, time, and a few functions for paths.

Cancellation ends work that nobody waits for any more: servers say when, and loops that may run long call `check_cancelled`. It
belongs to a thread: work that is handed to another thread goes on. Paths are strings here: importing `pathlib` takes too long.
"""

from __future__ import annotations

import errno
import gc
import os
import time
from _thread import RLock, _local, allocate_lock
from time import monotonic

from lurcher.errors import DeadlineExceeded
from lurcher.runtime.light import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from threading import Event
    from types import TracebackType
    from typing import Any, TypeVar

    Result = TypeVar("Result")
    Value = TypeVar("Value")


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


class Cache:
    """A cache for what takes long to make, such as a loaded model. It makes each value once.

    Thread-safe: other threads wait while a value is made.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a value may need another one to be made
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: Value = self._values[key]
            return value

    def peek(self, key: Hashable) -> Any:
        """The value if it was made, else None."""
        return self._values.get(key)


class LruCache:
    """Keeps the values that were used last, as many as fit into `capacity` and at most `entries`. Thread-safe."""

    def __init__(self, capacity: int, entries: int | None = None) -> None:
        self._capacity, self._entries = capacity, entries
        self._lock = RLock()
        self._values: dict[Hashable, tuple[Any, int]] = {}  # the one used last at the end
        self.used = 0
        """The sizes of all values together."""

    def get(self, key: Hashable) -> Any:
        """The value, or None."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int = 1) -> None:
        with self._lock:
            self.used += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self.used > self._capacity or (self._entries is not None and len(self._values) > self._entries):
                self.used -= self._values.pop(next(iter(self._values)))[1]

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.used = 0


class Waitable(Protocol):
    """A process like `subprocess.Popen`."""

    def wait(self, timeout: float | None = None) -> int: ...


class Stopwatch:
    """Named laps in milliseconds; laps with one name add up."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        """Continue from an earlier result of `total`."""
        self._laps = dict(before or ())
        self._last = time.perf_counter()
        self._started = self._last - self._laps.pop("total", 0.0) / 1000

    def lap(self, name: str) -> None:
        """End a lap and add its time to this name."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + (now - self._last) * 1000
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self._laps, "total": (time.perf_counter() - self._started) * 1000}


_MAX_POLL_SECONDS = 0.02


def pause(seconds: float) -> None:
    """Sleep for a duration.

    `select` gets a duration. `time.sleep` waits for a point in time and may fail or last for days if a clock jumps.
    """
    import select

    try:
        select.select((), (), (), max(0.0, seconds))
    except OSError:  # systems where select needs a file
        time.sleep(max(0.0, seconds))


def wait_for_exit(process: Waitable, seconds: float) -> int | None:
    """The exit code of a process; None if it does not end in time. Polls with `pause`, where `subprocess` would sleep."""
    from subprocess import TimeoutExpired

    waited, moment = 0.0, 0.001
    while True:
        try:
            return process.wait(0)
        except TimeoutExpired:
            if waited >= seconds:
                return None
        pause(moment)
        waited, moment = waited + moment, min(2 * moment, _MAX_POLL_SECONDS)


_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def exists(path: str) -> bool:
    """Whether a path exists; OSError where that is unknown, as in a folder that may not be entered."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    except ValueError:
        return False
    return True


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it, by name alone."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
