"""Kills: writers that end at any instant, by a signal that nobody can handle.

What writes is an index (the first, an update, a rebuild, a merge, with workers, slowly), a question that brings it up to date,
a history, a vault of notes, and a watch. Half of the kills come at a step of the protocol, the same one each time that a try is
repeated; the others come at any time.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from lurcher.engine import Engine
from lurcher.indexing.watcher import WatchIntervals
from lurcher.inspect.doctor.checks import PROBLEM, examine
from lurcher.storage import disk
from lurcher.types import silent
from tests.corpora.history.repo import Repo
from tests.drills.drill import Drill
from tests.indexing.conftest import opened, write
from tests.indexing.crashes import edit, small_pieces
from tests.indexing.faults import KNOWN, MARK, Expected, Stop, ended, folder_bytes, forked, orphans, restore, said, watched

WAYS = ("first", "index", "search", "rebuild", "merge", "clear", "slowly", "workers", "notes", "history", "watch")
QUESTIONS = ("cookies and redirects", "Add step 2", "sessions")


class Kills(Drill):
    """The last good generation answers, or the new one, whole; the lock is free, no child lives on, nothing is left over, and
    the next run completes the work, to the answers of a fresh index."""

    name = "kills"
    short, long = 40, 1_400
    cpu_seconds = 120.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._root, self._index = folder / "tree", folder / "index"
        more = {"src/extra.py": "def session_limit(): return 20\n"}
        self._files = {name: text.encode() for name, text in {**KNOWN, **more}.items()}
        write(self._root, KNOWN)
        opened(self._root, self._index).index()
        write(self._root, more)
        opened(self._root, self._index).index()  # the second generation, which is told from one that was made anew
        self._before = said(opened(self._root, self._index))
        self._made = folder_bytes(self._index)
        self._past = _Past(folder)
        self._seconds: dict[str, float] = {}

    def attempt(self, chance: random.Random) -> str | None:
        way = chance.choice(WAYS)
        self.counts[way] += 1
        if way == "history":
            return self._past.attempt(chance, self._strike)
        self._again()
        if way == "first":
            restore(self._index, {})
        edit(self._root, chance)
        if way == "notes":
            text = f"# Note\n\nCookies [[guide]] {chance.random()}\n\n## Pools\n\n#tag\n"
            write(self._root, {f"docs/n{chance.randrange(9)}.md": text})
        reference = self.folder / "fresh"
        before = None if way == "first" else self._before
        expected = Expected(self._root, self._index, before, reference, may_vanish=way == "clear")
        mark = f"{os.getpid()}-{chance.random()}"
        self._strike(way, self._work(way, mark, chance), chance)
        problems = expected.problems(mark)
        if not problems:
            engine = opened(self._root, self._index)
            if unwell := _unwell(self._root, self._index):
                problems["doctor"] = unwell
            if engine.notes("cookies in a pool").total != opened(self._root, reference).notes("cookies in a pool").total:
                problems["wrong"] = "notes are not those of a fresh index"
        shutil.rmtree(reference)
        return None if not problems else f"{way}: {problems}"

    def _again(self) -> None:
        """The tree and its index as they were at first."""
        for path in [path for path in self._root.rglob("*") if path.is_file()]:
            if (name := path.relative_to(self._root).as_posix()) not in self._files:
                path.unlink()
        for name, data in self._files.items():
            path = self._root / name
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        restore(self._index, self._made)

    def _work(self, way: str, mark: str, chance: random.Random) -> Callable[[], object]:
        pause = chance.uniform(0.0002, 0.002) if way == "slowly" else 0.0

        def work() -> None:
            os.environ[MARK] = mark
            if pause:
                disk.observe_steps(lambda name, path: time.sleep(pause))
            engine = opened(self._root, self._index, workers=2 if way == "workers" else 1)
            with small_pieces(1 if way == "merge" else 3):
                if way == "search":
                    engine.search("cookies")
                elif way == "notes":
                    engine.notes("cookies in a pool")
                elif way == "clear":
                    engine.clear()
                    engine.index()
                elif way == "watch":
                    _watch_a_while(engine)
                else:
                    engine.index(rebuild=way in ("rebuild", "workers"))

        return work

    def _strike(self, way: str, work: Callable[[], object], chance: random.Random) -> bool:
        """Run `work` in a child that is killed at a step, or at a time within what such work takes; whether it was."""
        at_step = way not in ("workers", "watch") and chance.random() < 0.5
        step, fraction = chance.randrange(60), chance.random()
        limit = self._seconds.get(way)
        if limit is None:
            limit = 0.1 if way != "workers" else 0.5

        def child() -> None:
            if at_step:
                with watched(Stop(step)):
                    work()
            else:
                work()

        began = time.monotonic()
        number = forked(child)
        if not at_step:
            until = began + fraction * limit
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, 0.02))
            os.kill(number, signal.SIGKILL)
        status = ended(number, 200)
        if status not in (0, -signal.SIGKILL):
            raise AssertionError(f"{way} ended with {status}")
        if status == 0:  # it was done before: the next one is given less time
            self._seconds[way] = 0.9 * (time.monotonic() - began)
            self.counts["done before the kill"] += 1
        elif not at_step:
            self._seconds[way] = limit * 1.1
        return status != 0


def _watch_a_while(engine: Engine) -> None:
    stop = Event()
    Thread(target=lambda: (time.sleep(1.0), stop.set()), daemon=True).start()
    engine.watch(lambda update: None, stop=stop, pace=WatchIntervals())


def _unwell(root: Path, index: Path) -> str:
    """What the doctor has to say of an index that ought to be sound."""
    with opened(root, index) as engine:
        found = [finding for finding in examine(engine.projects[0], silent) if finding.state == PROBLEM]
    return "; ".join(f"{finding.check}: {finding.message}" for finding in found)


class _Past:
    """A repository whose history is indexed and grows."""

    def __init__(self, folder: Path) -> None:
        self._repo = Repo(folder / "past")
        self._root, self._index = self._repo.top, folder / "past-index"
        for number in range(12):
            self._commit(number, "Cookies and redirects")
        with opened(self._root, self._index) as engine:
            engine.index(history=True)
        self._made = _deep_bytes(self._index)
        self._old = self._said(self._index)
        for number in range(12, 18):
            self._commit(number, "Sessions")
        self._repo.git("revert", "--no-edit", "HEAD~2")
        with opened(self._root, folder / "past-fresh") as engine:
            engine.index(history=True)
        self._new = self._said(folder / "past-fresh")

    def _commit(self, number: int, about: str) -> None:
        changed = {f"s{number % 4}.py": f"step = {number}\n"}
        self._repo.commit(f"Add step {number}\n\n{about} of step {number}.", changed)

    def _said(self, index: Path) -> list[tuple[int, list[str]]]:
        with opened(self._root, index) as engine:
            answers = [engine.history(question, refresh=False) for question in QUESTIONS]
            return [(answer.total, [hit.commit["sha"] for hit in answer.hits if hit.commit]) for answer in answers]

    def attempt(self, chance: random.Random, strike: Callable[..., bool]) -> str | None:
        shutil.rmtree(self._index, ignore_errors=True)
        first = chance.random() < 0.3
        for name, data in {} if first else self._made.items():
            path = self._index / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        mark = f"{os.getpid()}-{chance.random()}"

        def work() -> None:
            os.environ[MARK] = mark
            with opened(self._root, self._index) as engine:
                engine.index(history=True)

        strike("history", work, chance)
        if alive := orphans(mark):
            return f"history: processes {alive} live on"
        if not first and self._said(self._index) not in (self._old, self._new):
            return "history: neither the last generation nor the new one answers"
        with opened(self._root, self._index) as engine:
            engine.index(history=True)
        if self._said(self._index) != self._new:
            return "history: the next run does not answer as a fresh index does"
        left = [str(path) for path in self._index.rglob("*") if path.suffix == ".tmp"]
        return f"history: left over: {left}" if left else (_unwell(self._root, self._index) or None)


def _deep_bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DRILL = Kills
