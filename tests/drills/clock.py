"""Clocks that jump: by days, years or back to the beginning, between questions and in the middle of a watch.

The system's clock is left alone: a small library that the compiler makes here tells the process another time.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.drills.drill import REPOSITORY, Drill

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static volatile long long ahead;
void drill_jump(long long seconds) { ahead = seconds; }
int clock_gettime(clockid_t which, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(which, at);
    if (!status && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) at->tv_sec += ahead;
    return status;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
DAY = 86_400
JUMPS = (1, 3, 60, 3_600, DAY, 7 * DAY, 365 * DAY, 12 * 365 * DAY, 90 * 365 * DAY)
TO_THE_BEGINNING = -1


class Clock(Drill):
    """Every edit is found by the next question, whatever time it is, and commands end well."""

    name = "clock"
    short, long = 4, 120
    cpu_seconds = 120.0

    @classmethod
    def missing(cls) -> str | None:
        if sys.platform != "linux" or shutil.which("cc") is None:
            return "there is no compiler for the library that tells another time"
        return None

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        (folder / "clock.c").write_text(LIBRARY)
        self._library = folder / "clock.so"
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(folder / "clock.c"), "-ldl"]
        subprocess.run(command, check=True, timeout=120)

    def attempt(self, chance: random.Random) -> str | None:
        work = self.folder / "tree"
        shutil.rmtree(work, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-m", "tests.drills.clock", str(work), str(chance.getrandbits(60))], cwd=REPOSITORY,
            env={**_environment(), "LD_PRELOAD": str(self._library)}, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        if done.returncode or done.stdout.strip() != "well":
            return f"exit status {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        return None


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def live(work: Path, chance: random.Random) -> str:
    """Edits and questions at random times; what is wrong, or "well"."""
    from lurcher.engine import Engine
    from tests.drills.commands import said_by, unsound
    from tests.drills.trees import past

    jump = ctypes.CDLL(None).drill_jump
    jump.argtypes = [ctypes.c_longlong]
    real = time.time()
    past(work)
    engine = Engine.open(work, root=work)
    for number in range(5):
        ahead = chance.choice(JUMPS) * chance.choice((1, 1, -1))
        if chance.random() < 0.1:
            ahead = TO_THE_BEGINNING * int(real) + 5
        jump(max(ahead, 5 - int(real)))
        word = f"zebra{number}{chance.randrange(10**6)}"
        (work / f"src/new{chance.randrange(3)}.py").write_text(f"def {word}():\n    return {number}\n")
        way = chance.choice(("same", "fresh", "command", "watch"))
        if way == "watch":
            _watched(engine, jump, chance)
        if way == "fresh":
            engine = Engine.open(work, root=work)
        if way == "command":
            said = said_by(["search", word, work, "--json"])
            if word.encode() not in said.out or said.status:
                return f"{ahead} s ahead, command: {word} is not found: {said}"
        elif not any(word in hit.text for hit in engine.search(word).hits):
            return f"{ahead} s ahead, {way}: {word} is not found"
        others = (
            ["history", "cookies", work], ["stats"], ["status", work], ["doctor", work], ["notes", "redirects", work],
            ["history", "x", work, "--since", "3d"], ["brief", work / "src/client.py"],
        )  # fmt: skip
        for command in chance.sample(others, 2):
            said = said_by(command)
            if wrong := unsound(said, command) or (f"{command} says {said.err!r}" if b"nvalid argument" in said.err else None):
                return f"{ahead} s ahead: {wrong}"
    return "well"


def _watched(engine: object, jump: object, chance: random.Random) -> None:
    """A watch in whose middle the clock jumps."""
    from threading import Event, Thread

    stop = Event()

    def disturb() -> None:
        time.sleep(0.1)
        jump(chance.choice(JUMPS))  # type: ignore[operator]
        time.sleep(0.2)
        stop.set()

    Thread(target=disturb, daemon=True).start()
    engine.watch(lambda update: None, stop=stop)  # type: ignore[attr-defined]


DRILL = Clock

if __name__ == "__main__":
    print(live(Path(sys.argv[1]), random.Random(int(sys.argv[2]))))
