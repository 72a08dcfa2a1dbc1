"""`lurcher index --watch`: one line per update, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.runtime.plural import counted
from lurcher.runtime.terminal import printable, unguarded
from lurcher.runtime.timings import pause
from lurcher.surfaces.cli.progress import Meter

if TYPE_CHECKING:
    from types import FrameType

    from lurcher.indexing.watcher import Notice, Update

_IMPATIENT = 2.0
_MOMENT = 0.01
_GLANCE = 0.1
"""Seconds after which one that waits looks up, should the signal not have interrupted it."""


class _Stopped(KeyboardInterrupt):
    """A class of its own: Python ends by the signal, whatever we return, if a plain one passed through `exec` of a text, as it
    can while dataclasses are being made."""


class _Stop(threading.Event):
    """One that a handler of signals may set: an ordinary one has a lock, which whoever was interrupted may hold."""

    _stopped = False

    def is_set(self) -> bool:
        return self._stopped

    def set(self) -> None:
        self._stopped = True

    def wait(self, timeout: float | None = None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._stopped:
            left = _GLANCE if deadline is None else min(_GLANCE, deadline - time.monotonic())
            if left <= 0:
                break
            pause(left)
        return self._stopped


def run(open_engine: Callable[[Namespace], Any], parsed: Namespace) -> None:
    """Watch until a signal comes; that is how it is meant to end, so it is no error."""
    stop = _Stop()
    screen = _Screen(quiet=parsed.quiet, as_json=parsed.json)
    try:
        with _signals(stop), open_engine(parsed) as engine:
            screen.several = len(engine.roots) > 1
            engine.watch(screen.tell, stop=stop, rebuild=parsed.rebuild, progress=screen.progress)
    except (KeyboardInterrupt, Exception):
        # Once the signal has come, whatever fails fails because of it: an interrupted import raises what it likes.
        if not stop.is_set():
            raise
        screen.end()
    finally:
        screen.clear()


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """The first signal interrupts whatever is going on. More of them within a moment do not disturb the tidying up."""
    first = 0.0
    unheard = False
    again: list[threading.Timer] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal first, unheard
        if unheard or not stop.is_set() or time.monotonic() - first > _IMPATIENT:
            first, unheard = time.monotonic(), False
            stop.set()
            raise _Stopped

    def passed_over(error: sys.UnraisableHookArgs) -> None:
        """Where Python lets no error through, as in what it calls when an object goes away, it comes again a moment later."""
        nonlocal unheard
        if isinstance(error.exc_value, _Stopped):
            unheard = True
            again.append(threading.Timer(_MOMENT, os.kill, (os.getpid(), signal.SIGINT)))
            again[-1].start()
        else:
            tell(error)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    tell, sys.unraisablehook = sys.unraisablehook, passed_over
    try:
        yield
    finally:
        sys.unraisablehook = tell
        for timer in again:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


class _Screen:
    """What is told goes to stderr as lines; or, for programs, updates go to stdout as JSON."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._json = quiet, as_json
        self.several = False
        """Whether lines have to tell which root they are about."""
        self._meter: Meter | None = None

    def progress(self, what: str, done: int, total: int) -> None:
        if self._meter is None:
            self._meter = Meter(self._quiet)
        self._meter.update(what, done, total)

    def clear(self) -> None:
        """Take the progress off the screen; what comes next begins a new one."""
        meter, self._meter = self._meter, None
        if meter is not None:
            meter.clear()

    def tell(self, news: Update | Notice) -> None:
        self.clear()
        from lurcher.indexing.watcher import Update

        if isinstance(news, Update):
            if self._json:
                stream = sys.stdout if sys.stdout.isatty() else unguarded(sys.stdout)
                stream.write(json.dumps(news.to_dict(), ensure_ascii=sys.stdout.isatty()) + "\n")
                stream.flush()
            self._say(self._line(news))
        elif news.serious or not self._quiet:
            what = "lurcher" if news.serious else "note"
            hint = f" ({printable(news.hint)})" if news.hint else ""
            print(f"{what}: {printable(news.message)}{hint}", file=sys.stderr, flush=True)

    def end(self) -> None:
        self._say("stopped")

    def _say(self, line: str) -> None:
        if not self._quiet and not self._json:
            print(line, file=sys.stderr, flush=True)

    def _line(self, update: Update) -> str:
        counts = (("changed", update.changed), ("added", update.added), ("removed", update.removed))
        done = ", ".join(f"{count:,} {what}" for what, count in counts if count)
        if update.first:
            start = f"{done} in {update.ms:,.0f} ms; " if done else ""
            files = counted(update.files, "file")
            return f"{start}watching {files} in {printable(update.root)}, generation {update.generation}"
        where = f"{printable(Path(update.root).name)}: " if self.several else ""
        return f"{time.strftime('%H:%M:%S')}  {where}{done} in {update.ms:,.0f} ms, generation {update.generation}"
