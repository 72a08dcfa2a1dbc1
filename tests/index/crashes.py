"""Kills writers at random times, over and over, on one tree that keeps changing.

    python -m tests.index.crashes --kills 1000 --seed 1

After each kill the last good generation (or the new one, whole) must answer, the lock must be free, no child may live on, and
the next run must complete the work, to the same bytes that a fresh index answers with.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lurcher.index import disk, writer
from tests.index.conftest import opened, write
from tests.index.faults import KNOWN, MARK, Expected, ended, forked, said

WAYS = ("index", "index", "index", "search", "rebuild", "clear", "slowly", "slowly", "workers")
LINES = (
    "def follow_redirects(response):\n    return response.next\n", "# keeps connections and cookies\n",
    "class Session:\n    def parse_cookie(self): pass\n", "type Pool struct {}\n", "redirected = redirects + 1\n",
)  # fmt: skip


@dataclass
class Tally:
    kills: int = 0
    finished: int = 0
    """Children that were done before the signal came."""
    problems: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    ways: Counter[str] = field(default_factory=Counter)

    def line(self, seed: int) -> str:
        counts = ", ".join(f"{kind} {self.problems[kind]}" for kind in ("lost", "wrong", "locks", "orphans", "left"))
        ways = ", ".join(f"{way} {count}" for way, count in sorted(self.ways.items()))
        return f"kills {self.kills} ({ways}), seed {seed}: {counts}"


@contextmanager
def small_pieces(segments: int = 3, shard: int = 400) -> Iterator[None]:
    """Segments merge often, and even a small tree is built in several pieces, by children where those are wanted."""
    wanted = {"MAX_SEGMENTS": segments, "SHARD_BYTES": shard, "PARALLEL_BYTES": shard}
    kept = {name: getattr(writer, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(writer, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(writer, name, value)


def edit(root: Path, chance: random.Random) -> None:
    """Change the tree in a few places."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        files = sorted(path for path in root.rglob("*") if path.is_file())
        path = chance.choice(files)
        kind = chance.choice(("write", "write", "append", "delete", "rename"))
        text = "".join(chance.choice(LINES) for _ in range(chance.randint(1, 12)))
        if kind == "write" or len(files) < 8:
            write(root, {f"more/m{chance.randrange(12)}.py": text})
        elif kind == "append":
            path.write_bytes(path.read_bytes()[-2000:] + text.encode())
        elif kind == "delete":
            path.unlink()
        else:
            path.rename(path.with_name(f"r{chance.randrange(10**6)}{path.suffix}"))


class Soak:
    """One tree and its index, with writers that are killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self._folder = folder
        self._root, self._index = folder / "tree", folder / "index"
        self._seconds: dict[str, float] = {}
        self._ways: list[str] = []
        self.tally = Tally()
        write(self._root, KNOWN)
        opened(self._root, self._index).index()
        self._before = said(opened(self._root, self._index))

    def run(self, kills: int) -> Tally:
        for attempt in range(4 * kills):
            if self.tally.kills >= kills or len(self.tally.notes) > 10:
                break
            self._once(attempt)
        return self.tally

    def _once(self, attempt: int) -> None:
        if not self._ways:
            self._ways = self._chance.sample(WAYS, len(WAYS))
        way = self._ways.pop()
        edit(self._root, self._chance)
        expected = Expected(self._root, self._index, self._before, self._folder / "fresh", may_vanish=way == "clear")
        mark = f"{os.getpid()}-{attempt}"
        killed, took = self._strike(self._work(way, mark), way)
        if killed:
            self.tally.kills += 1
            self.tally.ways[way] += 1
        else:
            self.tally.finished += 1
            self._seconds[way] = took
        problems = expected.problems(mark)
        self.tally.problems.update(problems.keys())
        self.tally.notes += [f"attempt {attempt}, {way}: {kind}: {text}" for kind, text in problems.items()]
        self._before = expected.after
        shutil.rmtree(self._folder / "fresh")
        if problems:  # begin again from something sound
            shutil.rmtree(self._index, ignore_errors=True)
            opened(self._root, self._index).index()

    def _work(self, way: str, mark: str) -> Callable[[], object]:
        pause = self._chance.uniform(0.0005, 0.004) if way == "slowly" else 0.0

        def work() -> None:
            os.environ[MARK] = mark
            if pause:
                disk.watch(lambda name, path: time.sleep(pause))
            engine = opened(self._root, self._index, workers=2 if way == "workers" else 1)
            with small_pieces():
                if way == "search":
                    engine.search("cookies")
                elif way == "clear":
                    engine.clear()
                    engine.index()
                else:
                    engine.index(rebuild=way in ("rebuild", "workers"))

        return work

    def _strike(self, work: Callable[[], object], way: str) -> tuple[bool, float]:
        """Run `work` in a child and kill it at a random time, within what such work took before."""
        ready, started = os.pipe()

        def child() -> None:
            os.write(started, b"!")
            work()

        number = forked(child)
        os.close(started)
        os.read(ready, 1)
        os.close(ready)
        begin = time.monotonic()
        limit = self._seconds.get(way)
        if limit is None:  # the first one shows how long it takes
            status = ended(number)
            assert status == 0, f"{way} ended with {status}"
            return False, time.monotonic() - begin
        until = begin + self._chance.uniform(0, limit)
        while time.monotonic() < until:
            time.sleep(max(0.0, min(until - time.monotonic(), 0.05)))
        os.kill(number, signal.SIGKILL)
        status = ended(number)
        if status not in (0, -signal.SIGKILL):
            self.tally.problems["wrong"] += 1
            self.tally.notes.append(f"{way} ended with {status}")
        return status == -signal.SIGKILL, limit * 0.9


def main(arguments: list[str] | None = None) -> int:
    from tests.tables import write_tiny

    parser = argparse.ArgumentParser(description="kill writers at random times and look at what is left")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parsed = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LURCHER_CONFIG"] = os.devnull
        os.environ["LURCHER_DENSE_MODEL"] = str(write_tiny(Path(folder) / "tiny.table"))
        tally = Soak(Path(folder), parsed.seed).run(parsed.kills)
    for note in tally.notes:
        print(note)
    print(tally.line(parsed.seed))
    print(f"{time.monotonic() - began:.0f} seconds; {tally.finished} writers were done before the signal and are not counted")
    return 1 if tally.notes or tally.kills < parsed.kills else 0


if __name__ == "__main__":
    sys.exit(main())
