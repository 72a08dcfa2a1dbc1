"""Work beside this process's own: forks of it, and background threads, for functions of the kernel that release the GIL.

A fork has loaded already what a new interpreter would take a fifth of a second to load. Forks build shards, and one lists the
files of a tree while this process imports what a first build needs.

Forking is only safe in a process without other threads: the fork would have one of them, and the locks that the others held.
So it is used in lurcher's own commands (runtime/process.py), on Linux, before the first thread; everywhere else children are
new interpreters.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Generic, TypeVar

from lurcher.runtime import process
from lurcher.runtime.kernel import native
from lurcher.runtime.process import pause

Value = TypeVar("Value")

_POLL_SECONDS = 0.001
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def can_fork() -> bool:
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return False
    return process.is_own_process() and threading.active_count() == 1 and _count_threads() == 1


def _count_threads() -> int:
    """The number of threads according to the system: libraries have some that Python does not know."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


class ForkedChild:
    """A forked child with the interface of `subprocess.Popen` that a worker needs."""

    def __init__(self, serve: Callable[[IO[bytes], IO[bytes]], None]) -> None:
        """The child calls `serve` with a stream of jobs and one for results, and exits when it returns."""
        jobs_out, jobs_in = os.pipe()
        results_out, results_in = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            for descriptor in (jobs_out, jobs_in, results_out, results_in):
                os.close(descriptor)
            raise
        if self._pid == 0:
            try:
                _detach({jobs_out, results_in})
                serve(open(jobs_out, "rb"), open(results_in, "wb"))  # noqa: SIM115
            finally:
                os._exit(1)
        os.close(jobs_out)
        os.close(results_in)
        self.stdin: IO[bytes] = open(jobs_in, "wb")  # noqa: SIM115
        self.stdout: IO[bytes] = open(results_out, "rb")  # noqa: SIM115
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; negative for a signal."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None:
            with contextlib.suppress(ChildProcessError):  # other code has waited for it
                pid, status = os.waitpid(self._pid, 0 if deadline is None else os.WNOHANG)
                if pid == 0:
                    if deadline is not None and time.monotonic() >= deadline:
                        raise subprocess.TimeoutExpired("worker", timeout or 0.0)
                    pause(_POLL_SECONDS)
                    continue
                self._status = os.waitstatus_to_exitcode(status)
                continue
            self._status = 1
        return self._status

    def kill(self) -> None:
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


class ForkedCall(Generic[Value]):
    """A call that runs in a fork while this process does something else."""

    def __init__(self, call: Callable[[], Value]) -> None:
        out, into = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(out)
            os.close(into)
            raise
        if self._pid == 0:
            try:
                _detach({into})
                with open(into, "wb") as stream:
                    pickle.dump(call(), stream, pickle.HIGHEST_PROTOCOL)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(into)
        self._stream: IO[bytes] = open(out, "rb")  # noqa: SIM115

    def result(self) -> Value | None:
        """The result; None where the fork failed."""
        status = 1
        try:
            data = self._stream.read()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            raise
        finally:
            self._stream.close()
            with contextlib.suppress(ChildProcessError):  # other code has waited for it
                status = os.waitpid(self._pid, 0)[1]
        found: Value | None = None if status else pickle.loads(data)
        return found


def _detach(open_descriptors: set[int]) -> None:
    """Drop what the child inherits besides memory: terminal, locks, pipes to other children, signal handlers."""
    for name in _SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in open_descriptors:
            with contextlib.suppress(OSError):
                os.close(int(name))


_THREADS = 2


class BackgroundCall(Generic[Value]):
    """A call in a thread of its own. Without the kernel it is made when its result is requested."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._values: list[Value] = []
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = None
        if native() is not None:
            self._thread = threading.Thread(target=self._run)
            try:
                self._thread.start()
            except RuntimeError:  # no more threads are available
                self._thread = None

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # raised by result()
            self._failed = error

    def join(self) -> None:
        """Wait for the end of the call."""
        if self._thread is not None:
            self._thread.join()

    def result(self) -> Value:
        if self._thread is None and not self._values and self._failed is None:
            self._run()
        self.join()
        if self._failed is not None:
            raise self._failed
        return self._values.pop()


def run_in_order(calls: Iterable[Callable[[], Value]]) -> Iterator[Value]:
    """The results of calls in order; the next calls run while the caller uses a result."""
    running: deque[BackgroundCall[Value]] = deque()
    try:
        for call in calls:
            running.append(BackgroundCall(call))
            if len(running) > _THREADS:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for each in running:
            each.join()
