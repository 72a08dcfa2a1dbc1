"""What a drill is, and how it is run: many tries, each made from a seed and its number alone.

Tries are made in child processes, many to a child. One that crashes its child, takes too much processor time or memory, or
never ends is a failure like any other: it is named, and a new child goes on after it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_FAILURES = 25
"""After so many there is nothing to learn from more."""
_FIRST_WORD = 300.0
"""Seconds in which a child is prepared."""


class Drill(ABC):
    """Something that goes wrong in the world, and what must hold all the same."""

    name: ClassVar[str]
    short: ClassVar[int]
    """Tries in the short form, which takes a few seconds of one processor."""
    long: ClassVar[int]
    cpu_seconds: ClassVar[float] = 30.0
    """Processor time that one try may take in this process."""
    wall_seconds: ClassVar[float] = 240.0
    """How long one may take in all, on a machine with much else to do."""
    memory: ClassVar[int | None] = None
    """Bytes that one may take, beyond what a child has that is ready."""

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        """Prepare what all tries of a process have in common, in an empty folder; `sources` are trees to take examples from."""
        self.folder, self.sources = folder, sources
        self.counts: Counter[str] = Counter()
        """What was tried how often, for the report."""

    @abstractmethod
    def attempt(self, chance: random.Random) -> str | None:
        """One try, which depends on `chance` alone: what is wrong, or None. An exception is wrong, too."""

    def close(self) -> None:  # noqa: B027
        """Whatever has to end before the folder is removed."""

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be held here."""
        return None


@dataclass
class Tally:
    name: str
    seed: int
    tries: int = 0
    asked: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def line(self) -> str:
        short = f" of {self.asked:,} (out of time)" if self.tries < self.asked and not self.failures else ""
        counts = "".join(f", {count:,} {what}" for what, count in sorted(self.counts.items()))
        tries, failures = _counted(self.tries, "try", "tries"), _counted(len(self.failures), "failure", "failures")
        return f"{self.name}: {tries}{short}, {failures}, seed {self.seed}, {self.seconds:.0f} s{counts}"

    def told(self) -> str:
        """The failures, each with the command that repeats it."""
        return "\n".join(self.failure(*entry) for entry in sorted(self.failures))

    def failure(self, number: int, text: str) -> str:
        repeat = f"python -m tests.drills {self.name} --seed {self.seed} --only {number}"
        return f"{self.name}: try {number} failed: {text}\n    repeat: {repeat}"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def run(
    kind: type[Drill],
    tries: int,
    seed: int,
    *,
    first: int = 0,
    jobs: int = 1,
    minutes: float = 30.0,
    sources: Sequence[Path] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Tally:
    """Tries `first` to `first + tries`, by so many processes at a time, for so long at most."""
    tally = Tally(kind.name, seed, asked=tries)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"drill-{kind.name}-", ignore_cleanup_errors=True) as folder:
        followers = [
            _Follower(kind, seed, range(first + job, first + tries, jobs), minutes * 60, sources, Path(folder), tally, tell)
            for job in range(min(jobs, tries))
        ]
        for follower in followers:
            follower.start()
        try:
            for follower in followers:
                follower.join()
        except BaseException:
            for follower in followers:
                follower.stop()
            raise
    tally.seconds = time.monotonic() - began
    return tally


