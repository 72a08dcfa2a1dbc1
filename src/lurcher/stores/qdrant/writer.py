"""Writing to Qdrant: one writer of a project at a time, files in batches, and the repair of what a killed writer left.

**Leases.** A lease, and the change to a new generation, use one point per project, its *head*, and the operation "set these
fields where this filter matches". Qdrant applies the updates of a shard one after the other, and those of a point go through
one replica (`ordering=strong`): of several clients that want to change the head from the same state exactly one succeeds, and
each learns which by reading it back. Guaranteed:

- A head is published only over the generation before it, and only by the writer that still holds the lease.
- A writer renews its lease in the background. One that cannot, or finds that another has it, stops at its next call.
- A lease has expired when a waiting client saw no renewal for the length of a lease, by that client's own clock; or, so that
  nobody has to wait for a writer that died yesterday, when its end is that long ago by the clocks of the machines.

Not guaranteed: a request that a stopped writer sent earlier may arrive after another writer took over. What it writes belongs
to the generation that is not published yet, and `repair_units` runs when a lease is taken, so this needs a request that is
under way for longer than a lease.

**Batches.** A batch sends the units of its files first, and the points of the files once the units are stored: a file that has
a point is complete. A few batches are sent at a time, and no more files are read from their source than can be sent.

**Repair.** The point of a file is written after its units, so it is right where the two differ. Units without a file are
removed; units with another `born` or `died` than their file get those of the file. Without the repair such units would become
visible with the next head.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from socket import gethostname
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lurcher.errors import IndexLocked, StoreError
from lurcher.net.http import Deadline
from lurcher.stores.qdrant.layout import (
    NEVER,
    Json,
    Points,
    above,
    all_of,
    any_of,
    at_most,
    check_reply,
    escape_text,
    file_hash,
    file_point,
    in_project,
    match,
    match_any,
    named_point_id,
    point_id,
    unit_point,
)

if TYPE_CHECKING:
    from lurcher.stores.base import Head, StoredFile


_PROCESS = uuid4().hex[:12]
FIELDS = ("project_id", "generation", "head", "publisher", "writer", "beat", "until", "by")
_POLL = 0.05


class Leases:
    """Heads and leases of all projects, for one store."""

    def __init__(self, points: Points, collection: str, seconds: float) -> None:
        self._points, self._collection, self._seconds = points, collection, seconds
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def state(self, project: str, *, majority: bool = False) -> Json:
        """The payload of the head's point; empty where there is none. `majority`: as most replicas have it."""
        point = named_point_id("head", project)
        found = self._points.get(self._collection, [point], FIELDS, majority=majority).get(point, {})
        with check_reply(self._points.url, "head of a project"):
            if found and found["project_id"] != escape_text(project):
                raise ValueError("the head of another project")
            return found

    def check(self, project: str) -> None:
        """Raise where this store's writer of a project has lost its lease."""
        held = self._held.get(project)
        if held is None:
            return
        if not self._points.exclusive and time.monotonic() - held.renewed > self._seconds:
            held.lost = True  # another client may have taken it by now
        if held.lost:
            raise IndexLocked(f"another client is writing {project!r} now", "run it again; what was sent is not lost")

    @contextmanager
    def hold(self, project: str, seconds: float) -> Iterator[None]:
        self._make(project)
        token = f"{_PROCESS}:{os.getpid()}:{uuid4().hex}"
        held = _Held(token, time.monotonic())
        held.beat = self._acquire(project, token, seconds)
        held.renewed = time.monotonic()
        with self._lock:
            self._held[project] = held
        stop = threading.Event()
        beat = threading.Thread(target=self._renew, args=(project, held, stop), name="lurcher-lease", daemon=True)
        beat.start()
        unreachable = False
        try:
            yield
        except StoreError as error:
            unreachable = error.passing
            raise
        finally:
            stop.set()
            with self._lock:
                self._held.pop(project, None)
            if not held.lost and not unreachable:  # otherwise it expires by itself
                beat.join()
                with suppress(StoreError):
                    self._swap(project, {"writer": "", "by": ""}, match("writer", token))

    def publish(self, project: str, head: Head, payload: Json) -> None:
        self.check(project)
        self._make(project)
        publisher = uuid4().hex
        conditions = [match("generation", head.generation - 1)]
        held = self._held.get(project)
        if held is not None:
            conditions.append(match("writer", held.token))
        self._swap(project, {"generation": head.generation, "head": payload, "publisher": publisher}, *conditions)
        if self.state(project, majority=True).get("publisher") != publisher:
            message = f"{project!r} is not at generation {head.generation - 1} any more: another client has written it"
            raise IndexLocked(message, "run it again")

    def _make(self, project: str) -> None:
        payload = {
            "sort": "head", "project_id": escape_text(project), "generation": 0, "head": {}, "publisher": "",
            "writer": "", "beat": 0, "until": 0.0, "by": "",
        }  # fmt: skip
        if not self.state(project):
            self._points.upsert(
                self._collection, [{"id": named_point_id("head", project), "vector": {}, "payload": payload}], only_new=True
            )

    def _acquire(self, project: str, token: str, seconds: float) -> int:
        """Wait for the lease; returns the beat that it begins with."""
        deadline = Deadline.after(seconds)
        watched: tuple[Any, Any] = (None, None)
        since, pause = time.monotonic(), _POLL
        while True:
            found = self.state(project, majority=True)
            with check_reply(self._points.url, "lease of a project"):
                writer, beat = str(found["writer"]), int(found["beat"])
                until, by = float(found["until"]), str(found["by"])
            if (writer, beat) != watched:
                watched, since = (writer, beat), time.monotonic()
            if not writer or self._expired(writer, until, since):
                mine = {"writer": token, "by": f"{gethostname()}, process {os.getpid()}", **self._renewal(beat + 1)}
                self._swap(project, mine, match("writer", writer), match("beat", beat))
                if self.state(project, majority=True).get("writer") == token:
                    return beat + 1
            if not deadline.left:
                who = "".join(letter for letter in by if letter.isprintable())[:100]
                raise IndexLocked(f"{project!r} is being written by {who or 'another client'}", "try again when it is done")
            time.sleep(min(pause, deadline.left))
            pause = min(pause * 1.5, 1.0)

    def _expired(self, writer: str, until: float, since: float) -> bool:
        if self._points.exclusive:  # no other process can be writing
            return not writer.startswith(f"{_PROCESS}:{os.getpid()}:")
        return time.monotonic() - since > self._seconds or time.time() > until + self._seconds

    def _renewal(self, beat: int) -> Json:
        return {"beat": beat, "until": time.time() + self._seconds}

    def _renew(self, project: str, held: _Held, stop: threading.Event) -> None:
        while not stop.wait(self._seconds / 3):
            began = time.monotonic()
            try:
                held.beat += 1
                self._swap(project, self._renewal(held.beat), match("writer", held.token))
                if self.state(project, majority=True).get("writer") != held.token:
                    held.lost = True
                    return
                held.renewed = began
            except StoreError:
                # A server that cannot be reached for a moment does not end a lease; its expiry does.
                if not self._points.exclusive and time.monotonic() - held.renewed > self._seconds:
                    held.lost = True
                    return

    def _swap(self, project: str, payload: Json, *conditions: Json) -> None:
        where = {"must": [{"has_id": [named_point_id("head", project)]}, *conditions]}
        self._points.change(self._collection, payload, where)


