"""How long each part of an answer took, and waiting whatever happens to the clocks."""

from __future__ import annotations

import time

from lurcher.runtime.light import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Waitable(Protocol):
    """A process, as `subprocess` has it."""

    def wait(self, timeout: float | None = None) -> int: ...


class Stopwatch:
    """Laps by name, in milliseconds; laps of one name add up."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        """Goes on from a total that was told `before`."""
        self._laps = dict(before or ())
        self._last = time.perf_counter()
        self._started = self._last - self._laps.pop("total", 0.0) / 1000

    def lap(self, name: str) -> None:
        """What was done since the last lap had this name."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + (now - self._last) * 1000
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self._laps, "total": (time.perf_counter() - self._started) * 1000}


_MAX_POLL_SECONDS = 0.02


def pause(seconds: float) -> None:
    """Do nothing for so long.

    The system is told how long, not until when: where a clock jumps in between, `time.sleep` may fail, or last for days.
    """
    import select

    try:
        select.select((), (), (), max(0.0, seconds))
    except OSError:  # a system where there must be something to wait for
        time.sleep(max(0.0, seconds))


def wait_for_exit(process: Waitable, seconds: float) -> int | None:
    """How a process ended, if it does so in time; `subprocess` itself would sleep."""
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
