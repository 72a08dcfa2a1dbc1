"""What a caller does about a server that fails: retries with growing pauses, and a circuit breaker.

An error says by itself whether a retry can help (`passing`), how long the server asks to wait (`after`, in seconds) and which
HTTP status it sent (`status`).

    retry            one request, until it succeeds or the caller's limit is reached
    retry_request    the same for a service: a few attempts within a deadline
    BusyGate         the same for a server with many requests under way: a busy server holds back all of them
    Breaker          a service that keeps failing is not called for a while, so that not every query waits for it in vain
    ServiceClient    a service that the settings name, with its key, retries and breaker

    closed ──► `failures` in a row ──► open for `pause` seconds ──► one call probes ──► closed
                                          ▲                            │
                                          └────────── it fails ────────┘

A process has one breaker per service and address, for all callers. It also limits how many calls are under way at a time. A
refusal of one request (4xx) counts as a success: the service is there.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any, TypeVar
from urllib.parse import SplitResult

from lurcher.config.trust import authorization, service_key
from lurcher.errors import ServerError
from lurcher.net.http import BUSY, MAX_BYTES, Client, Deadline, origin

Result = TypeVar("Result")
_OVERLOADED = (429, 503)
"""HTTP statuses by which a server asks for fewer requests."""
_MODEL_FAILED = 424
"""With this status TEI says that its model failed, or cannot do what it is asked for; asking again at once does not help."""


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
            # Called first: a caller may start its clock at the first failure.
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
            if error.status in _OVERLOADED:
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


DOCTOR = "run: lurcher doctor"


@dataclass(frozen=True, slots=True)
class Pace:
    """When a service is left alone, and how many requests it gets at a time; hand-set."""

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
    return not 400 <= problem.status < 500 or problem.status in (*BUSY, _MODEL_FAILED)


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


class ServiceClient:
    """A service that the settings name: an address, a key, and one breaker for all callers. Thread-safe."""

    def __init__(self, service: str, base: SplitResult, max_bytes: int = MAX_BYTES) -> None:
        """ConfigError where its key would be sent unencrypted; no request is made."""
        self.base = base
        self._client = Client(base, authorization(service_key(service, base)), max_bytes=max_bytes)
        self.breaker = get_breaker(service, base)

    @property
    def name(self) -> str:
        """How messages name the server."""
        return self._client.name

    def request(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        """The reply to one request: without retries and breaker."""
        return self._client.request(path, deadline, body)

    def run(self, attempt: Callable[[], Result], deadline: Deadline) -> Result:
        """The result of `attempt`, retried, within the breaker."""
        with self.breaker.guard(deadline):
            return retry_request(attempt, deadline)