class _Held:
    """A lease of this process."""

    def __init__(self, token: str, renewed: float) -> None:
        self.token, self.renewed, self.beat, self.lost = token, renewed, 0, False


MAX_CHARACTERS = 4_000_000
"""Text in one request; a server takes 32 MB, and vectors take more room than text."""
MAX_KEYS = 500
"""Keys of files in one filter."""
_MAX_HELD = 1000
"""Files without a vector that are held back until a file with one shows how many dimensions vectors have."""
_FIELDS = ("key", "born", "died")


class BatchWriter:
    """Sends files in batches, several at a time where Qdrant runs on a server."""

    def __init__(
        self, points: Points, units: str, files: str, batch: int, before_batch: Callable[[], None],
        on_existing: Callable[[list[str]], None],
    ) -> None:  # fmt: skip
        """`units` and `files` are collections; `before_batch` may raise; `on_existing` gets the keys that exist already."""
        self._points, self._units, self._files, self._batch = points, units, files, batch
        self._before_batch, self._on_existing = before_batch, on_existing

    def run(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        if self._points.concurrency == 1:
            for batch in self._batches(files):
                self._send(project, batch, born)
                done(len(batch))
            return
        free = threading.Semaphore(self._points.concurrency)
        failed: list[BaseException] = []
        progress_lock = threading.Lock()

        def work(batch: list[StoredFile]) -> None:
            try:
                if not failed:
                    self._send(project, batch, born)
                    with progress_lock:
                        done(len(batch))
            except BaseException as error:
                failed.append(error)
            finally:
                free.release()

        with ThreadPoolExecutor(self._points.concurrency, "lurcher-put") as pool:
            for batch in self._batches(files):
                free.acquire()  # a slow server slows down the source of the files
                if failed:
                    break
                pool.submit(work, batch)
        if failed:
            raise failed[0]

    def _batches(self, files: Iterable[StoredFile]) -> Iterator[list[StoredFile]]:
        batch: list[StoredFile] = []
        units = characters = 0
        for file in files:
            size = sum(len(unit.text) for unit in file.units) + len(file.record)
            if batch and (units + len(file.units) > self._batch or characters + size > MAX_CHARACTERS):
                yield batch
                batch, units, characters = [], 0, 0
            batch.append(file)
            units, characters = units + len(file.units), characters + size
        if batch:
            yield batch

    def _send(self, project: str, batch: list[StoredFile], born: int) -> None:
        self._before_batch()
        numbered = {point_id(number): (file, number) for file in batch for number in [file_hash(project, file.key)]}
        there = self._points.get(self._files, list(numbered), ["key"])
        if there:
            self._on_existing([numbered[point][0].key for point in there if point in numbered])
        wanted = [one for point, one in numbered.items() if point not in there]
        for part in self._parts(project, wanted, born):
            self._points.upsert(self._units, part)
        if wanted:
            self._points.upsert(self._files, [file_point(project, file, number, born) for file, number in wanted])

    def _parts(self, project: str, files: Sequence[tuple[StoredFile, bytes]], born: int) -> Iterator[list[Json]]:
        """Points of units, split into requests; one file may need several."""
        part: list[Json] = []
        characters = 0
        for file, number in files:
            for place, unit in enumerate(file.units):
                if part and (len(part) >= self._batch or characters + len(unit.text) > MAX_CHARACTERS):
                    yield part
                    part, characters = [], 0
                part.append(unit_point(project, file, number, place, unit, born))
                characters += len(unit.text)
        if part:
            yield part


def check_dims_first(files: Iterable[StoredFile], check: Callable[[int], None]) -> Iterator[StoredFile]:
    """The same files; `check` is called with the dimensions of their vectors before the first one is passed on."""
    held: list[StoredFile] = []
    checked = False
    for file in files:
        dims = _vector_dims(file)
        if not checked and not dims and len(held) < _MAX_HELD:
            held.append(file)
            continue
        check(dims)
        checked = True
        yield from held
        held = []
        yield file
    if held:
        check(0)
        yield from held


def _vector_dims(file: StoredFile) -> int:
    if file.card is not None:
        return len(file.card)
    return next((len(unit.dense) for unit in file.units if unit.dense is not None), 0)


def repair_units(points: Points, units: str, files: str, project: str, generation: int) -> None:
    """Make the units of a project agree with its files. Call it with the lease held; `generation` is the published one."""
    changed = any_of(above("born", generation), all_of(above("died", generation), at_most("died", NEVER - 1)))
    unit_keys = dict.fromkeys(_key(points, one) for one in points.scroll(units, in_project(project, changed), _FIELDS))
    lives: dict[str, tuple[int, int]] = {}
    for one in points.scroll(files, in_project(project, changed), _FIELDS):
        lives[_key(points, one)] = _lifetime(points, one)
    for some in split_keys([key for key in unit_keys if key not in lives]):
        found = points.get(files, [point_id(file_hash(project, key)) for key in some], _FIELDS)
        lives.update({_key(points, one): _lifetime(points, one) for one in found.values()})
    for some in split_keys([key for key in unit_keys if key not in lives]):
        points.delete(units, in_project(project, match_any("key", some)))
    same: dict[tuple[int, int], list[str]] = defaultdict(list)
    for key, lifetime in lives.items():
        same[lifetime].append(key)
    for (born, died), keys in sorted(same.items()):
        other = {"must_not": [all_of(*_exactly("born", born), *_exactly("died", died))]}
        for some in split_keys(keys):
            points.change(units, {"born": born, "died": died}, in_project(project, match_any("key", some), other))


def split_keys(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), MAX_KEYS):
        yield keys[start : start + MAX_KEYS]


def _exactly(key: str, number: int) -> list[Json]:
    return [at_most(key, number), above(key, number - 1)]


def _key(points: Points, found: Json) -> str:
    with check_reply(points.url, "listing of points"):
        return str(found["key"])


def _lifetime(points: Points, found: Json) -> tuple[int, int]:
    with check_reply(points.url, "listing of points"):
        return int(found["born"]), int(found["died"])
