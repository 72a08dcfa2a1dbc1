"""Calls made in threads beside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from lurcher.runtime import parallel
from lurcher.runtime.parallel import BackgroundCall, run_in_order


def refuse() -> int:
    raise ValueError("no")


@pytest.fixture(params=[True, False])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "native", lambda: parallel if request.param else None)


@pytest.fixture
def no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())  # other tests may have left some
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.usefixtures("kernel", "no_thread_stays")
def test_results_come_in_order() -> None:
    assert list(run_in_order(partial(pow, number, 2) for number in range(20))) == [number**2 for number in range(20)]


@pytest.mark.usefixtures("kernel", "no_thread_stays")
def test_what_a_call_raises_is_raised_in_its_turn() -> None:
    results = run_in_order([partial(int, 1), refuse, partial(int, 3)])
    assert next(results) == 1
    with pytest.raises(ValueError, match="no"):
        next(results)


@pytest.mark.usefixtures("kernel", "no_thread_stays")
def test_calls_whose_results_are_not_read_end_without_an_error() -> None:
    call = BackgroundCall(refuse)
    call.join()
    results = run_in_order([partial(int, 1)] * 5)
    next(results)
    results.close()  # type: ignore[attr-defined]


def test_without_threads_calls_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    assert list(run_in_order([partial(int, 1), partial(int, 2)])) == [1, 2]
