"""What agents were spared: tokens of the answers they got, against reading the files whole. Counted by servers, kept locally.

One line per answer is added to a file in the user's state folder; no query, no path and no name of a project is kept. The lines
of a day become one per tool when the file grows. Whoever writes holds a lock that several may share; whoever folds lines
together holds it alone. A line that a crash cut short is passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.answer import budget
from lurcher.config import folders
from lurcher.errors import ConfigError

NAME, LOCK = "savings.jsonl", "savings.lock"
MOST_BYTES = 262_144
"""A larger file is folded together."""
MOST_DAYS = 400
_DAY = 86_400
_COUNTS = ("calls", "returned", "whole")


@dataclass(frozen=True, slots=True)
class Sum:
    """Answers of one tool on one day, or of several."""

    day: str
    surface: str
    tool: str
    calls: int = 1
    returned: int = 0
    """Tokens of the answers."""
    whole: int = 0
    """Tokens of the files that the answers are from: about a quarter of their bytes."""

    @property
    def saved(self) -> int:
        return max(0, self.whole - self.returned)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def plus(self, other: Sum) -> Sum:
        counts = (getattr(self, name) + getattr(other, name) for name in _COUNTS)
        return Sum(self.day, self.surface, self.tool, *counts)


def note(surface: str, tool: str, returned: int, files: Iterable[Path], folder: Path | None = None) -> None:
    """Count one answer of so many tokens. It is never in the way: what cannot be counted is not."""
    whole = 0
    for file in files:
        with contextlib.suppress(OSError):
            whole += -(-file.stat().st_size // budget.CHARACTERS_PER_TOKEN)
    entry = Sum(time.strftime("%Y-%m-%d"), surface, tool, 1, returned, whole)
    # A line before and after: one that was cut short spoils no other.
    line = ("\n" + json.dumps(entry.to_dict()) + "\n").encode()
    with contextlib.suppress(OSError, ConfigError):
        folder = folder or folders.state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder, alone=False):
            size = _append(folder / NAME, line)
        if size > MOST_BYTES:
            with _locked(folder, alone=True):
                _fold(folder)


def read(folder: Path | None = None) -> list[Sum]:
    """All that was counted, by day, surface and tool."""
    try:
        path = (folder or folders.state_folder()) / NAME
        data = path.read_bytes()
    except OSError:
        return []
    return _summed(_parsed(data))


def clear(folder: Path | None = None) -> bool:
    """Forget all; True if there was something."""
    folder = folder or folders.state_folder()
    if not (folder / NAME).exists():
        return False
    with _locked(folder, alone=True):
        (folder / NAME).unlink(missing_ok=True)
    return True


def since(entries: Iterable[Sum], days: int, now: float | None = None) -> list[Sum]:
    """Those of the last so many days, today being one."""
    first = time.strftime("%Y-%m-%d", time.localtime((time.time() if now is None else now) - (days - 1) * _DAY))
    return [entry for entry in entries if entry.day >= first]


def by_tool(entries: Iterable[Sum]) -> list[Sum]:
    """Over all days, the tool that saved most first."""
    whole = _summed(Sum("", entry.surface, entry.tool, entry.calls, entry.returned, entry.whole) for entry in entries)
    return sorted(whole, key=lambda entry: (-entry.saved, entry.surface, entry.tool))


def _append(path: Path, line: bytes) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.write(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _fold(folder: Path) -> None:
    """Put the lines of each day and tool into one, and forget what is older than anyone asks for."""
    path = folder / NAME
    if path.stat().st_size <= MOST_BYTES:  # somebody else was first
        return
    kept = since(_summed(_parsed(path.read_bytes())), MOST_DAYS)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{NAME}-", delete=False) as out:
        try:
            out.writelines(json.dumps(entry.to_dict()) + "\n" for entry in kept)
            out.flush()
            os.replace(out.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(out.name).unlink()
            raise


def _parsed(data: bytes) -> Iterator[Sum]:
    for line in data.splitlines():
        try:
            entry = json.loads(line)
            found = Sum(*(entry[name] for name in Sum.__match_args__))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        texts, counts = (found.day, found.surface, found.tool), (found.calls, found.returned, found.whole)
        if all(isinstance(text, str) for text in texts) and all(type(count) is int and count >= 0 for count in counts):
            yield found


def _summed(entries: Iterable[Sum]) -> list[Sum]:
    sums: dict[tuple[str, str, str], Sum] = {}
    for entry in entries:
        key = (entry.day, entry.surface, entry.tool)
        sums[key] = sums[key].plus(entry) if key in sums else entry
    return [sums[key] for key in sorted(sums)]


@contextlib.contextmanager
def _locked(folder: Path, *, alone: bool) -> Iterator[None]:
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        except (ImportError, OSError):  # a system or file system without locks
            pass
        yield
    finally:
        os.close(descriptor)
