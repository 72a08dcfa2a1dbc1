"""Which events of a watched tree matter, and when it is time to look at the tree.

An event only says that something happened; the tree itself says what. So a burst of any size ends in one look, once it has
been quiet for a moment, or at the latest after a few seconds. A path that was looked at in vain (an ignored folder, a log) can
go on changing all day: it is asked for less and less.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lurcher.sources.listing import GENERATED_FOLDERS, INTERNAL_FOLDERS

_IN_GIT = frozenset({".git", ".git/index", ".git/HEAD", ".git/info/exclude"})
"""What in git's own folder decides which files a tree has."""
_RULES = frozenset({".gitignore", ".lurcherignore"})
_GENERATED = frozenset(GENERATED_FOLDERS)
_MOST_IN_VAIN = 20_000


@dataclass(frozen=True, slots=True)
class Pace:
    """All in seconds."""

    quiet: float = 0.2
    """So long nothing may happen before the tree is looked at."""
    latest: float = 3.0
    """So long it may go on before it is looked at all the same."""
    slow: float = 4.0
    """The same for what was looked at in vain; doubled each time."""
    slowest: float = 60.0
    follow: float = 2.0
    """After a change the tree is looked at once more: a system may lose events when there are many."""
    beat: float = 60.0
    """And now and then, whatever was heard."""
    poll: float = 2.0
    """How often it is looked at where nothing can be heard."""


class Burst:
    """What was heard of one tree since it was last looked at."""

    def __init__(self, root: Path, index: Path, pace: Pace) -> None:
        self._base = str(root).rstrip("/") + "/"
        self.index = index
        self._pace = pace
        self._files: Mapping[str, object] = {}
        self._folders: set[str] = {""}
        self._asked: set[str] = set()
        self._in_vain: set[str] = set()
        self._first: float | None = None
        self._last = 0.0
        self._slow_first: float | None = None
        self._slow = pace.slow

    def learn(self, files: Mapping[str, object]) -> None:
        """Take note of the files that the index knows now."""
        if files is self._files:
            return
        self._files = files
        folders = {""}
        for path in files:
            folder = path.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._folders = folders

    def note(self, paths: Iterable[str], now: float) -> None:
        """Something happened to these, which are absolute."""
        index = f"{self.index}/"
        for path in paths:
            if not f"{path}/".startswith(self._base) or f"{path}/".startswith(index):
                continue
            key = self._key(path[len(self._base) :])
            if key is None:
                continue
            if key in self._in_vain:
                self._slow_first = now if self._slow_first is None else self._slow_first
                continue
            self._asked.add(key)
            self._first = now if self._first is None else self._first
            self._last = now

    def _key(self, path: str) -> str | None:
        """What to remember if a look because of `path` is in vain; None where there is no need to look."""
        if path in self._files:
            return path
        parts = path.split("/")
        if not INTERNAL_FOLDERS.isdisjoint(parts):
            return "" if path in _IN_GIT else None
        if parts[-1] in _RULES:
            self._in_vain.clear()
            return path
        folder = ""
        for part in parts:
            folder = f"{folder}/{part}" if folder else part
            if folder not in self._folders:
                # The first folder that holds nothing that is indexed, or the new file itself.
                return None if part in _GENERATED else folder
        return folder

    @property
    def due(self) -> float | None:
        """When to look; None where there is no reason to."""
        times = []
        if self._first is not None:
            times.append(min(self._last + self._pace.quiet, self._first + self._pace.latest))
        if self._slow_first is not None:
            times.append(self._slow_first + self._slow)
        return min(times, default=None)

    def looked(self, files: Mapping[str, object]) -> None:
        """The tree was looked at, and `files` are what the index knows since then."""
        self.learn(files)
        if self._slow_first is not None:
            self._slow = min(self._slow * 2, self._pace.slowest)
        in_vain = {key for key in self._asked if key and key not in files and key not in self._folders and self._holds(key)}
        if len(self._in_vain) + len(in_vain) > _MOST_IN_VAIN:
            self._in_vain.clear()
        if not in_vain <= self._in_vain:
            self._slow = self._pace.slow
        self._in_vain |= in_vain
        self._in_vain = {key for key in self._in_vain if key not in files and key not in self._folders}
        self._asked.clear()
        self._first = self._slow_first = None

    def _holds(self, key: str) -> bool:
        """Whether there is something at `key`: what is gone, or a folder with nothing in it yet, may still become a file."""
        try:
            return bool(os.listdir(self._base + key))
        except NotADirectoryError:
            return True
        except OSError:
            return False
