"""Segments of every schema and indexes of every corpus, for tests that hold for all: code, notes and history."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lurcher.corpora.history.build import HistorySegmentBuilder
from lurcher.corpora.history.schema import COMMITS, HistorySegment
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.engine import Engine
from lurcher.indexing.build import build_segment
from lurcher.inspect.doctor import PROBLEM, Finding
from lurcher.inspect.doctor.index_files import check_folder, check_history, check_index
from lurcher.storage.container import Container
from lurcher.storage.segment import FILES, Schema, Segment
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.table_snapshot import TableSnapshot
from lurcher.types import Answer, silent
from tests.corpora.history.commits import change, commit
from tests.corpora.history.repo import Repo
from tests.indexing.conftest import QUESTIONS, TREE, opened, write
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


VAULT = {
    "Pools.md": (
        "---\ntags: [server]\ndate: 2024-05-01\n---\n# Pools\n\nConnections are kept, see [[Cookies]].\n\n## Limits\n\n20\n"
    ),
    "web/Cookies.md": (
        "---\naliases: [biscuits]\n---\n# Cookies\n\nA session keeps cookies in a [pool](../Pools.md#limits). #web\n"
    ),
    "Redirects.md": "# Redirects\n\nThe client follows redirects, and keeps [[biscuits]].\n",
}
NOTE_QUESTIONS = ("how are cookies kept", "pool limits", "redirects", "zeppelin")
COMMIT_QUESTIONS = ("fix number", "alpha", "limit of cookies", "revert")


class Kept(ABC):
    """An index on disk, of two segments."""

    root: Path
    folder: Path
    rebuild_hint = "lurcher index --rebuild"

    def ask(self) -> tuple[object, list[str]]:
        """All that the index says, opened anew; and the notes that came with it."""
        with opened(self.root) as engine:
            found = self._asked(engine)
        return [[hit.to_dict() for hit in answer.hits] for answer in found], [
            note.reason for answer in found for note in answer.degraded
        ]

    @abstractmethod
    def _asked(self, engine: Engine) -> list[Answer]: ...

    def index(self, *, rebuild: bool = False) -> None:
        with opened(self.root) as engine:
            engine.index(rebuild=rebuild)

    @abstractmethod
    def add(self) -> None:
        """Put something into the source that the index does not have."""

    @abstractmethod
    def take_back(self) -> None: ...

    def files(self) -> list[Path]:
        """The manifest and the segments, and what else an answer is made of."""
        return [self.folder / "manifest", *sorted(self.folder.glob("*.segment")), *sorted(self.folder.glob("*.outcomes"))]

    def problems(self) -> list[Finding]:
        """What `lurcher doctor` finds wrong with it."""
        with opened(self.root) as engine:
            project = engine.projects[0]
            found = [*check_folder(project), *check_index(project, silent, quick=False), *check_history(project, quick=False)]
        return [finding for finding in found if finding.state == PROBLEM]


class KeptCode(Kept):
    first: dict[str, str] = TREE
    second = ("new.py", "def zeppelin(): return parse_cookie\n")

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.folder = self.root / ".lurcher"
        write(self.root, self.first)
        for path in self.root.rglob("*.*"):
            os.utime(path, (10**9, 10**9))
        self.index()
        write(self.root, dict([self.second]))
        os.utime(self.root / self.second[0], (10**9, 10**9))
        self.index()
        assert len(self.files()) == 3

    def _asked(self, engine: Engine) -> list[Answer]:
        return [engine.search(question) for question in (*QUESTIONS, "zeppelin")]

    def add(self) -> None:
        write(self.root, {"x.py": "", "x.md": ""})

    def take_back(self) -> None:
        for name in ("x.py", "x.md"):
            (self.root / name).unlink()


class KeptNotes(KeptCode):
    first = VAULT
    second = ("web/Airships.md", "# Airships\n\nA zeppelin is one, unlike [[Cookies]].\n")

    def _asked(self, engine: Engine) -> list[Answer]:
        found = [engine.notes(question) for question in NOTE_QUESTIONS]
        return [*found, engine.notes("pools", tags=["server"]), engine.notes("cookies", mode="dense")]


class KeptHistory(Kept):
    rebuild_hint = "lurcher index --history --rebuild"

    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder / "repo")
        self.root = self.repo.top
        self.folder = self.root / ".lurcher" / "history"
        for number in range(7):
            files: dict[str, str | bytes | None] = {"src/a.py": f"alpha = {number}\n", f"b{number % 2}.md": f"limit {number}\n"}
            self.repo.commit(f"fix number {number}", files)
            if number == 3:
                self.index()
        self.repo.git("revert", "--no-edit", "HEAD")
        self.index()
        assert len(self.files()) == 4

    def index(self, *, rebuild: bool = False) -> None:
        with opened(self.root) as engine:
            engine.index(history=True, rebuild=rebuild)

    def _asked(self, engine: Engine) -> list[Answer]:
        found = [engine.history(question) for question in COMMIT_QUESTIONS]
        return [*found, engine.history("number", mode="dense"), engine.history("fix", outcomes=["reverted"])]

    def add(self) -> None:
        self.repo.commit("one more", {"x.py": "x = 1\n"})

    def take_back(self) -> None:
        self.repo.git("reset", "-q", "--hard", "HEAD~1")


KEPT: dict[str, Callable[[Path], Kept]] = {"code": KeptCode, "notes": KeptNotes, "history": KeptHistory}
