"""Files on their way into Qdrant: batches, so many at once, and no more read from their source than can be sent.

A batch sends the units of its files first and the files themselves once those are safe: so a file that is there is all there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lurcher.stores.qdrant.layout import file_number, file_point, identity, unit_point
from lurcher.stores.qdrant.points import Json, Points

if TYPE_CHECKING:
    from lurcher.stores.base import StoredFile

MOST_CHARACTERS = 4_000_000
"""Text in one request; a server takes 32 MB, and numbers weigh more than text."""
_UNKNOWN = 1000
"""Files without any vector that are held back until one tells how long vectors are."""


class Feed:
    def __init__(
        self, points: Points, units: str, files: str, batch: int, before: Callable[[], None], kept: Callable[[list[str]], None]
    ) -> None:
        """`before` is called before each batch and may refuse; `kept` is told of keys that are there already."""
        self._points, self._units, self._files, self._batch = points, units, files, batch
        self._before, self._kept = before, kept

    def run(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        if self._points.width == 1:
            for batch in self._batches(files):
                self._send(project, batch, born)
                done(len(batch))
            return
        free = threading.Semaphore(self._points.width)
        failed: list[BaseException] = []
        telling = threading.Lock()

        def work(batch: list[StoredFile]) -> None:
            try:
                if not failed:
                    self._send(project, batch, born)
                    with telling:
                        done(len(batch))
            except BaseException as error:
                failed.append(error)
            finally:
                free.release()

        with ThreadPoolExecutor(self._points.width, "lurcher-put") as pool:
            for batch in self._batches(files):
                free.acquire()  # a slow server slows down whoever makes the files
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
            if batch and (units + len(file.units) > self._batch or characters + size > MOST_CHARACTERS):
                yield batch
                batch, units, characters = [], 0, 0
            batch.append(file)
            units, characters = units + len(file.units), characters + size
        if batch:
            yield batch

    def _send(self, project: str, batch: list[StoredFile], born: int) -> None:
        self._before()
        numbered = {identity(number): (file, number) for file in batch for number in [file_number(project, file.key)]}
        there = self._points.get(self._files, list(numbered), ["key"])
        if there:
            self._kept([numbered[point][0].key for point in there if point in numbered])
        wanted = [one for point, one in numbered.items() if point not in there]
        for part in self._parts(project, wanted, born):
            self._points.upsert(self._units, part)
        if wanted:
            self._points.upsert(self._files, [file_point(project, file, number, born) for file, number in wanted])

    def _parts(self, project: str, files: Sequence[tuple[StoredFile, bytes]], born: int) -> Iterator[list[Json]]:
        """Points of units, no more than go into one request; a file may have more of them than that."""
        part: list[Json] = []
        characters = 0
        for file, number in files:
            for place, unit in enumerate(file.units):
                if part and (len(part) >= self._batch or characters + len(unit.text) > MOST_CHARACTERS):
                    yield part
                    part, characters = [], 0
                part.append(unit_point(project, file, number, place, unit, born))
                characters += len(unit.text)
        if part:
            yield part


def fitting(files: Iterable[StoredFile], fit: Callable[[int], None]) -> Iterator[StoredFile]:
    """The same files; `fit` is told the length of vectors before the first one goes on."""
    waiting: list[StoredFile] = []
    told = False
    for file in files:
        dims = _dims(file)
        if not told and not dims and len(waiting) < _UNKNOWN:
            waiting.append(file)
            continue
        fit(dims)
        told = True
        yield from waiting
        waiting = []
        yield file
    if waiting:
        fit(0)
        yield from waiting


def _dims(file: StoredFile) -> int:
    if file.card is not None:
        return len(file.card)
    return next((len(unit.dense) for unit in file.units if unit.dense is not None), 0)
