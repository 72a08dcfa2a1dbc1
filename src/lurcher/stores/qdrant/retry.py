"""Tries again what a server could not take just now, with pauses that grow, and holds everybody back while it is busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from lurcher.errors import StoreError

T = TypeVar("T")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 15.0


class Patience:
    """One for each server: when it says that it has too much to do, all that is on the way to it waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_until = 0.0

    def tried(self, ask: Callable[[], T], seconds: float) -> T:
        """What `ask` gives, if it does so within so many seconds of its first failure; else what was wrong the last time."""
        pause, give_up = FIRST_PAUSE, None
        while True:
            self._wait(give_up)
            try:
                return ask()
            except StoreError as error:
                now = time.monotonic()
                give_up = now + seconds if give_up is None else give_up
                wait = max(pause, min(error.after, LONGEST_PAUSE))
                if not error.passing or now + wait > give_up:
                    raise
                if error.status in (429, 503):
                    with self._lock:
                        self._closed_until = max(self._closed_until, now + wait)
                else:
                    time.sleep(wait)
                pause = min(pause * 2, LONGEST_PAUSE)

    def _wait(self, give_up: float | None) -> None:
        with self._lock:
            until = self._closed_until
        if give_up is not None:
            until = min(until, give_up)
        if until > time.monotonic():
            time.sleep(until - time.monotonic())
