"""Many processes and threads at one index at once: editors, writers, readers.

    python -m tests.indexing.stress --seconds 60 --seed 1

Editors change two files together under one stamp, so that a mixture of generations would show. A gate, which is not part of
what is tested, keeps anyone from indexing a tree in which only one of the two has been changed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lurcher.engine import Engine
from lurcher.types import Answer
from tests.indexing.conftest import opened, write
from tests.indexing.crashes import small_pieces
from tests.indexing.faults import KNOWN, ended, forked, lock_is_free

PAIR = ("halves/left.py", "far/away/right.ts")
QUESTION = "both halves of the pair"
Role = Callable[["Course", "Clock"], None]
_STAMP = re.compile(r"stamp_(\d+)")


def pair(stamp: int) -> dict[str, str]:
    """Two files that belong together, and others that come and go with them."""
    lines = "".join(f"halves_pair_{i} = 'stamp_{stamp}'\n" for i in range(1 + stamp % 5))
    files = {path: f"// both halves of the pair, here {path}\n{lines}" for path in PAIR}
    return {**files, f"more/m{stamp % 6}.py": f"def cookies_{stamp}(): return 'redirects'\n"}


class Course:
    """One tree with its index, and what those who work on it found."""

    def __init__(self, folder: Path) -> None:
        self.root, self.index, self._folder = folder / "tree", folder / "index", folder
        write(self.root, {**KNOWN, **pair(0)})
        for name in ("gate", "queue"):
            (folder / name).touch()
        (folder / "reports").mkdir()
        self.opened().index()

    def opened(self) -> Engine:
        return opened(self.root, self.index, workers=1, lock_seconds=60)

    @contextlib.contextmanager
    def gate(self, *, alone: bool = False) -> Iterator[None]:
        """Pass together with others who leave the tree as it is, or alone to change it; nobody waits for ever."""
        with open(self._folder / "gate", "rb") as handle:
            with open(self._folder / "queue", "rb") as queue:
                fcntl.flock(queue, fcntl.LOCK_EX)
                fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield

    def stamp(self) -> int:
        """The tree's own; only within the gate."""
        found = _STAMP.search((self.root / PAIR[0]).read_text())
        assert found is not None
        return int(found[1])

    def run(self, seconds: float, seed: int, roles: Sequence[Role]) -> tuple[Counter[str], list[str]]:
        """Have each role played by a process of its own; what they did, and what went wrong."""
        until = time.monotonic() + seconds
        numbers = [
            forked(lambda role=role, number=number: self._play(role, Clock(until, seed * 1000 + number), number))  # type: ignore[misc]
            for number, role in enumerate(roles)
        ]
        statuses = [ended(number, seconds + 60) for number in numbers]
        done: Counter[str] = Counter()
        problems = [f"process {i} ended with {status}" for i, status in enumerate(statuses) if status]
        for path in sorted((self._folder / "reports").iterdir()):
            counts, wrong = json.loads(path.read_text())
            done.update(counts)
            problems += wrong
        if not lock_is_free(self.index):
            problems.append("the lock is still held")
        return done, problems

    def _play(self, role: Role, clock: Clock, number: int) -> None:
        with small_pieces(segments=2):
            role(self, clock)
        (self._folder / "reports" / f"{number}.json").write_text(json.dumps([clock.done, clock.problems]))


class Clock:
    """How long to go on, and what happened meanwhile."""

    def __init__(self, until: float, seed: int) -> None:
        self._read_deadline = until
        self.chance = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.problems: list[str] = []

    def attempt(self, name: str, turn: Callable[[], str]) -> None:
        """Take turns, one at least; what a turn returns is what is wrong with what it saw."""
        first = True
        while (first or time.monotonic() < self._read_deadline) and len(self.problems) < 3:
            first = False
            try:
                problem = turn()
            except Exception:
                problem = traceback.format_exc()
            if problem:
                self.problems.append(f"{name}: {problem}")
            self.done[name] += 1


def wrong_in(answer: Answer, stamp: int | None = None) -> str:
    """What an answer says that no single generation could say; with a `stamp`, that of which generation it must be."""
    stamps: dict[str, set[str]] = {}
    for hit in answer.hits:
        if hit.path in PAIR:
            if f"here {hit.path}" not in hit.text:
                return f"the text of {hit.path} is another file's"
            stamps[hit.path] = set(_STAMP.findall(hit.text))
    if set(stamps) != set(PAIR):
        return f"only {sorted(stamps)} found"
    seen = set.union(*stamps.values())
    if len(seen) != 1:
        return f"a mixture of generations: {stamps}"
    if stamp is not None and seen != {str(stamp)}:
        return f"stamp {seen} where the tree has {stamp}"
    if any("rebuilt" in note.reason or note.stage != "freshness" for note in answer.degraded):
        return f"notes: {answer.degraded}"
    return ""


