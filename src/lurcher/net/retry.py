"""Retries requests that failed for the moment, with pauses that grow.

An error says by itself whether a retry can help (`passing`), how long the server asks to wait (`after`, in seconds) and which
HTTP status it sent (`status`).

    retry            one request, until it succeeds or the caller's limit is reached
    retry_request    the same for a service: a few attempts within a deadline
    BusyGate         the same for a server with many requests under way: a busy server holds back all of them
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import TypeVar

from lurcher.errors import ServerError
from lurcher.net.http import Deadline

Result = TypeVar("Result")
_BUSY = (429, 503)
"""HTTP statuses by which a server asks for fewer requests."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to pause after each failure, in seconds."""

    first: float
    longest: float = inf
    attempts: float = inf
    jitter: float = 0.0
    """The share by which a pause may be shorter or longer, so that many clients do not come back at the same moment."""

    def pause(self, failures: int, after: float) -> float:
        """The pause after so many failures; a server that asks for a longer one gets it."""
        spread = random.uniform(1 - self.jitter, 1 + self.jitter) if self.jitter else 1.0
        doubled = self.first * 2.0 ** min(failures - 1, 60)
        return max(min(doubled, self.longest) * spread, min(after, self.longest))


SERVICE = Backoff(0.5, attempts=6, jitter=0.5)
STORE = Backoff(0.1, longest=15.0)


def retry(
    attempt: Callable[[], Result],
    backoff: Backoff,
    can_wait: Callable[[float], bool],
    wait: Callable[[float, ServerError], None],
) -> Result:
    """The result of `attempt`, or its last error once a retry cannot help or `can_wait(pause)` says no."""
    for failures in count(1):
        try:
            return attempt()
        except ServerError as error:
            pause = backoff.pause(failures, error.after)
            # Asked first: a caller may start its clock at the first failure.
            allowed = can_wait(pause)
            if not error.passing or failures >= backoff.attempts or not allowed:
                raise
            wait(pause, error)
    raise AssertionError("unreachable")


def retry_request(attempt: Callable[[], Result], deadline: Deadline, sleep: Callable[[float], None] = time.sleep) -> Result:
    """The result of a request to a service: up to six attempts, as long as the next pause ends before the deadline."""
    return retry(attempt, SERVICE, lambda pause: pause < deadline.left, lambda pause, _: sleep(pause))


class BusyGate:
    """Retries for one server that many threads use: while it says that it is busy, none of them sends anything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_until = 0.0

    def run(self, attempt: Callable[[], Result], seconds: float) -> Result:
        """The result of `attempt`, retried until `seconds` after its first failure."""
        give_up: float | None = None

        def guarded() -> Result:
            self._wait_until_open(give_up)
            return attempt()

        def can_wait(pause: float) -> bool:
            nonlocal give_up
            now = time.monotonic()
            give_up = now + seconds if give_up is None else give_up
            return now + pause <= give_up

        def wait(pause: float, error: ServerError) -> None:
            if error.status in _BUSY:
                with self._lock:
                    self._closed_until = max(self._closed_until, time.monotonic() + pause)
            else:
                time.sleep(pause)

        return retry(guarded, STORE, can_wait, wait)

    def _wait_until_open(self, give_up: float | None) -> None:
        with self._lock:
            until = self._closed_until
        if give_up is not None:
            until = min(until, give_up)
        if until > time.monotonic():
            time.sleep(until - time.monotonic())
