"""Writing to Qdrant: files in batches, and the repair of what a killed writer left.

A batch sends the units of its files first, and the points of the files once the units are stored: a file that has a point is
complete. A few batches are sent at a time, and no more files are read from their source than can be sent.

**Repair.** The point of a file is written after its units, so it is right where the two differ. Units without a file are
removed; units with another `born` or `died` than their file get those of the file. Without the repair such units would become
visible with the next head.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lurcher.stores.qdrant.layout import (
    NEVER,
    above,
    all_of,
    any_of,
    at_most,
    file_hash,
    file_point,
    in_project,
    match_any,
    point_id,
    unit_point,
)
from lurcher.stores.qdrant.points import Json, Points, check_reply

if TYPE_CHECKING:
    from lurcher.stores.base import StoredFile

MAX_CHARACTERS = 4_000_000
"""Text in one request; a server takes 32 MB, and vectors take more room than text."""
MAX_KEYS = 500
"""Keys of files in one filter."""
_MAX_HELD = 1000
"""Files without a vector that are held back until a file with one tells how many dimensions vectors have."""
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
