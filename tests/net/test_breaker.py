"""A service that keeps failing is left alone, tried again after a while, and never asked by too many at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.errors import ServerError
from lurcher.net.http import Deadline
from lurcher.net.resilience import Breaker, Pace, get_breaker, reset_breakers


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def soon() -> Deadline:
    return Deadline.after(5)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("embedding", "http://127.0.0.1:9", Pace(failures=3, pause=30.0, concurrency=2), clock)


def fails(breaker: Breaker, status: int = 0) -> ServerError:
    problem = ServerError("nothing answers", "start it", status, passing=True)
    problem.tried = "POST http://127.0.0.1:9/embed"
    with pytest.raises(ServerError) as raised, breaker.guard(soon()):
        raise problem
    return raised.value


def works(breaker: Breaker) -> None:
    with breaker.guard(soon()):
        pass


def test_the_breaker_opens_after_the_configured_failures(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        assert fails(breaker).message == "nothing answers"
        clock.now += 2
    told = fails(breaker)
    assert told.message == (
        "the embedding service at http://127.0.0.1:9 failed 3 times in a row, the first 6 s ago, and is not called for "
        "another 28 s; nothing answers"
    )
    assert (told.hint, told.service, told.tried) == ("run: lurcher doctor", "embedding", "POST http://127.0.0.1:9/embed")
    assert told.to_dict()["service"] == "embedding" and told.to_dict()["tried"].startswith("POST ")


def test_one_question_finds_out_whether_it_is_back(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        fails(breaker)
    clock.now += 29.9
    assert "is not called" in fails(breaker).message
    clock.now += 0.2
    with breaker.guard(soon()):
        assert "being probed" in fails(breaker).message  # by another one, meanwhile
    works(breaker)
    assert breaker.streak is None


def test_a_trial_that_fails_restarts_the_pause(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        fails(breaker)
    clock.now += 31
    assert fails(breaker).message == "nothing answers"
    assert "failed 4 times" in fails(breaker).message
    clock.now += 31
    works(breaker)
    works(breaker)


def test_a_success_in_between_resets_the_count(breaker: Breaker) -> None:
    for _ in range(5):
        fails(breaker)
        fails(breaker)
        works(breaker)


@pytest.mark.parametrize(("status", "counted"), [(0, 1), (500, 1), (503, 1), (429, 1), (424, 1), (400, 0), (404, 0)])
def test_a_refusal_says_that_it_is_there(breaker: Breaker, status: int, counted: int) -> None:
    for _ in range(3):
        fails(breaker, status)
    assert (breaker.streak is not None) == bool(counted)


def test_what_is_not_its_fault_is_not_counted(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        fails(breaker)
    clock.now += 31
    with pytest.raises(KeyboardInterrupt), breaker.guard(soon()):
        raise KeyboardInterrupt
    works(breaker)  # the trial that was broken off does not keep others out


def test_the_breaker_can_be_disabled(clock: Clock) -> None:
    breaker = Breaker("judge", "http://127.0.0.1:9", Pace(failures=0), clock)
    for _ in range(20):
        assert fails(breaker).message == "nothing answers"


def test_no_more_than_so_many_ask_at_a_time(breaker: Breaker) -> None:
    inside, most, lock, release = 0, 0, threading.Lock(), threading.Event()

    def ask() -> None:
        nonlocal inside, most
        with breaker.guard(soon()):
            with lock:
                inside += 1
                most = max(most, inside)
            release.wait(5)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    with pytest.raises(ServerError, match="has 2 calls under way"), breaker.guard(Deadline.after(0.05)):
        pass
    release.set()
    for thread in threads:
        thread.join(120)
    assert most == 2 and inside == 0
    works(breaker)


def test_there_is_one_breaker_for_each_service_and_address() -> None:
    reset_breakers()
    here = urlsplit("http://127.0.0.1:9/")
    first = get_breaker("embedding", here)
    assert get_breaker("embedding", urlsplit("http://127.0.0.1:9")) is first
    assert get_breaker("reranker", here) is not first
    assert get_breaker("embedding", urlsplit("http://127.0.0.1:10")) is not first
    reset_breakers()
    assert get_breaker("embedding", here) is not first


@given(st.lists(st.sampled_from(["fail", "work", "wait", "refuse"]), max_size=40), st.integers(1, 4))
def test_only_repeated_recent_failures_prevent_a_request(steps: list[str], failures: int) -> None:
    """Nothing else keeps a service from being asked."""
    clock = Clock()
    breaker = Breaker("sparse", "x", Pace(failures=failures, pause=10.0), clock)
    streak, last = 0, 0.0
    acts: dict[str, Callable[[], None]] = {"fail": lambda: fail(0), "refuse": lambda: fail(404), "work": lambda: None}

    def fail(status: int) -> None:
        raise ServerError("no", "", status)

    for step in steps:
        if step == "wait":
            clock.now += 6
            continue
        shut = streak >= failures and clock.now < last + 10
        reached = False
        try:
            with breaker.guard(soon()):
                reached = True
                acts[step]()
        except ServerError:
            pass
        assert reached is not shut
        if reached:
            streak, last = (streak + 1, clock.now) if step == "fail" else (0, last)
