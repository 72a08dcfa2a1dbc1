"""Runs one command as a fresh process and tells what it cost: wall time, CPU time and memory of its whole process tree."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

SAMPLE_SECONDS = 0.01
TIMED = Path(__file__).resolve().parent / "drivers" / "timed.py"
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
    read, write = os.pipe()
    with TemporaryFile() as out, TemporaryFile() as err, open(read, encoding="utf-8") as report:
        timed = [sys.executable, "-I", "-S", str(TIMED), str(seconds), str(write), *command]
        try:
            process = subprocess.Popen(timed, env=dict(environment), cwd=folder, stdout=out, stderr=err, pass_fds=(write,))
        finally:
            os.close(write)
        tree_rss, figures = _followed(report, sample)
        process.wait()
        out.seek(0)
        err.seek(0)
        output = out.read().decode("utf-8", "replace")
        if not figures or int(figures[0]) not in good:
            message = err.read().decode("utf-8", "replace")[-2000:]
            raise CommandFailed(f"{Path(command[0]).name} ended with {figures[0] if figures else 'no report'}: {message}")
    wall, cpu, largest = float(figures[1]), float(figures[2]), int(figures[3])
    return Cost(wall, cpu, largest, max(tree_rss, largest) if sample else 0, output)


def _followed(report: IO[str], sample: bool | float) -> tuple[int, list[str]]:
    """The peak of what was sampled while a command ran, and what was reported of it; nothing if it could not be started."""
    pid = report.readline().strip()
    if not pid:
        return 0, []
    try:
        # A session of its own makes every descendant recognisable in /proc, orphans included.
        sampler = _Sampler(pid, SAMPLE_SECONDS if sample is True else sample) if sample else None
        figures = report.readline().split()
        return sampler.stop() if sampler else 0, figures
    except BaseException:
        # Whoever stops a benchmark stops what it measures.
        with contextlib.suppress(OSError):
            os.killpg(int(pid), signal.SIGKILL)
        raise


class _Sampler:
    def __init__(self, session: str, seconds: float) -> None:
        self._session, self._seconds = session, seconds
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
