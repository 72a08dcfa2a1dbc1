"""Clocks may jump by days while we wait: nothing fails for it, and nothing waits for days."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import IndexLocked
from lurcher.runtime.process import pause, wait_for_exit
from lurcher.sources.git import finish, start
from lurcher.storage.disk import LOCK_NAME, IndexLock
from lurcher.surfaces.cli.index_cmd import _Stop
from tests.conftest import git


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.fixture
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `time.sleep` says where the clock that it sleeps by has jumped."""

    def refused(_: float) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(time, "sleep", refused)


def test_indexing_and_searching_work_while_the_clock_jumps(repository: Path, no_sleep: None) -> None:
    with Engine.open(repository, overrides={"index.workers": 2}) as engine:
        assert "degraded" not in engine.index(history=True)
        assert engine.search("how are redirects followed").hits
        assert engine.history("add").index.coverage == {"history": 1.0}


def test_git_is_waited_for_when_python_cannot_sleep(checkout: Path, no_sleep: None) -> None:
    # It says what it has to say, and takes its time to end.
    slow = ("-c", "alias.slowly=!echo said; exec >&-; sleep 0.3; exit 3", "slowly")
    assert finish(start(checkout, *slow)) == (3, b"said\n")


def test_a_lock_is_waited_for_when_python_cannot_sleep(tmp_path: Path, no_sleep: None) -> None:
    with (tmp_path / LOCK_NAME).open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(IndexLocked):
            IndexLock.acquire(tmp_path / LOCK_NAME, 0.05)


def test_a_watch_waits_and_ends_when_python_cannot_sleep(no_sleep: None) -> None:
    stop = _Stop()
    assert not stop.wait(0.05)
    stop.set()
    assert stop.wait(600)


def test_a_pause_goes_by_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1e12)
    began = time.perf_counter()
    pause(0.01)
    pause(-5)
    assert time.perf_counter() - began >= 0.009


def test_waiting_for_a_process_ends_after_the_given_time(no_sleep: None) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert wait_for_exit(process, 0.01) is None
    process.stdin.close()
    assert wait_for_exit(process, 60) == 1