class _Follower(threading.Thread):
    """Sees a child through its tries, and starts another one where it ended early."""

    def __init__(
        self,
        kind: type[Drill],
        seed: int,
        numbers: range,
        seconds: float,
        sources: Sequence[Path],
        folder: Path,
        tally: Tally,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(daemon=True)
        self._kind, self._seed, self._numbers, self._sources = kind, seed, numbers, sources
        self._folder, self._tally, self._tell = folder, tally, tell
        self._deadline = time.monotonic() + seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        left = self._numbers
        while left and not self._stopped and time.monotonic() < self._deadline and not self._enough():
            place = Path(tempfile.mkdtemp(dir=self._folder))
            following = self._follow(left, place)
            shutil.rmtree(place, ignore_errors=True)
            if following is None:
                return
            left = range(following + left.step, left.stop, left.step)

    def stop(self) -> None:
        self._stopped = True
        self._end()

    def _enough(self) -> bool:
        return len(self._tally.failures) >= MOST_FAILURES

    def _follow(self, numbers: range, place: Path) -> int | None:
        """The number of the try that a child did not survive; None where all is done."""
        said = place / "stderr"
        seconds = max(0.0, self._deadline - time.monotonic())
        arguments = [self._kind.name, self._seed, numbers.start, numbers.stop, numbers.step, seconds, place, *self._sources]
        with said.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.drills.drill", *map(str, arguments)], cwd=REPOSITORY, env=_environment(place),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
            )  # fmt: skip
        trying: int | None = None
        try:
            for line in self._lines():
                what, _, rest = line.partition(" ")
                if what == "begin":
                    trying = int(rest)
                elif what == "end":
                    trying = None
                    self._tally.tries += 1
                elif what == "fail":
                    trying = None
                    self._tally.tries += 1
                    self._fail(*json.loads(rest))
                elif what == "counts":
                    self._tally.counts.update(json.loads(rest))
                if self._enough():
                    return None
            status = self._process.wait(60)
        except TimeoutError as error:
            status = str(error)  # type: ignore[assignment]
        finally:
            self._end()
        if status == 0 or self._stopped:
            return None
        last = said.read_text("utf-8", "replace").strip()[-2000:]
        if trying is None:
            self._fail(numbers.start, f"the drill could not go on: {_ended(status)}\n{last}")
            return None
        self._tally.tries += 1
        self._fail(trying, f"{_ended(status)}\n{last}".strip())
        return trying

    def _fail(self, number: int, text: str) -> None:
        self._tally.failures.append((number, text))
        self._tell(self._tally.failure(number, text))

    def _lines(self) -> Sequence[str]:
        """What the child says, line by line, as long as it says something in time."""
        assert self._process is not None and self._process.stdout is not None
        return _said(self._process.stdout.fileno(), _FIRST_WORD, self._kind.wall_seconds)  # type: ignore[return-value]

    def _end(self) -> None:
        """The child and all that it has started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def _said(descriptor: int, first: float, seconds: float):  # type: ignore[no-untyped-def]
    data = b""
    patience = first
    while True:
        if not select.select([descriptor], [], [], patience)[0]:
            raise TimeoutError(f"nothing happened for {patience:.0f} seconds")
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return
        *lines, data = (data + piece).split(b"\n")
        for line in lines:
            yield line.decode()
        patience = seconds


def _ended(status: int | str) -> str:
    if isinstance(status, str):
        return status
    reason = {-signal.SIGPROF: " (too much processor time)", -signal.SIGKILL: " (killed: out of memory?)"}.get(status, "")
    return f"the process ended with {signal.Signals(-status).name}{reason}" if status < 0 else f"exit status {status}"


def _environment(folder: Path) -> dict[str, str]:
    """No setting of whoever runs the drill leaks in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LURCHER_", "GIT_"))}
    kept |= {"LURCHER_CONFIG": os.devnull, "PYTHONUTF8": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return {**kept, "LURCHER_DENSE_MODEL": str(folder / "tiny.table"), "TMPDIR": str(folder)}


# -- the child's side ---------------------------------------------------------------------------------------------------------


def _child(name: str, seed: str, start: str, stop: str, step: str, seconds: str, folder: str, *sources: str) -> None:
    from lurcher.storage import disk
    from tests.drills import drill_named
    from tests.tables import write_tiny

    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a drill prints is no report
    deadline = time.monotonic() + float(seconds)
    write_tiny(Path(folder) / "tiny.table")
    disk.os.fsync = lambda descriptor: None  # type: ignore[attr-defined]  # nothing here has to survive a power cut
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    work = Path(folder) / "w"
    work.mkdir()
    kind = drill_named(name)
    drill = kind(work, [Path(source) for source in sources])
    if kind.memory is not None:
        _limit(kind.memory)
    try:
        for number in range(int(start), int(stop), int(step)):
            if time.monotonic() > deadline:
                break
            channel.write(f"begin {number}\n")
            signal.setitimer(signal.ITIMER_PROF, kind.cpu_seconds)
            try:
                wrong = drill.attempt(random.Random(f"{seed}/{name}/{number}"))
            except Exception:
                wrong = traceback.format_exc()
            signal.setitimer(signal.ITIMER_PROF, 0)
            channel.write(f"end {number}\n" if wrong is None else f"fail {json.dumps([number, wrong[-4000:]])}\n")
    finally:
        channel.write(f"counts {json.dumps(drill.counts)}\n")
        drill.close()


def _limit(more: int) -> None:
    """Bound this process's memory to what it has now and so much more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    _child(*sys.argv[1:])
