"""Leaves a service alone that keeps failing, so that not every question has to find out for itself.

    asked ──► so many failures in a row ──► left alone for a while ──► one question tries ──► asked again
                                                   ▲                        │
                                                   └──── it fails too ──────┘

There is one breaker for each service and address in a process, whoever asks. It also holds back those that would be too many
at a time. What counts is whether the service does its work: a refusal of one request (4xx) says that it is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult

from lurcher.errors import ServerError
from lurcher.net.http import Deadline, place

DOCTOR = "run: lurcher doctor"
_BUSY = (408, 429)
"""Refusals that are not about the request."""


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
class Row:
    """Failures in a row."""

    count: int
    first: float
    """When, by the breaker's clock."""
    until: float
    """Before then nobody asks."""
    last: str
    tried: str


class Breaker:
    """May be used from several threads."""

    def __init__(
        self, service: str, address: str, pace: Pace = PACE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.service, self.address = service, address
        self.pace = pace
        self._clock = clock
        self._changed = threading.Condition()
        self._row: Row | None = None
        self._probing = False
        self._under_way = 0

    @property
    def row(self) -> Row | None:
        """The failures since the last success, if there are any."""
        return self._row

    @contextmanager
    def guard(self, deadline: Deadline) -> Iterator[None]:
        """Ask the service inside of this; raises at once where it is left alone, and counts how it went."""
        probing = self._enter(deadline)
        try:
            yield
        except ServerError as problem:
            problem.service = problem.service or self.service
            self._leave(probing, problem)
            raise
        except BaseException:  # it was not the service that failed
            self._leave(probing, None, told=False)
            raise
        self._leave(probing, None)

    def _enter(self, deadline: Deadline) -> bool:
        with self._changed:
            probing = self._admit()
            while self._under_way >= self.pace.concurrency:
                if not self._changed.wait(deadline.left):
                    self._probing = self._probing and not probing
                    raise self._error(f"is asked {self._under_way} things already, and none is done", deadline.seconds)
            self._under_way += 1
            return probing

    def _admit(self) -> bool:
        """Whether this is the one that finds out if a service is back."""
        row = self._row
        if row is None or not self.pace.failures or row.count < self.pace.failures:
            return False
        now = self._clock()
        if now < row.until or self._probing:
            left = max(0.0, row.until - now)
            again = f"not asked for another {left:.0f} s" if left else "being tried again"
            told = f"failed {row.count} times in a row, the first {now - row.first:.0f} s ago, and is {again}; {row.last}"
            raise self._error(told, left, row.tried)
        self._probing = True
        return True

    def _error(self, told: str, after: float, tried: str = "") -> ServerError:
        problem = ServerError(f"the {self.service} service at {self.address} {told}", DOCTOR, passing=True, after=after)
        problem.service, problem.tried = self.service, tried
        return problem

    def _leave(self, probing: bool, problem: ServerError | None, *, told: bool = True) -> None:
        with self._changed:
            self._under_way -= 1
            self._probing = self._probing and not probing
            if told and (problem is None or not _counts(problem)):
                self._row = None
            elif problem is not None:
                now, row = self._clock(), self._row
                count, first = (row.count + 1, row.first) if row is not None else (1, now)
                self._row = Row(count, first, now + self.pace.pause, problem.message, problem.tried)
            self._changed.notify()


def _counts(problem: ServerError) -> bool:
    """Whether a failure says something about the service and not about what it was asked."""
    return not 400 <= problem.status < 500 or problem.status in _BUSY


_lock = threading.Lock()
_breakers: dict[tuple[str, str], Breaker] = {}


def breaker_of(service: str, base: SplitResult) -> Breaker:
    """The one breaker of a service at an address."""
    address = place(base) + base.path.rstrip("/")
    with _lock:
        return _breakers.setdefault((service, address), Breaker(service, address, PACE))


def forget() -> None:
    """Every service has a clean record again."""
    with _lock:
        _breakers.clear()
