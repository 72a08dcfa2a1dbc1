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
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from lurcher.engine import Engine
from lurcher.indexing.watcher import WatchIntervals
from lurcher.inspect.doctor.checks import PROBLEM, examine
from lurcher.storage import disk
from lurcher.types import silent
from tests.corpora.history.repo import Repo
from tests.drills.drill import Drill
from tests.indexing.conftest import opened, write
from tests.indexing.crashes import edit, small_pieces
from tests.indexing.faults import (
    KNOWN,
    MARK,
    Expected,
    Stop,
    ended,
    folder_bytes,
    forked,
    lock_is_free,
    orphans,
    restore,
    said,
    watched,
)  # fmt: skip
from tests.indexing.scenes import small_history

WAYS = ("first", "index", "search", "rebuild", "merge", "clear", "slowly", "workers", "watch", *("notes", "history") * 4)
QUESTIONS = ("cookies and redirects", "Add step 2", "sessions")
Heard = list[tuple[int, list[dict[str, Any]]]]


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
            return self._past.attempt(chance, self._strike, self.counts)
        self._again()
        if way == "first":
            restore(self._index, {})
        edit(self._root, chance)
        if way == "notes":
            self._edit_notes(chance)
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
            if _notes_said(engine) != _notes_said(opened(self._root, reference)):
                problems["wrong"] = "notes are not those of a fresh index"
        shutil.rmtree(reference)
        return None if not problems else f"{way}: {problems}"

    def _edit_notes(self, chance: random.Random) -> None:
        """Write, rename and delete notes that others refer to."""
        text = f"---\ntags: [pool]\n---\n# Note\n\nCookies [[guide]] {chance.random()}\n\n## Pools\n\nSee [[notes]]. #tag\n"
        write(self._root, {f"docs/n{chance.randrange(9)}.md": text})
        for name in chance.sample(("guide", "notes", "limits"), 2):
            path = self._root / f"docs/{name}.md"
            if path.exists():
                if chance.random() < 0.5:
                    path.unlink()
                else:
                    path.rename(path.with_name(f"{name}{chance.randrange(9)}.md"))

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


def _notes_said(engine: Engine) -> list[object]:
    answers = [engine.notes(question, limit=30) for question in ("cookies in a pool", "the guide")]
    return [[hit.to_dict() for hit in answer.hits] for answer in (*answers, engine.notes("cookies", tags=["pool"]))]


def _unwell(root: Path, index: Path) -> str:
    """What the doctor has to say of an index that ought to be sound."""
    with opened(root, index) as engine:
        found = [finding for finding in examine(engine.projects[0], silent) if finding.state == PROBLEM]
    return "; ".join(f"{finding.check}: {finding.message}" for finding in found)


