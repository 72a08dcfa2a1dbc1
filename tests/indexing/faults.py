"""Processes that are killed and disks that fail, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.storage import disk
from lurcher.storage.container import Container
from tests.indexing.conftest import TREE, answers, opened

KNOWN = {
    **TREE,
    "src/session.py": "class Session:\n    '''Keeps cookies and redirects together.'''\n\n    def close(self):\n        pass\n",
    "src/retry.py": "def retry(send, limit=3):\n    for _ in range(limit):\n        send()\n",
    "engine/cache.rs": "/// Evicts what has expired.\npub struct Cache {}\nimpl Cache {\n    pub fn evict(&mut self) {}\n}\n",
    "native/buffer.cpp": "class Buffer {\npublic:\n    int write(const char *data);\n};\n",
    "web/user.js": "export async function getUserById(id) {\n    return fetch(`/users/${id}`)\n}\n",
    "app/Main.java": "public class Main {\n    void follow(String redirect) {}\n}\n",
    "schema.sql": "CREATE TABLE cookies (name TEXT, session INTEGER);\n",
    "docs/notes.md": "---\ntags: [pool]\n---\n# Notes\n\nThe pool keeps connections until they expire, see [[guide]].\n",
    "docs/limits.md": "# Limits\n\nOf a [[notes|pool]], see also [the guide](guide.md).\n\n## Cookies\n\nKept for a day.\n",
}
"""A tree whose every word is known, in several languages."""

ASKED = ("how are redirects followed", "parse_cookie", "session cookies of a pool")
NOTES_ASKED = "what the pool of the guide keeps"
MARK = "FAMILY_OF_A_TEST"
PLAIN = {".gitignore", "CACHEDIR.TAG", "lock", "manifest"}
"""What an index folder holds besides segments."""


def said(engine: Engine, questions: Sequence[str] = ASKED) -> str:
    """What a generation answers, whatever the tree looks like by now; damage is never passed over in silence."""
    found: list[Any] = []
    for question in questions:
        answer = engine.search(question, check=False, limit=30)
        assert not any("rebuilt" in note.reason for note in answer.degraded), answer.degraded
        found.append([answer.total, [hit.to_dict() for hit in answer.hits]])
    answer = engine.notes(NOTES_ASKED, check=False)
    assert not any("rebuilt" in note.reason for note in answer.degraded), answer.degraded
    return json.dumps([*found, answer.total, [hit.to_dict() for hit in answer.hits]])


def forked(work: Callable[[], object]) -> int:
    """The number of a child process that does `work` and ends; everything is imported in it already."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(number: int, seconds: float = 300) -> int:
    """The child's exit status; negative for the signal that ended it."""
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            raise AssertionError(f"a child process did not end within {seconds} seconds")
        time.sleep(0.001)


def recorded(work: Callable[[], object]) -> list[tuple[str, Path]]:
    """The steps that `work` takes, in their order."""
    steps: list[tuple[str, Path]] = []
    disk.observe_steps(lambda name, path: steps.append((name, path)))
    try:
        work()
    finally:
        disk.observe_steps(None)
    return steps


