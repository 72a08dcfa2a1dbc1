"""A power cut loses what was not flushed: of every run, each state that may then be found on disk is made and opened.

Killing a process keeps what it wrote; a power cut need not. What the model below takes for possible is the worst that POSIX
allows: a file whose data was not flushed is empty, cut short or full of zeros under its new name, and each name in a folder
that was not flushed is in any of the states that it had since.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lurcher.storage import disk
from tests.indexing.conftest import opened, write
from tests.indexing.faults import KNOWN, Expected, restore, said, watched
from tests.indexing.scenes import HistoryScene, Scene

Entries = dict[str, int]
"""Name → number of the file that it stands for."""
MOST = 48
"""States tried for one step; where more are possible, some of them."""
MOST_OF_HISTORY = 14
"""States tried for one change of a history."""


@dataclass(frozen=True)
class Moment:
    """What a process sees before a step."""

    step: str
    path: Path
    entries: Entries
    contents: dict[int, bytes]


class Recorder:
    """Watches what happens in a folder, step by step. Files are kept open, so that no number is used again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.moments: list[Moment] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._open: list[int] = []

    def __call__(self, step: str, path: Path) -> None:
        entries: Entries = {}
        contents: dict[int, bytes] = {}
        for entry in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            status = entry.stat()
            key = status.st_dev, status.st_ino
            if key not in self._numbers:
                self._numbers[key] = len(self._numbers)
                self._open.append(os.open(entry, os.O_RDONLY))
            entries[entry.name] = self._numbers[key]
            contents[self._numbers[key]] = entry.read_bytes()
        self.moments.append(Moment(step, path, entries, contents))

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


def record(folder: Path, work: Callable[[], object]) -> list[Moment]:
    """The moments before each step of `work`, and the one after the last."""
    recorder = Recorder(folder)
    try:
        with watched(recorder):
            work()
        recorder("end", folder)
    finally:
        recorder.close()
    return recorder.moments


def after_power_cut(moments: list[Moment], place: int, folder: Path) -> Iterator[dict[str, bytes]]:
    """What may be found in the folder when the power was cut before step number `place`."""
    begun = 0
    safe = dict(moments[0].contents)
    lasting = bool(moments[0].entries)
    for number, moment in enumerate(moments[:place]):
        if moment.step == "flush":
            file = moment.entries[moment.path.name]
            safe[file] = moment.contents[file]
        elif moment.step == "link":  # the writer of the other index has flushed it
            after = moments[number + 1]
            file = after.entries[moment.path.name]
            safe[file] = after.contents[file]
        elif moment.step == "flush-folder" and moment.path == folder:
            begun = number
        elif moment.step == "flush-folder" and moment.path == folder.parent:
            lasting = True
    if not lasting:
        yield {}
    now = moments[place]
    possible = {
        name: sorted({moment.entries.get(name, -1) for moment in moments[begun : place + 1]})
        for name in sorted({name for moment in moments[begun : place + 1] for name in moment.entries})
    }
    combinations = list(itertools.islice(itertools.product(*possible.values()), 4096))
    if len(combinations) > MOST:
        combinations = [combinations[0], combinations[-1], *random.Random(place).sample(combinations, MOST - 2)]
    seen = {number: data for moment in moments[: place + 1] for number, data in moment.contents.items()}
    seen.update(now.contents)
    for chosen, loss in itertools.product(combinations, (whole, empty, half, zeros)):
        yield {
            name: seen[file] if safe.get(file) == seen[file] else loss(seen[file])
            for name, file in zip(possible, chosen, strict=True)
            if file >= 0
        }


def whole(data: bytes) -> bytes:
    return data


def empty(data: bytes) -> bytes:
    return b""


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeros(data: bytes) -> bytes:
    return bytes(len(data))


def states(moments: list[Moment], folder: Path) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Every state that differs from the others in more than files which nobody looks at."""
    known: set[tuple[bool, frozenset[tuple[str, bytes]]]] = set()
    for place in range(len(moments)):
        for files in after_power_cut(moments, place, folder):
            key = place == len(moments) - 1, frozenset((n, d) for n, d in files.items() if not n.endswith(".tmp"))
            if key not in known:
                known.add(key)
                yield place, files


def problems_of(moments: list[Moment], expected: Expected | HistoryScene, *, sound: bool = True) -> tuple[int, dict[str, str]]:
    """How many states there are, and what is wrong with each that has something wrong."""
    found: dict[str, str] = {}
    possible = list(states(moments, expected.index))
    if isinstance(expected, HistoryScene) and len(possible) > MOST_OF_HISTORY:  # each costs as much as ten of files
        chosen = random.Random(len(possible)).sample(possible[:-1], MOST_OF_HISTORY - 1)
        possible = [*sorted(chosen, key=lambda state: state[0]), possible[-1]]
    for place, files in possible:
        restore(expected.index, files)
        ended = moments[place].step == "end"
        problem = expected.lasting() if ended and sound else {}
        problem.update(expected.problems(whole=sound))
        if problem:
            sizes = {name: len(data) for name, data in files.items()}
            found[f"before step {place} ({moments[place].step} {moments[place].path.name}): {sizes}"] = str(problem)
    return len(possible), found


def test_a_power_cut_at_any_step_loses_no_generation(any_scene: Scene | HistoryScene) -> None:
    scene = any_scene
    scene.again()
    moments = record(scene.index, scene.act)
    count, problems = problems_of(moments, scene.expected, sound=scene.whole)
    assert problems == {}
    assert count >= 3


@pytest.mark.parametrize("careless", ["flush", "flush-folder"])
def test_the_model_sees_a_protocol_that_does_not_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, careless: str
) -> None:
    root, index = tmp_path / "tree", tmp_path / "index"
    write(root, KNOWN)
    opened(root, index).index()
    before = said(opened(root, index))
    write(root, {"src/new.py": "def follow_cookies(pool):\n    return pool\n"})
    expected = Expected(root, index, before, tmp_path / "fresh")
    original = disk.announce_step
    monkeypatch.setattr(disk, "announce_step", lambda name, path: original(name, path) if name != careless else None)
    moments = record(index, lambda: opened(root, index).index())
    monkeypatch.setattr(disk, "announce_step", original)
    _, problems = problems_of(moments, expected)
    assert any("lost" in problem for problem in problems.values())
