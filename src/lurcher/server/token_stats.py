"""Counts the tokens that agents saved: those of the answers they got, compared with what a tuned grep would have printed.

Servers add one line per answer to a file in the user's state folder; no query, path or project name is recorded. When the file
grows, the lines of a day become one per tool. Writers hold a shared lock, compaction an exclusive one. A line that a crash cut
short is skipped.
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

from lurcher.config import user_files
from lurcher.errors import ConfigError
from lurcher.runtime.locks import lock
from lurcher.runtime.process import open_file, replace_file

NAME, LOCK = "savings.jsonl", "savings.lock"
MAX_BYTES = 262_144
"""A larger file is compacted."""
MAX_DAYS = 400
_DAY = 86_400
_COUNTS = ("calls", "returned", "grep")


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Answers of one tool, on one day or over several."""

    day: str
    surface: str
    tool: str
    calls: int = 1
    returned: int = 0
    """Tokens of the answers."""
    grep: int = 0
    """Tokens that a tuned grep would have printed of the same files, about a quarter of the characters; 0 if no grep does what
    the tool does."""

    @property
    def saved(self) -> int:
        """Negative if the answers were longer than what the grep would have printed."""
        return self.grep - self.returned if self.grep else 0

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def plus(self, other: TokenCount) -> TokenCount:
        counts = (getattr(self, name) + getattr(other, name) for name in _COUNTS)
        return TokenCount(self.day, self.surface, self.tool, *counts)


def record_answer(surface: str, tool: str, returned: int, grep: int = 0, folder: Path | None = None) -> None:
    """Count one answer of `returned` tokens. Errors are ignored: counting must never disturb an answer."""
    entry = TokenCount(time.strftime("%Y-%m-%d"), surface, tool, 1, returned, grep)
    # A newline before and after: a line that was cut short does not damage the next one.
    line = ("\n" + json.dumps(entry.to_dict()) + "\n").encode()
    with contextlib.suppress(OSError, ConfigError):
        folder = folder or user_files.state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder, exclusive=False):
            size = _append(folder / NAME, line)
        if size > MAX_BYTES:
            with _locked(folder, exclusive=True):
                _compact(folder)


def read(folder: Path | None = None) -> list[TokenCount]:
    """All counts, by day, surface and tool."""
    try:
        path = (folder or user_files.state_folder()) / NAME
        data = path.read_bytes()
    except OSError:
        return []
    return _merge_counts(_parse_lines(data))


def clear(folder: Path | None = None) -> bool:
    """Remove all counts; True if there were any."""
    folder = folder or user_files.state_folder()
    if not (folder / NAME).exists():
        return False
    with _locked(folder, exclusive=True):
        (folder / NAME).unlink(missing_ok=True)
    return True


def last_days(entries: Iterable[TokenCount], days: int, now: float | None = None) -> list[TokenCount]:
    """The counts of the last `days` days, including today."""
    first = time.strftime("%Y-%m-%d", time.localtime((time.time() if now is None else now) - (days - 1) * _DAY))
    return [entry for entry in entries if entry.day >= first]


def by_tool(entries: Iterable[TokenCount]) -> list[TokenCount]:
    """Counts over all days, the tool that saved most first."""
    dateless = (TokenCount("", entry.surface, entry.tool, entry.calls, entry.returned, entry.grep) for entry in entries)
    return sorted(_merge_counts(dateless), key=lambda entry: (-entry.saved, entry.surface, entry.tool))


def _append(path: Path, line: bytes) -> int:
    descriptor = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _compact(folder: Path) -> None:
    """Merge the lines of each day and tool into one, and drop those older than `MAX_DAYS`."""
    path = folder / NAME
    if path.stat().st_size <= MAX_BYTES:  # another process was faster
        return
    recent = last_days(_merge_counts(_parse_lines(path.read_bytes())), MAX_DAYS)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{NAME}-", delete=False) as out:
        try:
            out.writelines(json.dumps(entry.to_dict()) + "\n" for entry in recent)
            out.flush()
            replace_file(out.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(out.name).unlink()
            raise


def _parse_lines(data: bytes) -> Iterator[TokenCount]:
    for line in data.splitlines():
        try:
            entry = json.loads(line)
            found = TokenCount(*(entry[name] for name in TokenCount.__match_args__))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        texts, counts = (found.day, found.surface, found.tool), (found.calls, found.returned, found.grep)
        if all(isinstance(text, str) for text in texts) and all(type(count) is int and count >= 0 for count in counts):
            yield found


def _merge_counts(entries: Iterable[TokenCount]) -> list[TokenCount]:
    sums: dict[tuple[str, str, str], TokenCount] = {}
    for entry in entries:
        key = (entry.day, entry.surface, entry.tool)
        sums[key] = sums[key].plus(entry) if key in sums else entry
    return [sums[key] for key in sorted(sums)]


@contextlib.contextmanager
def _locked(folder: Path, *, exclusive: bool) -> Iterator[None]:
    descriptor = open_file(folder / LOCK, os.O_RDWR | os.O_CREAT)
    try:
        with contextlib.suppress(OSError):  # a system or file system without locks
            lock(descriptor, exclusive=exclusive, wait=True)
        yield
    finally:
        os.close(descriptor)