def edit_and_index(course: Course, clock: Clock) -> None:
    """A writer: change the pair, then bring the index up to date or make it anew."""
    engine = course.opened()

    def turn() -> str:
        with course.gate(alone=True):
            stamp = course.stamp() + 1
            write(course.root, pair(stamp))
            (course.root / f"more/m{(stamp + 3) % 6}.py").unlink(missing_ok=True)
        with course.gate():
            status = engine.index(rebuild=clock.chance.random() < 0.2)
            fresh = wrong_in(course.opened().search(QUESTION, limit=30, check=False), course.stamp())
        return fresh or ("" if status["stale_paths"] == 0 else f"stale after indexing: {status}")

    clock.attempt("edits", turn)


def read(course: Course, clock: Clock) -> None:
    """Readers that never write: a process of its own each time, or one that stays."""
    engine = course.opened()
    last = 0

    def turn() -> str:
        nonlocal last
        which = engine if clock.chance.random() < 0.6 else course.opened()
        answer = which.search(QUESTION, limit=30, **clock.chance.choice(({"check": False}, {"refresh": False})))
        if answer.index.generation < last:
            return f"generation {answer.index.generation} after {last}"
        last = answer.index.generation
        return wrong_in(answer)

    clock.attempt("reads", turn)


def ask(course: Course, clock: Clock) -> None:
    """People who search: each answer is of the tree as it is."""
    engine = course.opened()

    def turn() -> str:
        with course.gate():
            answer = engine.search(QUESTION, limit=30)
            return wrong_in(answer, course.stamp()) or ("" if answer.index.fresh else "not fresh")

    clock.attempt("searches", turn)


def threads(course: Course, clock: Clock) -> None:
    """Several threads with one engine, of which some write, and an engine of another's in the same process."""
    engine = course.opened()

    def reading() -> str:
        return wrong_in(engine.search(QUESTION, limit=30, check=False))

    def searching() -> str:
        with course.gate():
            return wrong_in(engine.search(QUESTION, limit=30), course.stamp())

    def naming() -> str:
        with course.gate():
            found = engine.symbol("Client")
        return "" if [hit.path for hit in found.definitions] == ["src/client.py"] else f"symbol: {found}"

    turns = [("threads", reading), ("threads", reading), ("threads", searching), ("threads", naming)]
    running = [threading.Thread(target=clock.attempt, args=turn) for turn in turns]
    running.append(threading.Thread(target=read, args=(course, clock)))
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


ROLES = (edit_and_index, edit_and_index, read, read, ask, threads)


# -- a tree that stays while its index comes and goes -------------------------------------------------------------------


def come_and_go(course: Course, clock: Clock) -> None:
    """Remove the index, make it, make it anew, ask: in any order, one answer."""
    engine = course.opened()
    expected = [hit.to_dict() for hit in opened(course.root, course.root.parent / f"own-{os.getpid()}").search(QUESTION).hits]

    def turn() -> str:
        way = clock.chance.choice(("clear", "index", "rebuild", "search", "unchecked", "stale", "new"))
        which = course.opened() if way == "new" else engine
        if way == "clear":
            which.clear()
        elif way in ("index", "rebuild"):
            which.index(rebuild=way == "rebuild")
        answer = which.search(QUESTION, check=way != "unchecked", refresh=way != "stale")
        return "" if [hit.to_dict() for hit in answer.hits] == expected else f"{way}: {answer.hits}"

    clock.attempt("comings and goings", turn)


def line(done: Counter[str], problems: Sequence[object], seed: int) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    return f"at once, seed {seed}: {counts}; wrong {len(problems)}"


def main(arguments: list[str] | None = None) -> int:
    from tests.tables import write_tiny

    parser = argparse.ArgumentParser(description="let many processes and threads work on one index")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parsed = parser.parse_args(arguments)
    failed = False
    for roles in (ROLES, (come_and_go,) * 4):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LURCHER_CONFIG"] = os.devnull
            os.environ["LURCHER_DENSE_MODEL"] = str(write_tiny(Path(folder) / "tiny.table"))
            done, problems = Course(Path(folder)).run(parsed.seconds / 2, parsed.seed, roles)
        for problem in problems:
            print(problem)
        print(line(done, problems, parsed.seed))
        failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
