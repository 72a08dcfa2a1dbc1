"""Runs one command as a fresh process and tells what it cost: wall time, CPU time and memory of its whole process tree."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

SAMPLE_SECONDS = 0.01
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SESSION, _RSS = 3, 21  # places in /proc/PID/stat, counted from the field after the command's name


class CommandFailed(Exception):
    """The measured command did not end with the expected status."""


@dataclass(frozen=True, slots=True)
class Cost:
    wall: float
    """Seconds from start to exit."""
    cpu: float
    """User and system seconds of the process and of every descendant it waited for."""
    largest_rss: int
    """Bytes: the high-water mark of the largest single process."""
    tree_rss: int
    """Bytes: the largest sampled sum over all live processes, shared pages counted in each; 0 when not sampled."""
    output: str


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    sample: bool | float = False,
    seconds: float = 1800.0,
    good: Sequence[int] = (0,),
    folder: Path | None = None,
) -> Cost:
    """Run a command to its end. Sampling memory (or so many seconds apart) disturbs the time, so timed runs go without."""
    with TemporaryFile() as out, TemporaryFile() as err:
        started = time.perf_counter()
        # A session of its own makes every descendant recognisable in /proc, orphans included.
        process = subprocess.Popen(
            command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        limit = threading.Timer(seconds, process.kill)
        limit.start()
        sampler = _Sampler(process.pid, SAMPLE_SECONDS if sample is True else sample) if sample else None
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        tree_rss = sampler.stop() if sampler else 0
        out.seek(0)
        err.seek(0)
        output = out.read().decode("utf-8", "replace")
        if process.returncode not in good:
            message = err.read().decode("utf-8", "replace")[-2000:]
            raise CommandFailed(f"{Path(command[0]).name} ended with {process.returncode}: {message}")
    largest = usage.ru_maxrss * 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, largest, max(tree_rss, largest) if sample else 0, output)


class _Sampler:
    def __init__(self, session: int, seconds: float) -> None:
        self._session, self._seconds = str(session), seconds
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(self._seconds):
            self._peak = max(self._peak, self._now())

    def _now(self) -> int:
        pages = 0
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].decode().split()
                if fields[_SESSION] == self._session:
                    pages += int(fields[_RSS])
        return pages * _PAGE

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self._peak
