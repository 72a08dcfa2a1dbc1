"""How long each part of an answer took."""

from __future__ import annotations

import time

from lurcher.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Clock:
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
