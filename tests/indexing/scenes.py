"""What a writer does to an index: each kind of change, ready to be done over and over."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lurcher import config
from lurcher.corpora.history import update
from lurcher.corpora.history.index import HistoryIndex, HistoryView
from lurcher.engine import Engine
from lurcher.errors import CorruptIndex, IndexError_
from lurcher.indexing.root_index import RootIndex
from lurcher.sources import Root
from tests.corpora.history.repo import Repo, dump_snapshot, open_history, silent
from tests.indexing.conftest import opened, write
from tests.indexing.crashes import small_pieces
from tests.indexing.faults import (
    KNOWN,
    Expected,
    Failing,
    folder_bytes,
    leftovers,
    lock_is_free,
    orphans,
    recorded,
    restore,
    said,
    watched,
    worth_trying,
)  # fmt: skip

_HISTORY_PLACES = 7


class Scene:
    """An index that is about to be changed: what was there before, what the change is, and what must hold after it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.root, self.index = folder / "tree", folder / "index"
        write(self.root, KNOWN)
        before: str | None = None
        if name == "seed":
            self.other = folder / "other"
            write(self.other, {**KNOWN, "src/extra.py": "def session_limit(): return 20\n"})
            opened(self.other).index()
        elif name not in ("first build", "first build in pieces"):
            self._make()
            before = said(opened(self.root, self.index))
        self._edit()
        self.whole = name != "heal"
        self.files = folder_bytes(self.index)
        self.expected = Expected(self.root, self.index, before, folder / "fresh", may_vanish=name == "clear")
        self.steps = self._record()
        self.places = worth_trying(self.steps)

    def _record(self) -> list[tuple[str, Path]]:
        """The steps of the change once they are the same twice: what is done about files just written takes more of them."""
        steps = recorded(self.act)
        for _ in range(10):
            self.again()
            before, steps = steps, recorded(self.act)
            if [name for name, _ in steps] == [name for name, _ in before]:
                break
        return steps

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
            write(self.root, {"docs/guide.md": "# Guide\n\nThe pool keeps cookies, see [[boundaries]].\n"})
            (self.root / "docs/notes.md").unlink()
            (self.root / "docs/limits.md").rename(self.root / "docs/boundaries.md")

    def act(self, engine: Engine | None = None) -> None:
        """Bring the index up to date, as `name` says."""
        engine = engine or opened(self.root, self.index, workers=1)
        if self.name == "rebuild":
            engine.index(rebuild=True)
        elif self.name == "clear":
            engine.clear()
        elif self.name == "heal":
            engine.search("cookies")
        elif self.name == "seed":
            engine.index(seed=self.other)
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
        self.name = name.removesuffix(" of history")
        self.repo, self.top = Repo(folder / "repo"), folder / "index"
        self.index = self.top / "history"
        self._add_commits(9, "Add")
        if self.name == "seed":
            self.other = folder / "other"
            self.repo.git("clone", "-q", str(self.repo.top), str(self.other))
            HistoryIndex.for_root(RootIndex(Root(self.other, True, ""), config.load(None))).view(silent, seconds=None)
            self._add_commits(2, "Change")
        elif self.name != "first build":
            self.view(self.open())
            self._add_commits(2, "Change")
            self.view(self.open())
        self._edit()
        self.whole = self.name != "heal"
        self.files = folder_bytes(self.index)
        self.may_vanish = self.name == "clear"
        self.generations = [] if self.name in ("first build", "seed", "heal") else [said_of_history(self._reader())]
        fresh = open_history(self.repo.top, folder / "fresh", batch=1000)
        self.after = said_of_history(fresh.view(silent, seconds=None))
        self.expected = self
        self.again()
        self.steps = self._recorded()
        places = worth_trying(self.steps)
        self.places = places[:: max(1, len(places) // _HISTORY_PLACES)]

    def _add_commits(self, count: int, verb: str) -> None:
        for number in range(count):
            files = {"src/a.py": f"alpha = {number}\n" * 3, f"b{number % 2}.md": f"{verb} {count} one\n"}
            self.repo.commit(f"{verb} number {number}", {**files})
        self.repo.now += 60
        self.repo.git("revert", "--no-edit", "HEAD")

    def _edit(self) -> None:
        if self.name == "update":
            self._add_commits(4, "Fix")
        elif self.name == "rewrite":  # most of what is indexed is no longer reachable, and gone for good
            self.repo.git("reset", "-q", "--hard", "HEAD~7")
            self.repo.now += 600
            self.repo.git("commit", "-q", "--amend", "-m", "Amended")
            self._add_commits(1, "Fix")
            self.repo.git("reflog", "expire", "--expire=now", "--all")
            self.repo.git("gc", "-q", "--prune=now")
        elif self.name == "heal":
            victim = max(self.index.glob("*.segment"), key=lambda path: path.stat().st_size)
            data = bytearray(victim.read_bytes())
            data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
            victim.write_bytes(data)

    def _recorded(self) -> list[tuple[str, Path]]:
        """The steps of the change; every generation on the way is kept, as a killed writer may leave each of them."""
        steps: list[tuple[str, Path]] = []
        seen: list[object] = []

        def watch(name: str, path: Path) -> None:
            steps.append((name, path))
            if self.whole and (identity := self.open().identity()) not in seen:
                seen.append(identity)
                if (view := self._reader()) is not None:
                    self.generations.append(said_of_history(view))

        with watched(watch):
            self.act()
        return steps

    def open(self) -> HistoryIndex:
        index = open_history(self.repo.top, self.top, batch=2)
        if self.name == "seed":
            index.root_index = RootIndex(Root(self.repo.top, True, ""), index.settings, self.top)
            index.root_index.seed = Root(self.other, True, "")
        return index

    def view(self, index: HistoryIndex) -> HistoryView:
        """What answers are made from, after what is damaged was repaired, as a query does."""
        view = index.view(silent, seconds=None)
        try:
            said_of_history(view)
        except CorruptIndex:
            index.repair(silent)
            view = index.view(silent, seconds=None)
        return view

    def act(self, index: HistoryIndex | None = None) -> None:
        index = index or self.open()
        with small_history():
            if self.name == "rebuild":
                index.rebuild(silent)
            elif self.name == "clear":
                index.clear()
            else:
                self.view(index)

    def again(self) -> None:
        if not self.files:
            shutil.rmtree(self.top, ignore_errors=True)  # the folder around it would be there already
        restore(self.index, self.files)

    def _reader(self) -> HistoryView | None:
        return self.open().existing_view()

    def lasting(self) -> dict[str, str]:
        """What is wrong once a run has ended and the power was cut: what it did stays done."""
        view = self._reader()
        if self.may_vanish:
            return {"lasting": "the index that was removed came back"} if view else {}
        return {} if view and said_of_history(view) == self.after else {"lasting": "the new generation is gone again"}

    def problems(self, mark: str = "", *, whole: bool = True) -> dict[str, str]:
        """What is wrong right after a fault and after the next run."""
        found: dict[str, str] = {}
        if mark and (alive := orphans(mark)):
            found["orphans"] = f"processes {alive} live on"
        if not lock_is_free(self.index):
            found["locks"] = "the lock is still held"
        try:
            reader = self._reader() if whole else None
            if reader is None and whole and self.name not in ("first build", "seed") and not self.may_vanish:
                found["lost"] = "the last good generation is gone"
            if reader is not None and said_of_history(reader) not in self.generations:
                found["wrong"] = "no generation of the run answers"
            index = self.open()
            view = self.view(index)
            if said_of_history(view) != self.after or view.degraded:
                found["wrong"] = f"the next run does not answer as a fresh index does: {view.degraded}"
            elif left := leftovers(self.index, {*view.manifest.segments, *view.manifest.further_files}):
                found["left"] = f"left over: {', '.join(left)}"
        except Exception:
            found["wrong"] = traceback.format_exc()
        return found


@contextmanager
def small_history() -> Iterator[None]:
    """Batches and numbers of segments that only a long history has otherwise."""
    kept = update.FIRST_BATCH, update._MAX_SEGMENTS, update._MERGED_AT_ONCE
    try:
        update.FIRST_BATCH, update._MAX_SEGMENTS, update._MERGED_AT_ONCE = 3, 3, 2
        yield
    finally:
        update.FIRST_BATCH, update._MAX_SEGMENTS, update._MERGED_AT_ONCE = kept


def said_of_history(view: HistoryView | None) -> object:
    """All that a generation says, outcomes included."""
    assert view is not None
    outcomes = {sha: (outcome.verdict, len(outcome.evidence)) for sha, outcome in view.verdicts.recorded.items()}
    return dump_snapshot(view.history), outcomes


def right(scene: Scene | HistoryScene, error: int, place: int, *, always: bool) -> str:
    """What is wrong with a run in which the disk fails at a step, and with the one after it."""
    scene.again()
    index = opened(scene.root, scene.index, workers=1) if isinstance(scene, Scene) else scene.open()
    watcher = Failing(place, error, always=always)
    with watched(watcher):
        if scene.name == "clear":
            try:
                index.clear()
            except IndexError_ as problem:
                if os.strerror(error) not in problem.message or not problem.hint:
                    return f"unclear: {problem.message}"
        elif wrong := _right_answer(scene, index, error, place):
            return wrong
    if not watcher.failed:
        return "the step was not reached"
    if not lock_is_free(scene.index):
        return "the lock is still held"
    return str(scene.expected.problems(whole=scene.whole) or "")


def _right_answer(scene: Scene | HistoryScene, index: Engine | HistoryIndex, error: int, place: int) -> str:
    if isinstance(scene, Scene):
        assert isinstance(index, Engine)
        scene.act(index)
        answer = index.search("how are redirects followed")
        heard, degraded = said(index), answer.degraded
    else:
        assert isinstance(index, HistoryIndex)
        scene.act(index)
        view = index.view(silent)
        heard, degraded = said_of_history(view), view.degraded
    if heard != scene.expected.after:
        return f"the answer is wrong: {degraded}"
    told = any(os.strerror(error) in note.reason and "in memory only" in note.reason for note in degraded)
    # What only tidies up, or asks for the time, may fail in silence.
    if not told and scene.steps[place][0] not in ("remove", "touch"):
        return f"the answer does not say that the disk failed: {degraded}"
    return ""
