"""A stopwatch for the parts of an answer, and waiting that survives changes of the system clock."""

from __future__ import annotations

import time

from lurcher.runtime.light import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Waitable(Protocol):
    """A process like `subprocess.Popen`."""

    def wait(self, timeout: float | None = None) -> int: ...


class Stopwatch:
    """Named laps in milliseconds; laps with one name add up."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        """Continue from an earlier result of `total`."""
        self._laps = dict(before or ())
        self._last = time.perf_counter()
        self._started = self._last - self._laps.pop("total", 0.0) / 1000

    def lap(self, name: str) -> None:
        """End a lap and add its time to this name."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + (now - self._last) * 1000
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self._laps, "total": (time.perf_counter() - self._started) * 1000}


_MAX_POLL_SECONDS = 0.02


def pause(seconds: float) -> None:
    """Sleep for a duration.

    `select` gets a duration. `time.sleep` waits for a point in time and may fail or last for days if a clock jumps.
    """
    import select

    try:
        select.select((), (), (), max(0.0, seconds))
    except OSError:  # systems where select needs a file
        time.sleep(max(0.0, seconds))


def wait_for_exit(process: Waitable, seconds: float) -> int | None:
    """The exit code of a process; None if it does not end in time. Polls with `pause`, where `subprocess` would sleep."""
    from subprocess import TimeoutExpired

    waited, moment = 0.0, 0.001
    while True:
        try:
            return process.wait(0)
        except TimeoutExpired:
            if waited >= seconds:
                return None
        pause(moment)
        waited, moment = waited + moment, min(2 * moment, _MAX_POLL_SECONDS)
