"""`lurcher index`: the index of a tree or of a library; with `--watch` one line per update, until Ctrl-C.

Also `lurcher export`, and `lurcher projects`, which lists those of a shared store.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import UsageError
from lurcher.runtime.process import format_count, interrupt_self, pause, printable, raw_stream, replace_file
from lurcher.surfaces.cli import print_inspect, printer
from lurcher.surfaces.cli.search_cmd import AGREED, ERROR, FOUND, Meter, engine_for, is_watched, print_json, settings_of
from lurcher.types import Degraded

if TYPE_CHECKING:
    from types import FrameType

    from lurcher.indexing.watcher import Notice, Update

_REPEAT_SECONDS = 2.0
"""A further signal within this time does not interrupt the clean-up."""
_RESEND_SECONDS = 0.01
_POLL_SECONDS = 0.1
"""Seconds between checks for a signal that did not interrupt the wait."""


def run_index(parsed: Namespace) -> int:
    if parsed.clear and (parsed.watch or parsed.rebuild):
        raise UsageError(f"--clear and --{'watch' if parsed.watch else 'rebuild'} contradict each other", "use one of them")
    if parsed.history and (parsed.watch or parsed.clear):
        raise UsageError(f"--history and --{'watch' if parsed.watch else 'clear'} contradict each other", "use one of them")
    if parsed.scip and (parsed.watch or parsed.clear):
        raise UsageError(f"--scip and --{'watch' if parsed.watch else 'clear'} contradict each other", "use one of them")
    for flag in ("watch", "clear", "rebuild"):
        if parsed.seed and getattr(parsed, flag):
            raise UsageError(f"--seed and --{flag} contradict each other", "use one of them")
    if parsed.yes:
        parsed.set.append(AGREED)
    if parsed.library:
        return _index_libraries(parsed)
    if parsed.watch:
        _watch(parsed)
        return FOUND
    with engine_for(parsed) as engine, Meter(parsed.quiet) as meter:
        first = is_watched(parsed) and not (parsed.json or parsed.clear or engine.shares or engine.indexed)
        if parsed.clear:
            status: dict[str, Any] = {"cleared": engine.clear()}
        else:
            status = engine.index(
                rebuild=parsed.rebuild, history=parsed.history, scip=parsed.scip, seed=parsed.seed, progress=meter.update
            )
    if parsed.json:
        print_json(status)
    elif parsed.clear:
        where = " from the store" if engine.shares else ""
        print(f"the index was removed{where}" if status["cleared"] else "there was no index")
    else:
        print_inspect.print_status(status)
    notes = [Degraded(**note) for note in status.get("degraded", ())]
    printer.print_notes(notes)
    if first:
        from lurcher.surfaces.cli.start import suggest_commands

        with engine_for(parsed) as engine:
            suggest_commands(engine)
    return ERROR if any(note.hint for note in notes) else FOUND  # a note without a hint needs no repair


_FIRST_BYTES = {"scip": (b"\n",), "ctags": (b"!_TAG_",)}
"""What an exported file begins with; a file that begins otherwise is not overwritten."""


def run_export(parsed: Namespace) -> int:
    wanted = {format: Path(name) for format in _FIRST_BYTES if (name := getattr(parsed, format))}
    if not wanted:
        raise UsageError("nothing to export", "name a file: --scip FILE or --ctags FILE")
    entries: list[dict[str, Any]] = []
    notes: tuple[Degraded, ...] = ()
    with engine_for(parsed) as engine, Meter(parsed.quiet) as meter:
        for format, path in wanted.items():
            _check_overwrite(path, format)
            done = engine.export(format, folder=path.parent, progress=meter.update)
            _replace_file(path, done.pieces)
            entries.append({"format": format, "path": str(path), "files": done.files, "definitions": done.definitions})
            notes = done.basis.degraded
    if parsed.json:
        print_json({"exports": entries, "degraded": [note.to_dict() for note in notes]})
    else:
        for entry in entries:
            what = f"{format_count(entry['definitions'], 'definition')} of {format_count(entry['files'], 'file')}"
            print(f"{what} written to {printable(entry['path'])}")
        printer.print_notes(notes)
    return FOUND


def _check_overwrite(path: Path, format: str) -> None:
    """An error if there is something else at the path than an earlier export."""
    try:
        with path.open("rb") as handle:
            begin = handle.read(16)
    except FileNotFoundError:
        return
    if begin and not begin.startswith(_FIRST_BYTES[format]):
        raise UsageError(f"{path} is not a file of this format and is not overwritten", "name another file, or remove it")


def _replace_file(path: Path, pieces: Sequence[bytes]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("xb") as handle:
            handle.writelines(pieces)
        replace_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _index_libraries(parsed: Namespace) -> int:
    """Makes, updates or removes the index of installed dependencies."""
    for flag in ("watch", "history", "scip", "seed"):
        if getattr(parsed, flag):
            raise UsageError(f"--{flag} is not for --library", "leave one of them out")
    if parsed.store not in (None, "local"):
        raise UsageError("--store is not for --library: their indexes are kept here", "leave one of them out")
    entries: list[dict[str, Any]] = []
    with engine_for(parsed) as engine, Meter(parsed.quiet) as meter:
        for name in parsed.library:
            if parsed.clear:
                entries.append({"library": name, "cleared": engine.clear_library(name)})
            else:
                entries.append(engine.index_library(name, rebuild=parsed.rebuild, progress=meter.update))
    if parsed.json:
        print_json({"libraries": entries})
    elif parsed.clear:
        for entry in entries:
            name = printable(entry["library"])
            print(f"the index of {name} was removed" if entry["cleared"] else f"there was no index of {name}")
    else:
        print_inspect.print_libraries(entries)
    notes = [Degraded(**note) for entry in entries for note in entry.get("degraded", ())]
    if engine.shares:
        notes.append(Degraded("store", "a shared store has no libraries: their indexes are kept here", ""))
    printer.print_notes(notes)
    return ERROR if any(note.hint for note in notes) else FOUND


# -- watching -----------------------------------------------------------------------------------------------------------


class _Stopped(KeyboardInterrupt):
    """Not a plain KeyboardInterrupt: if one passes through `exec` of a string, as while dataclasses are made, Python exits by
    the signal, whatever status we return."""


class _Stop(threading.Event):
    """An event that a signal handler may set: the lock of an ordinary one may be held by the code that was interrupted."""

    _stopped = False

    def is_set(self) -> bool:
        return self._stopped

    def set(self) -> None:
        self._stopped = True

    def wait(self, timeout: float | None = None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._stopped:
            left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
            if left <= 0:
                break
            pause(left)
        return self._stopped


def _watch(parsed: Namespace) -> None:
    """Watches until a signal comes, which is its normal end and not an error."""
    stop = _Stop()
    screen = _Screen(quiet=parsed.quiet, as_json=parsed.json)
    try:
        with _signals(stop), engine_for(parsed) as engine:
            screen.several = len(engine.roots) > 1
            engine.watch(screen.show, stop=stop, rebuild=parsed.rebuild, progress=screen.progress)
    except (KeyboardInterrupt, Exception):
        # After the signal any failure is its consequence: an interrupted import may raise anything.
        if not stop.is_set():
            raise
        screen.end()
    finally:
        screen.clear()


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """The first signal interrupts the work. More of them within a moment do not disturb the clean-up."""
    first = 0.0
    pending = False
    again: list[threading.Timer] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal first, pending
        if pending or not stop.is_set() or time.monotonic() - first > _REPEAT_SECONDS:
            first, pending = time.monotonic(), False
            stop.set()
            raise _Stopped

    def send_again(error: sys.UnraisableHookArgs) -> None:
        """Where Python cannot raise, as in a finalizer, the signal is sent again a moment later."""
        nonlocal pending
        if isinstance(error.exc_value, _Stopped):
            pending = True
            again.append(threading.Timer(_RESEND_SECONDS, interrupt_self))
            again[-1].start()
        else:
            original(error)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    original, sys.unraisablehook = sys.unraisablehook, send_again
    try:
        yield
    finally:
        sys.unraisablehook = original
        for timer in again:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


class _Screen:
    """Prints updates as lines on stderr or, for programs, as JSON on stdout."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._json = quiet, as_json
        self.several = False
        """Whether there are several roots, so that each line names its own."""
        self._meter: Meter | None = None

    def progress(self, what: str, done: int, total: int) -> None:
        if self._meter is None:
            self._meter = Meter(self._quiet)
        self._meter.update(what, done, total)

    def clear(self) -> None:
        """Removes the progress from the screen; the next update begins a new one."""
        meter, self._meter = self._meter, None
        if meter is not None:
            meter.clear()

    def show(self, news: Update | Notice) -> None:
        self.clear()
        from lurcher.indexing.watcher import Update

        if isinstance(news, Update):
            if self._json:
                stream = sys.stdout if sys.stdout.isatty() else raw_stream(sys.stdout)
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
            files = format_count(update.files, "file")
            return f"{start}watching {files} in {printable(update.root)}, generation {update.generation}"
        where = f"{printable(Path(update.root).name)}: " if self.several else ""
        return f"{time.strftime('%H:%M:%S')}  {where}{done} in {update.ms:,.0f} ms, generation {update.generation}"


def run_projects(parsed: Namespace) -> int:
    from lurcher import config
    from lurcher.sources import find_root
    from lurcher.stores.shared import list_projects

    here = find_root(Path()).path
    found = list_projects(config.load(here, settings_of(parsed)), here)
    if parsed.json:
        print_json(found)
    else:
        print_inspect.print_projects(found)
    return FOUND if found["projects"] else 1
