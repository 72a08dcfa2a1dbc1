"""`lurcher index --library NAME`: the index of an installed dependency, made or removed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from lurcher.errors import UsageError
from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli import printer
from lurcher.surfaces.cli.progress import Meter
from lurcher.types import Degraded

FOUND, ERROR = 0, 2


def run(open_engine: Callable[[Namespace], Any], parsed: Namespace, print_json: Callable[[Any], None]) -> int:
    for flag in ("watch", "history"):
        if getattr(parsed, flag):
            raise UsageError(f"--{flag} is not for --library", "leave one of them out")
    if parsed.store not in (None, "local"):
        raise UsageError("--store is not for --library: their indexes are kept here", "leave one of them out")
    entries: list[dict[str, Any]] = []
    with open_engine(parsed) as engine, Meter(parsed.quiet) as meter:
        for name in parsed.library:
            if parsed.clear:
                entries.append({"library": name, "cleared": engine.clear_library(name)})
            else:
                entries.append(engine.index_library(name, rebuild=parsed.rebuild, progress=meter.update))
    if parsed.json:
        print_json({"libraries": entries})
    elif parsed.clear:
        for entry in entries:
            said = "the index of {} was removed" if entry["cleared"] else "there was no index of {}"
            print(said.format(printable(entry["library"])))
    else:
        printer.libraries(entries)
    notes = [Degraded(**note) for entry in entries for note in entry.get("degraded", ())]
    if engine.shares:
        notes.append(Degraded("store", "a shared store has no libraries: their indexes are kept here", ""))
    printer.notes(notes)
    return ERROR if any(note.hint for note in notes) else FOUND
