"""Foreign code in a child process: what it returns and raises comes back, and nothing that it does brings us down."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from lurcher.runtime import sandbox
from lurcher.runtime.sandbox import SandboxFailure, call


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that know this module, and none from before."""
    sandbox.close()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def double(number: int) -> int:
    return 2 * number


def refuse() -> None:
    raise ValueError("not so")


def hang() -> None:
    while True:
        pass


def grow() -> None:
    kept = []
    while True:
        kept.append(bytes(10_000_000))


def crash() -> None:
    os.abort()


def whoami() -> int:
    return os.getpid()


def test_values_and_errors_come_back() -> None:
    assert call(f"{__name__}:double", 21) == 42
    with pytest.raises(ValueError, match="not so"):
        call(f"{__name__}:refuse")
    assert call(f"{__name__}:whoami") == call(f"{__name__}:whoami") != os.getpid()


@pytest.mark.parametrize("name", ["hang", "grow", "crash"])
def test_whatever_happens_the_next_call_is_answered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.process_time()
    with pytest.raises(SandboxFailure):
        call(f"{__name__}:{name}")
    assert call(f"{__name__}:double", 2) == 4
    assert time.process_time() - before < 2  # it was not us who worked


def test_threads_do_not_wait_for_each_other() -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(call(f"{__name__}:double", 4))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [8] * 6 and len(sandbox._idle) <= sandbox._MAX_IDLE


def test_no_process_to_be_had_is_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxFailure):
        call(f"{__name__}:double", 1)
