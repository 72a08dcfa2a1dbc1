"""Segments and indexes of every schema, for tests that hold for all: a tree of files, and the history of a repository."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lurcher.corpora.history import update
from lurcher.corpora.history.build import HistorySegmentBuilder
from lurcher.corpora.history.schema import COMMITS, HistorySegment
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.indexing.build import build_segment
from lurcher.storage.container import Container
from lurcher.storage.segment import FILES, Schema, Segment
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.table_snapshot import TableSnapshot
from tests.corpora.history.commits import change, commit
from tests.corpora.history.repo import Repo, dump_snapshot, open_history, silent
from tests.indexing.conftest import QUESTIONS, TREE, in_two_segments, opened, write
from tests.tables import WORDS, table_of

TABLE = table_of(WORDS, dims=16)
ROWS = 9


class Kind(NamedTuple):
    """Segments of one schema."""

    schema: Schema
    build: Callable[[Sequence[int]], SegmentData]
    """A segment of some of the rows 0 to ROWS - 1 of the main table, ascending."""
    open: Callable[[Container], TableSnapshot[Any]]


def _build_files(numbers: Sequence[int]) -> SegmentData:
    endings = ("py", "go", "md", "ts")
    text = "import os{0}\n\n\ndef getUser_{0}(user_id):\n    # session {0} größ\n    return limit * {0}\n\n\nclass P{0}: pass\n"
    return build_segment([(f"d{n}/a{n}.{endings[n % 4]}", text.format(n).encode() * (n % 3)) for n in numbers], 60, TABLE)


def _build_commits(numbers: Sequence[int]) -> SegmentData:
    builder = HistorySegmentBuilder()
    for n in numbers:
        paths = [f"src/a{n}.py", f"docs/größe{n % 2}.md", f"c{n % 3}.go"][: n % 4]
        changes = [change(path, [f"def getUser_{n}(pool):", f"    return {n}"], ["limit = 1"] * (n % 2)) for path in paths]
        builder.add(commit(n, f"Fix session {n}", f"user limit {n}\n", changes=changes))
    return builder.finish(TABLE)


KINDS = {
    "files": Kind(FILES, _build_files, lambda container: Snapshot([Segment(container)], 1)),
    "commits": Kind(COMMITS, _build_commits, lambda container: HistorySnapshot([HistorySegment(container)], 1)),
}


class Kept(ABC):
    """An index on disk, of two segments."""

    folder: Path

    @abstractmethod
    def ask(self) -> tuple[object, list[str]]:
        """All that the index says, opened anew; and the notes that came with it."""

    def files(self) -> list[Path]:
        """The manifest and the segments."""
        return [self.folder / "manifest", *sorted(self.folder.glob("*.segment"))]


class KeptFiles(Kept):
    def __init__(self, folder: Path) -> None:
        write(folder / "tree", TREE)
        self.root = in_two_segments(folder / "tree")
        self.folder = self.root / ".lurcher"

    def ask(self) -> tuple[object, list[str]]:
        engine = opened(self.root)
        found = [engine.search(question) for question in (*QUESTIONS, "zeppelin")]
        hits = [[hit.to_dict() for hit in answer.hits] for answer in found]
        return hits, [note.reason for answer in found for note in answer.degraded]


class KeptHistory(Kept):
    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder / "repo")
        for number in range(7):
            files: dict[str, str | bytes | None] = {"src/a.py": f"alpha = {number}\n", f"b{number % 2}.md": f"limit {number}\n"}
            self.repo.commit(f"fix number {number}", files)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(update, "FIRST_BATCH", 4)
            open_history(self.repo.top, batch=1000).view(silent, seconds=None)
        self.folder = self.repo.top / ".lurcher" / "history"

    def ask(self) -> tuple[object, list[str]]:
        view = open_history(self.repo.top).view(silent, seconds=None)
        return dump_snapshot(view.history), [note.reason for note in view.degraded]


KEPT: dict[str, Callable[[Path], Kept]] = {"files": KeptFiles, "commits": KeptHistory}