def worth_trying(steps: Sequence[tuple[str, Path]]) -> list[int]:
    """The places of all steps, but of the many writes to one file only the first, the middle and the last one."""
    chosen: list[int] = []
    first = 0
    while first < len(steps):
        last = first
        while last + 1 < len(steps) and steps[first][0] == "write" and steps[last + 1] == steps[first]:
            last += 1
        chosen += sorted({first, (first + last) // 2, last})
        first = last + 1
    return chosen


class Stop:
    """A watcher that kills its own process before the step with a given number."""

    def __init__(self, place: int) -> None:
        self._left = place

    def __call__(self, name: str, path: Path) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


class Failing:
    """A watcher that makes the step with a given number fail, or all steps from there on."""

    def __init__(self, place: int, error: int, *, always: bool) -> None:
        self._place = place
        self._error = error
        self._always = always
        self._seen = 0
        self.failed = 0

    def __call__(self, name: str, path: Path) -> None:
        here = self._seen >= self._place if self._always else self._seen == self._place
        self._seen += 1
        if here:
            self.failed += 1
            raise OSError(self._error, os.strerror(self._error))


@contextlib.contextmanager
def watched(watcher: disk.StepObserver) -> Iterator[None]:
    disk.observe_steps(watcher)
    try:
        yield
    finally:
        disk.observe_steps(None)


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.exists() else {}


def restore(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others; without any there is no folder."""
    if folder.exists():
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
        if not files:
            folder.rmdir()
    elif files:
        folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def family(mark: str) -> list[int]:
    """Processes that were started by a process with this mark, however far up; zombies are dead."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0") and b") Z " not in (entry / "stat").read_bytes():
                    found.append(int(entry.name))
    return found


def orphans(mark: str, seconds: float = 60) -> list[int]:
    """Those that live on for longer than that."""
    deadline = time.monotonic() + seconds
    while (found := family(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def lock_is_free(folder: Path, seconds: float = 5) -> bool:
    """Whether the writers' lock can be had at once; a child between fork and exec may have it for an instant longer."""
    if not (folder / "lock").exists():
        return True
    deadline = time.monotonic() + seconds
    with open(folder / "lock", "rb") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.005)


def leftovers(folder: Path, live: set[str]) -> list[str]:
    """Files that no index should have once a run is through, and containers that fail their checksums."""
    found = sorted({path.name for path in folder.iterdir()} - PLAIN - live)
    for name in ("manifest", *sorted(live)):
        try:
            Container.open(folder / name).verify()
        except LurcherError as error:
            found.append(error.message)
    return found


class Expected:
    """What must be found after a fault in a run that was to bring an index from one tree to another."""

    def __init__(self, root: Path, index: Path, before: str | None, reference: Path, *, may_vanish: bool = False) -> None:
        """`before` is what the last good generation says, if there is one; `reference` is room for a fresh index."""
        self.root, self.index, self.before, self.may_vanish = root, index, before, may_vanish
        fresh = opened(root, reference)
        fresh.index()
        self.after = said(fresh)
        self.final = answers(fresh, ASKED[:2])

    def problems(self, mark: str = "", *, whole: bool = True) -> dict[str, str]:
        """What is wrong right after the fault and after the next run: by kind, nothing where all is well.

        `whole` is False where the index was damaged before, so that there is no last good generation.
        """
        found: dict[str, str] = {}
        if mark and (alive := orphans(mark)):
            found["orphans"] = f"processes {alive} live on"
        if not lock_is_free(self.index):
            found["locks"] = "the lock is still held"
        try:
            if whole:
                found.update(self._reader())
            engine = opened(self.root, self.index, lock_seconds=0)
            engine.index()
            for question in () if whole else ASKED:
                engine.search(question)  # damage is met, and mended, where it is read
            if answers(engine, ASKED[:2]) != self.final or said(engine) != self.after:
                found["wrong"] = "the next run does not answer as a fresh index does"
            elif left := leftovers(self.index, {segment["name"] for segment in engine.status()["segments"]}):
                found["left"] = f"left over: {', '.join(left)}"
        except Exception:
            found["wrong"] = traceback.format_exc()
        return found

    def lasting(self) -> dict[str, str]:
        """What is wrong once a run has ended and the power was cut: what it did stays done."""
        engine = opened(self.root, self.index)
        exists = engine.status()["exists"]
        if self.may_vanish:
            return {"lasting": "the index that was removed came back"} if exists else {}
        return {} if exists and said(engine) == self.after else {"lasting": "the new generation is gone again"}

    def _reader(self) -> dict[str, str]:
        """What someone sees who only reads."""
        engine = opened(self.root, self.index)
        status = engine.status()
        if not status["exists"]:
            if self.before is not None and not self.may_vanish:
                return {"lost": f"the last good generation is gone: {status.get('problem')}"}
            return {"lost": str(status["problem"])} if "problem" in status else {}
        heard = said(engine)
        return {} if heard in (self.before, self.after) else {"wrong": "neither the last generation nor the new one answers"}
