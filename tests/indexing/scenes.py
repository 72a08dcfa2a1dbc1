"""What a writer does to an index: each kind of change, ready to be done over and over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.engine import Engine
from lurcher.errors import IndexError_
from tests.corpora.history.repo import Repo, dump_snapshot, open_history, silent
from tests.indexing.conftest import opened, write
from tests.indexing.crashes import small_pieces
from tests.indexing.faults import (
    KNOWN,
    PLAIN,
    Expected,
    Failing,
    folder_bytes,
    lock_is_free,
    recorded,
    restore,
    said,
    watched,
    worth_trying,
)  # fmt: skip

_HISTORY_PLACES = 14


class Scene:
    """An index that is about to be changed: what was there before, what the change is, and what must hold after it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.root, self.index = folder / "tree", folder / "index"
        write(self.root, KNOWN)
        before: str | None = None
        if name not in ("first build", "first build in pieces"):
            self._make()
            before = said(opened(self.root, self.index))
        self._edit()
        self.whole = name != "heal"
        self.files = folder_bytes(self.index)
        self.expected = Expected(self.root, self.index, before, folder / "fresh", may_vanish=name == "clear")
        self.steps = recorded(self.act)
        self.places = worth_trying(self.steps)

    def _make(self) -> None:
        """Two generations, so that the last good one is told from one that was made anew."""
        opened(self.root, self.index).index()
        write(self.root, {"src/extra.py": "def session_limit(): return 20\n"})
        opened(self.root, self.index).index()

    def _edit(self) -> None:
        if self.name == "heal":
            victim = max(self.index.glob("*.segment"), key=lambda path: path.stat().st_size)
            data = bytearray(victim.read_bytes())
            data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
            victim.write_bytes(data)
        elif self.name not in ("rebuild", "clear"):
            write(self.root, {"src/new.py": "def follow_cookies(pool):\n    return pool\n", "src/retry.py": "redirects = 7\n"})
            (self.root / "docs/notes.md").unlink()

    def act(self, engine: Engine | None = None) -> None:
        """Bring the index up to date, as `name` says."""
        engine = engine or opened(self.root, self.index, workers=1)
        if self.name == "rebuild":
            engine.index(rebuild=True)
        elif self.name == "clear":
            engine.clear()
        elif self.name == "heal":
            engine.search("cookies")
        elif self.name in ("merge", "first build in pieces"):
            with small_pieces(segments=1):
                engine.index()
        else:
            engine.index()

    def again(self) -> None:
        """As it was before the change."""
        restore(self.index, self.files)


class HistoryScene:
    """The same for an index of history, whose first build and updates come in batches: each is a good generation."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.repo, self.index = Repo(folder / "repo"), folder / "index"
        self.folder = self.index / "history"
        self._add_commits(9)
        if name != "first build of history":
            self.act()
        if name == "update of history":
            self._add_commits(4)
        self.whole = True
        self.files = folder_bytes(self.folder)
        self.after = self._said(open_history(self.repo.top, folder / "fresh", batch=1000).view(silent, seconds=None).history)
        self.expected = self
        self.steps = recorded(self.act)
        places = worth_trying(self.steps)
        self.places = places[:: max(1, len(places) // _HISTORY_PLACES)]

    def _add_commits(self, count: int) -> None:
        for number in range(count):
            files = {"src/a.py": f"alpha = {number}\n" * 3, f"b{number % 2}.md": f"{count} one\n"}
            self.repo.commit(f"fix number {number}", {**files})

    def _said(self, history: HistorySnapshot) -> dict[str, Any]:
        return dump_snapshot(history)

    def act(self) -> None:
        made = open_history(self.repo.top, self.index, batch=2)
        if self.name == "rebuild of history" and made.has_index():
            made.rebuild(silent)
        elif self.name == "clear of history" and made.has_index():
            made.clear()
        else:
            made.view(silent, seconds=None)

    def again(self) -> None:
        if not self.files:
            shutil.rmtree(self.index, ignore_errors=True)  # the folder around it would be there already
        restore(self.folder, self.files)

    def problems(self, *, whole: bool = True) -> dict[str, str]:
        """What is wrong right after a fault and after the next run."""
        found: dict[str, str] = {}
        if not lock_is_free(self.folder):
            found["locks"] = "the lock is still held"
        try:
            opened = open_history(self.repo.top, self.index, batch=2).read_from_disk()
            if opened is None and self.name in ("update of history", "rebuild of history"):
                found["lost"] = "the last good generation is gone"
            if opened is not None:
                self._said(opened[1])
            view = open_history(self.repo.top, self.index, batch=2).view(silent, seconds=None)
            if self._said(view.history) != self.after or view.degraded:
                found["wrong"] = f"the next run does not answer as a fresh index does: {view.degraded}"
            named = {*view.manifest.segments, *view.manifest.further_files}
            if left := sorted({path.name for path in self.folder.iterdir()} - PLAIN - named):
                found["left"] = f"left over: {', '.join(left)}"
        except IndexError_ as problem:
            found["wrong"] = problem.message
        return found


def right(scene: Scene, error: int, place: int, *, always: bool) -> str:
    """What is wrong with a run in which the disk fails at a step, and with the one after it."""
    scene.again()
    engine = opened(scene.root, scene.index, workers=1)
    watcher = Failing(place, error, always=always)
    with watched(watcher):
        if scene.name == "clear":
            try:
                engine.clear()
            except IndexError_ as problem:
                if os.strerror(error) not in problem.message or not problem.hint:
                    return f"unclear: {problem.message}"
        else:
            scene.act(engine)
            answer = engine.search("how are redirects followed")
            if said(engine) != scene.expected.after:
                return "the answer is wrong"
            told = any(os.strerror(error) in note.reason and "in memory only" in note.reason for note in answer.degraded)
            # What only tidies up, or asks for the time, may fail in silence.
            if not told and scene.steps[place][0] not in ("remove", "touch"):
                return f"the answer does not say that the disk failed: {answer.degraded}"
    if not watcher.failed:
        return "the step was not reached"
    if not lock_is_free(scene.index):
        return "the lock is still held"
    return str(scene.expected.problems(whole=scene.whole) or "")