class _Past:
    """A repository whose history is indexed, and then grows, is amended, rebased, cut back, merged, switched or collected."""

    def __init__(self, folder: Path) -> None:
        self._repo, self._gone = Repo(folder / "past"), Repo(folder / "collected")
        self._folder = folder
        for number in range(12):
            self._commit(self._repo, number, "Cookies and redirects")
        self._tips = self._rewritten(self._repo)
        self._made = self._indexed(self._repo)
        self._old = self._said(self._repo, folder / "past-index")
        self._new: dict[str, Heard] = {}
        self._collected = self._rewrite_and_collect()

    def _commit(self, repo: Repo, number: int, about: str) -> None:
        changed = {f"s{number % 4}.py": f"step = {number}\n", f"n{number % 3}.md": f"# {about}\n\n{number}\n"}
        repo.commit(f"Add step {number}\n\n{about} of step {number}.", changed)  # type: ignore[arg-type]

    def _rewritten(self, repo: Repo) -> dict[str, str]:
        """What HEAD may be moved to from here; it stays where it is."""
        base = repo.head
        tips = {"appended": "", "amended": "", "rebased": "", "cut back": repo.git("rev-parse", "HEAD~7").strip(), "merged": ""}
        for number in range(12, 18):
            self._commit(repo, number, "Sessions")
        repo.now += 60
        repo.git("revert", "--no-edit", "HEAD~2")
        tips["appended"] = repo.head
        repo.git("checkout", "-q", "--detach", base)
        repo.now += 60
        repo.git("commit", "-q", "--amend", "-m", "Add step 11, amended")
        tips["amended"] = repo.head
        repo.git("checkout", "-q", "--detach", f"{base}~5")
        for number in range(7, 12):
            self._commit(repo, number, "Cookies and sessions")
        tips["rebased"] = repo.head
        repo.now += 60
        repo.git("merge", "-q", "-s", "ours", "-m", "Merge both", base)
        tips["merged"] = repo.head
        repo.git("checkout", "-q", "--orphan", "another")
        repo.commit("Begin again", {"s9.py": "step = 9\n"})
        tips["another branch"] = repo.head
        repo.git("checkout", "-q", "-f", "-B", "main", base)
        return tips

    def _indexed(self, repo: Repo) -> dict[str, bytes]:
        index = self._folder / f"{repo.top.name}-index"
        with opened(repo.top, index) as engine:
            engine.index(history=True)
        return _deep_bytes(index)

    def _rewrite_and_collect(self) -> tuple[dict[str, bytes], Heard]:
        """An index of commits that git has no longer."""
        for number in range(8):
            self._commit(self._gone, number, "Cookies and redirects")
        made = self._indexed(self._gone)
        old = self._said(self._gone, self._folder / "collected-index")
        self._gone.git("reset", "-q", "--hard", "HEAD~5")
        self._commit(self._gone, 20, "Sessions")
        self._gone.git("reflog", "expire", "--expire=now", "--all")
        self._gone.git("gc", "-q", "--prune=now")
        return made, old

    def _said(self, repo: Repo, index: Path) -> Heard:
        with opened(repo.top, index) as engine:
            answers = [engine.history(question, refresh=False, limit=40) for question in QUESTIONS]
            return [(answer.total, [hit.to_dict() for hit in answer.hits]) for answer in answers]

    def attempt(self, chance: random.Random, strike: Callable[..., bool], counts: Counter[str]) -> str | None:
        way = chance.choice((*self._tips, "collected"))
        repo, made, old = (self._gone, *self._collected) if way == "collected" else (self._repo, self._made, self._old)
        counts[f"history {way}"] += 1
        index = self._folder / f"{repo.top.name}-index"
        if way != "collected":
            repo.git("checkout", "-q", "-f", "--detach", self._tips[way])
        shutil.rmtree(index, ignore_errors=True)
        first = chance.random() < 0.2
        for name, data in {} if first else made.items():
            path = index / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if way not in self._new:
            fresh = self._folder / f"fresh-{way}"
            with opened(repo.top, fresh) as engine:
                engine.index(history=True)
            self._new[way] = self._said(repo, fresh)
        mark = f"{os.getpid()}-{chance.random()}"
        asked = chance.random() < 0.3

        def work() -> None:
            os.environ[MARK] = mark
            with small_history(), opened(repo.top, index) as engine:
                if asked:
                    engine.history("sessions")
                else:
                    engine.index(history=True)

        strike("history", work, chance)
        return self._problems(repo, index, way, mark, None if first else old)

    def _problems(self, repo: Repo, index: Path, way: str, mark: str, old: Heard | None) -> str | None:
        if alive := orphans(mark):
            return f"history {way}: processes {alive} live on"
        if not lock_is_free(index / "history"):
            return f"history {way}: the lock is still held"
        # A batch is a generation too: it has some of the commits of the new history, and none that is gone.
        if old is not None and (heard := self._said(repo, index)) not in (old, self._new[way]):
            wanted = [{hit["commit"]["sha"] for hit in hits} for _, hits in self._new[way]]
            found = [{hit["commit"]["sha"] for hit in hits} for _, hits in heard]
            if not all(one <= other for one, other in zip(found, wanted, strict=True)):
                return f"history {way}: neither the last generation nor one of the new history answers"
        with opened(repo.top, index) as engine:
            engine.index(history=True)
            engine.index(history=True)  # what a killed writer left goes when nothing else is to do
        if self._said(repo, index) != self._new[way]:
            return f"history {way}: the next run does not answer as a fresh index does"
        left = [str(path) for path in index.rglob("*") if path.suffix == ".tmp"]
        return f"history {way}: left over: {left}" if left else (_unwell(repo.top, index) or None)


def _deep_bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DRILL = Kills
