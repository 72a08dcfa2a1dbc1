"""Retries: pauses grow, limits hold, and a busy server holds back everybody."""

from __future__ import annotations

from typing import Any

import pytest

from lurcher.errors import ServerError, StoreError
from lurcher.net import resilience
from lurcher.net.http import Deadline


def test_pauses_of_a_service_grow_and_are_not_all_alike() -> None:
    pauses: list[float] = []

    def never() -> Any:
        raise ServerError("not now", passing=True)

    for _ in range(2):
        with pytest.raises(ServerError):
            resilience.retry_request(never, Deadline.after(100), pauses.append)
    first, second = pauses[:5], pauses[5:]
    assert len(first) == len(second) == 5
    assert first != second and max(first[:2]) < min(first[-2:])


def test_an_error_that_will_not_pass_is_not_retried() -> None:
    attempts: list[int] = []

    def refuse() -> Any:
        attempts.append(1)
        raise ServerError("refused", status=400)

    with pytest.raises(ServerError, match="refused"):
        resilience.retry_request(refuse, Deadline.after(100), lambda pause: None)
    assert len(attempts) == 1


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    pauses: list[float] = []

    def busy() -> Any:
        raise ServerError("busy", passing=True, after=50.0)

    with pytest.raises(ServerError, match="busy"):
        resilience.retry_request(busy, Deadline.after(10), pauses.append)
    assert not pauses


def test_the_pauses_of_a_store_grow_up_to_a_limit() -> None:
    pauses = [resilience.STORE.pause(failures, 0.0) for failures in range(1, 10)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0]
    assert resilience.STORE.pause(1, 5.0) == 5.0 and resilience.STORE.pause(1, 600.0) == 15.0
    assert resilience.STORE.pause(10_000, 0.0) == 15.0


def test_a_busy_server_holds_everybody_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    clock = [100.0]

    def sleep(seconds: float) -> None:
        pauses.append(round(seconds, 3))
        clock[0] += seconds

    monkeypatch.setattr("lurcher.net.resilience.time.sleep", sleep)
    monkeypatch.setattr("lurcher.net.resilience.time.monotonic", lambda: clock[0])
    gate = resilience.BusyGate()

    def busy() -> None:
        raise StoreError("busy", status=503, passing=True)

    with pytest.raises(StoreError, match="busy"):
        gate.run(busy, 2.0)
    assert pauses == [0.1, 0.2, 0.4, 0.8]
    pauses.clear()

    def asked_to_wait() -> None:
        raise StoreError("busy", status=429, passing=True, after=5.0)

    with pytest.raises(StoreError):
        gate.run(asked_to_wait, 7.0)
    assert pauses == [5.0]
    clock[0] -= 3.0
    pauses.clear()
    assert gate.run(lambda: 1, 1.0) == 1
    assert pauses == [3.0]
