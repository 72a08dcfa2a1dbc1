"""Calls in background threads, for functions of the kernel, which release the GIL."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from lurcher.runtime.kernel import native

Value = TypeVar("Value")

_THREADS = 2


class BackgroundCall(Generic[Value]):
    """A call in a thread of its own. Without the kernel it is made when its result is requested."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._values: list[Value] = []
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = None
        if native() is not None:
            self._thread = threading.Thread(target=self._run)
            try:
                self._thread.start()
            except RuntimeError:  # no more threads are available
                self._thread = None

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # raised by result()
            self._failed = error

    def join(self) -> None:
        """Wait for the end of the call."""
        if self._thread is not None:
            self._thread.join()

    def result(self) -> Value:
        if self._thread is None and not self._values and self._failed is None:
            self._run()
        self.join()
        if self._failed is not None:
            raise self._failed
        return self._values.pop()


def run_in_order(calls: Iterable[Callable[[], Value]]) -> Iterator[Value]:
    """The results of calls in order; the next calls run while the caller uses a result."""
    running: deque[BackgroundCall[Value]] = deque()
    try:
        for call in calls:
            running.append(BackgroundCall(call))
            if len(running) > _THREADS:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for each in running:
            each.join()
