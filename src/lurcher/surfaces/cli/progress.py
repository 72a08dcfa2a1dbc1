"""Progress on stderr: one line that is rewritten, only on a terminal and only when there is something to wait for."""

from __future__ import annotations

import sys
import time

from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.terminal import CLEARED

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE = 0.4
_PAUSE = 0.08


class Meter:
    def __init__(self, quiet: bool = False) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._started = time.monotonic()
        self._last = 0.0
        self._shown = False

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the line off the screen, to make room for others."""
        if self._shown:
            self._shown = False
            sys.stderr.write(CLEARED)
            sys.stderr.flush()

    def update(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now - self._started < _PATIENCE or (now - self._last < _PAUSE and done < total):
            return
        self._last = now
        self._shown = True
        share = done / total if total else 0.0
        bar = "█" * round(24 * share)
        sys.stderr.write(f"{CLEARED}{what} {bar:░<24} {done:,}/{total:,}")
        sys.stderr.flush()
