"""A circuit breaker: a service that keeps failing is not called for a while, so that not every query waits for it in vain.

    closed ──► `failures` in a row ──► open for `pause` seconds ──► one call probes ──► closed
                                          ▲                            │
                                          └────────── it fails ────────┘

A process has one breaker per service and address, whoever calls. It also limits how many calls are under way at a time. A
refusal of one request (4xx) counts as a success: the service is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult

from lurcher.errors import ServerError
from lurcher.net.http import Deadline, origin

DOCTOR = "run: lurcher doctor"
_BUSY = (408, 429)
"""Statuses below 500 that are about the service and not about the request."""


@dataclass(frozen=True, slots=True)
class Pace:
    """When a service is left alone, and how much it is asked at a time; hand-set."""

    failures: int = 3
    """Failures in a row after which it is left alone; 0: it never is."""
    pause: float = 30.0
    """Seconds for which it is left alone; then one request tries it again."""
    concurrency: int = 4
    """Requests at a time; further ones wait."""


PACE = Pace()


@dataclass(frozen=True, slots=True)
class FailureStreak:
    """Failures in a row."""

    count: int
    first: float
    """Time of the first failure, by the breaker's clock."""
    until: float
    """Until then the service is not called."""
    last: str
    tried: str


class Breaker:
    """Thread-safe."""

    def __init__(
        self, service: str, address: str, limits: Pace = PACE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.service, self.address = service, address
        self.limits = limits
        self._clock = clock
        self._changed = threading.Condition()
        self._streak: FailureStreak | None = None
        self._probing = False
        self._under_way = 0

    @property
    def streak(self) -> FailureStreak | None:
        """The failures since the last success, if there are any."""
        return self._streak

    @contextmanager
    def guard(self, deadline: Deadline) -> Iterator[None]:
        """Call the service inside this context; it raises at once while the breaker is open, and counts the outcome."""
        probing = self._enter(deadline)
        try:
            yield
        except ServerError as problem:
            problem.service = problem.service or self.service
            self._leave(probing, problem)
            raise
        except BaseException:  # the caller failed, not the service
            self._leave(probing, None, outcome_known=False)
            raise
        self._leave(probing, None)

    def _enter(self, deadline: Deadline) -> bool:
        with self._changed:
            probing = self._admit()
            while self._under_way >= self.limits.concurrency:
                if not self._changed.wait(deadline.left):
                    self._probing = self._probing and not probing
                    raise self._error(f"has {self._under_way} calls under way, and none is done", deadline.seconds)
            self._under_way += 1
            return probing

    def _admit(self) -> bool:
        """Whether this call probes if the service is back; raises while the breaker is open."""
        streak = self._streak
        if streak is None or not self.limits.failures or streak.count < self.limits.failures:
            return False
        now = self._clock()
        if now < streak.until or self._probing:
            left = max(0.0, streak.until - now)
            again = f"not called for another {left:.0f} s" if left else "being probed"
            since = f"failed {streak.count} times in a row, the first {now - streak.first:.0f} s ago"
            message = f"{since}, and is {again}; {streak.last}"
            raise self._error(message, left, streak.tried)
        self._probing = True
        return True

    def _error(self, message: str, after: float, tried: str = "") -> ServerError:
        problem = ServerError(f"the {self.service} service at {self.address} {message}", DOCTOR, passing=True, after=after)
        problem.service, problem.tried = self.service, tried
        return problem

    def _leave(self, probing: bool, problem: ServerError | None, *, outcome_known: bool = True) -> None:
        with self._changed:
            self._under_way -= 1
            self._probing = self._probing and not probing
            if outcome_known and (problem is None or not _counts(problem)):
                self._streak = None
            elif problem is not None:
                now, streak = self._clock(), self._streak
                count, first = (streak.count + 1, streak.first) if streak is not None else (1, now)
                self._streak = FailureStreak(count, first, now + self.limits.pause, problem.message, problem.tried)
            self._changed.notify()


def _counts(problem: ServerError) -> bool:
    """Whether a failure is one of the service, not of the request."""
    return not 400 <= problem.status < 500 or problem.status in _BUSY


_lock = threading.Lock()
_breakers: dict[tuple[str, str], Breaker] = {}


def get_breaker(service: str, base: SplitResult) -> Breaker:
    """The one breaker of a service at an address."""
    address = origin(base) + base.path.rstrip("/")
    with _lock:
        return _breakers.setdefault((service, address), Breaker(service, address, PACE))


def reset_breakers() -> None:
    """Forget all failures."""
    with _lock:
        _breakers.clear()
