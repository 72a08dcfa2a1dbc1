"""Asks `git grep` for the files that have the words of a query, while the files are still being listed.

It reads tens of thousands of files in the time in which a scan in Python reads a thousand, so a scan of a large tree begins
with what it finds: files that have a name of the query, else those that have all of its first words.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from types import TracebackType

from lurcher.indexing.root_index import RootIndex
from lurcher.sources import git
from lurcher.terms import split, words

_MOST_NAMES, _MOST_WORDS = 12, 5
_OPTIONS = ("grep", "-z", "-l", "-I", "-F", "--no-textconv", "--no-recurse-submodules")


class FileGrep:
    """One `git grep` in each work tree; those that still run at the end are stopped."""

    def __init__(self, projects: Sequence[RootIndex], text: str, stems: Sequence[str]) -> None:
        """`stems` are the beginnings of the query's words, the most telling first."""
        names = [word for word in dict.fromkeys(words(text)) if len(split(word)) > 1][:_MOST_NAMES]
        self._whole = not names and len(stems) > 1
        """Whether all words are wanted. Files come in the order of their paths: the first ones alone would mislead then."""
        wanted = stems[:_MOST_WORDS] if self._whole else names or words(text)[:_MOST_NAMES]
        how = ("-i", "--all-match") if self._whole else ("-w",)
        patterns = [f"-e{word}" for word in wanted]
        self._running: list[subprocess.Popen[bytes] | None] = [
            git.start(project.root.path, *_OPTIONS, *how, *patterns) if project.root.git and patterns else None
            for project in projects
        ]

    def __enter__(self) -> FileGrep:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number in range(len(self._running)):
            git.stop(self._take(number))

    def _take(self, number: int) -> subprocess.Popen[bytes] | None:
        running, self._running[number] = self._running[number], None
        return running

    def files(self, number: int, until: float) -> frozenset[str]:
        """What was found in one work tree until then (monotonic clock), once."""
        finished, output = git.finish_in_time(self._take(number), max(0.0, until - time.monotonic()))
        if self._whole and not finished:
            return frozenset()
        # The last name may be cut short: only what is in the listing counts.
        return frozenset(name.decode("utf-8", "surrogateescape") for name in output.split(b"\0") if name)
