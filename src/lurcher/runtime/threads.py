"""Work in threads beside this one, for what the kernel does: it lets other threads run meanwhile."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from lurcher.runtime.kernel import native

Value = TypeVar("Value")

_THREADS = 2


class BackgroundCall(Generic[Value]):
    """A call that is made in a thread of its own, at once; later, by who asks for its result, where there is no kernel."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._values: list[Value] = []
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = None
        if native() is not None:
            self._thread = threading.Thread(target=self._run)
            try:
                self._thread.start()
            except RuntimeError:  # there can be no more threads
                self._thread = None

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # raised where the result is asked for
            self._failed = error

    def join(self) -> None:
        """Wait until nothing of it runs any more."""
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
    """What calls return, in their order; the next ones are made while somebody looks at the last."""
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
