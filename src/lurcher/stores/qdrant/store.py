"""A `Store` in Qdrant, wherever that runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lurcher.errors import StoreError
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile
from lurcher.stores.qdrant import layout, search
from lurcher.stores.qdrant.batches import Feed, fitting
from lurcher.stores.qdrant.layout import NEVER, above, among, at_most, either, match, of, read, writable
from lurcher.stores.qdrant.lease import Leases
from lurcher.stores.qdrant.points import DOCTOR, Json, NoCollection, Points, understood
from lurcher.stores.qdrant.repair import chunks, mend

if TYPE_CHECKING:
    from lurcher.config.schema import QdrantSettings

LEASE_SECONDS = 30.0
"""A writer that has not been heard of for this long has lost the project; hand-set."""
BATCH = 500
"""Points that are sent together; hand-set."""
_NUMBERS = ("generation", "files", "units", "dims")
_TEXTS = ("fingerprint", "written", "commit")
_KNOWN = 100_000
"""Files whose keys and paths are kept in memory; they cannot change."""


class QdrantStore:
    def __init__(self, points: Points, settings: QdrantSettings) -> None:
        self._points, self._settings = points, settings
        self._units, self._files = settings.collection, f"{settings.collection}_files"
        self._projects = f"{settings.collection}_projects"
        self._leases = Leases(points, self._projects, LEASE_SECONDS)
        self._ready = False
        self._dims = 0
        self._lock = threading.Lock()
        self._names: dict[str, tuple[str, str]] = {}

    # -- projects ---------------------------------------------------------------------------------------------------------

    def projects(self) -> list[str]:
        where = {"must": [match("sort", "head"), above("generation", 0)]}
        with understood(self._points.url, "which projects there are"):
            return sorted(read(one["project_id"]) for one in self._listed(self._projects, where, ["project_id"]))

    def head(self, project: str) -> Head | None:
        try:
            found = self._leases.state(project)
        except NoCollection:
            return None
        with understood(self._points.url, "what the head of a project is"):
            if not found or not int(found["generation"]):
                return None
            head = found["head"]
            if head["generation"] != found["generation"]:
                raise ValueError("of another generation")
            more = {str(key): read(value) for key, value in head["more"].items()}
            texts = {name: read(head[name]) for name in _TEXTS}
            return Head(**{name: _number(head[name]) for name in _NUMBERS}, **texts, more=more)  # type: ignore[arg-type]

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        self._prepare()
        with self._leases.taken(project, seconds):
            head = self.head(project)
            with suppress(NoCollection):
                mend(self._points, self._units, self._files, project, 0 if head is None else head.generation)
            yield

    def publish(self, project: str, head: Head) -> None:
        self._prepare()
        payload: Json = {name: getattr(head, name) for name in _NUMBERS}
        payload |= {name: writable(getattr(head, name)) for name in _TEXTS}
        payload["more"] = {key: writable(value) for key, value in head.more.items()}
        self._points.safe([self._units, self._files])
        self._leases.publish(project, head, payload)
        self._points.safe([self._projects])

    def drop(self, project: str) -> bool:
        there = self.head(project) is not None
        for collection in (self._projects, self._files, self._units):  # heads first: readers lose it all at once
            with suppress(NoCollection):
                self._points.delete(collection, of(project))
        return there

    # -- writing ----------------------------------------------------------------------------------------------------------

    def listing(self, project: str) -> Iterator[Listed]:
        fields = ["key", "path", "hash", "born", "died"]
        for one in self._listed(self._files, of(project), fields):
            with understood(self._points.url, "what there is"):
                born, died = _number(one["born"]), _number(one["died"])
                yield Listed(_text(one["key"]), read(one["path"]), read(one["hash"]), born, None if died >= NEVER else died)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        feed = Feed(
            self._points, self._units, self._files, BATCH,
            lambda: self._leases.check(project), lambda keys: self._again(project, keys, born),
        )  # fmt: skip
        feed.run(project, fitting(files, self._fit), born, done)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        self._prepare()
        self._leases.check(project)
        made: list[Json] = []
        size = 0
        for name, data in pages.items():
            payload: Json = {
                "sort": "page", "project_id": writable(project), "name": writable(name), "born": born, "died": NEVER,
                "data": layout.packed(data),
            }  # fmt: skip
            made.append({"id": layout.named("page", project, name, str(born)), "vector": {}, "payload": payload})
            size += len(payload["data"])
            if len(made) >= BATCH or size > 8_000_000:
                self._points.upsert(self._projects, made)
                made, size = [], 0
        if made:
            self._points.upsert(self._projects, made)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        self._change(project, keys, {"born": born, "died": NEVER})

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        self._change(project, keys, {"died": died}, above("died", died))

    def sweep(self, project: str, generation: int) -> int:
        self._leases.check(project)
        gone = either(at_most("died", generation), above("born", generation))
        swept = 0
        with suppress(NoCollection):
            swept = self._points.count(self._files, of(project, gone))
            # Files first: one without its units would pass for a whole one, but units without their file are mended.
            if swept:
                self._points.delete(self._files, of(project, gone))
            self._points.delete(self._units, of(project, gone))
        with suppress(NoCollection):
            swept += self._sweep_pages(project, generation)
        self._points.tidy([self._units, self._files, self._projects])
        return swept

    def _sweep_pages(self, project: str, generation: int) -> int:
        newest: dict[str, int] = {}
        every: list[tuple[str, int]] = []
        for one in self._points.scroll(self._projects, of(project, match("sort", "page")), ["name", "born"]):
            with understood(self._points.url, "which pages there are"):
                name, born = read(one["name"]), _number(one["born"])
            every.append((name, born))
            if born <= generation:
                newest[name] = max(born, newest.get(name, born))
        gone = [layout.named("page", project, name, str(born)) for name, born in every if newest.get(name) != born]
        for some in chunks(gone):
            self._points.delete(self._projects, {"must": [{"has_id": list(some)}]})
        return len(gone)

    def _again(self, project: str, keys: list[str], born: int) -> None:
        """Files that are kept already and put once more: what readers see now they go on seeing."""
        points = [layout.identity(layout.file_number(project, key)) for key in keys]
        there = self._points.get(self._files, points, ["key", "born", "died"])
        with understood(self._points.url, "what there is"):
            lives = {_text(one["key"]): (_number(one["born"]), _number(one["died"])) for one in there.values()}
        unseen = [key for key, (first, last) in lives.items() if first >= born or last < born]
        dying = [key for key, (first, last) in lives.items() if first < born <= last < NEVER]
        self._change(project, unseen, {"born": born, "died": NEVER})
        self._change(project, dying, {"died": NEVER})

    def _change(self, project: str, keys: Sequence[str], payload: Json, *where: Json) -> None:
        for some in chunks(keys):
            self._leases.check(project)
            for collection in (self._units, self._files):
                with suppress(NoCollection):
                    self._points.change(collection, payload, of(project, among("key", some), *where))

    # -- reading ----------------------------------------------------------------------------------------------------------

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, tuple[int, bytes]] = {}
        for some in chunks([writable(name) for name in names]):
            where = of(project, match("sort", "page"), among("name", some), at_most("born", generation))
            for one in self._listed(self._projects, where, ["name", "born", "data"]):
                with understood(self._points.url, "what a page says"):
                    name, born = read(one["name"]), _number(one["born"])
                    if name not in found or found[name][0] < born:
                        found[name] = born, layout.unpacked(one["data"])
        return {name: data for name, (_, data) in found.items()}

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        try:
            found = search.ranked(self._points, self._units, self._files, project, generation, question)
        except NoCollection:
            return []
        order = search.best(found, question.limit)
        names = self._named(project, [point for point, _ in order])
        made = [Candidate(*names[point], one.score, one.legs) for point, one in order if point in names]
        return sorted(made, key=lambda one: (-one.score, one.path, one.key))

    def _named(self, project: str, points: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Keys and paths of files, by their points."""
        with self._lock:
            known = {point: self._names[point] for point in points if point in self._names}
        for some in chunks([point for point in points if point not in known]):
            for point, one in self._points.get(self._files, some, ["project_id", "key", "path"]).items():
                with understood(self._points.url, "what a file is called"):
                    if one["project_id"] == writable(project):
                        known[point] = _text(one["key"]), read(one["path"])
        with self._lock:
            if len(self._names) > _KNOWN:
                self._names.clear()
            self._names.update(known)
        return known

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        wanted = {layout.identity(layout.file_number(project, key)): key for key in keys}
        found = self._got(project, self._files, list(wanted), "record")
        with understood(self._points.url, "what a file is like"):
            return {wanted[point]: layout.unpacked(data) for point, data in found.items() if point in wanted}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        points = {layout.identity(layout.file_number(project, key), place): (key, place) for key, place in wanted if place >= 0}
        found = self._got(project, self._units, list(points), "text")
        with understood(self._points.url, "what a unit says"):
            return {points[point]: read(text) for point, text in found.items() if point in points}

    def state(self) -> dict[str, str]:
        told = {"url": self._points.url, **self._points.about([self._units, self._files, self._projects])}
        try:
            told["dims"] = str(self._points.dims(self._units))
        except NoCollection:
            told["dims"] = "none yet"
        return {**told, "projects": str(len(self.projects()))}

    def close(self) -> None:
        self._points.close()

    # -- collections ------------------------------------------------------------------------------------------------------

    def _got(self, project: str, collection: str, points: Sequence[str], field: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            for some in chunks(points):
                got = self._points.get(collection, some, ["project_id", field])
                with understood(self._points.url, "what points are like"):
                    found |= {point: one[field] for point, one in got.items() if one["project_id"] == writable(project)}
        except NoCollection:
            return {}
        return found

    def _listed(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        try:
            yield from self._points.scroll(collection, where, fields)
        except NoCollection:
            return

    def _prepare(self) -> None:
        """There is a place for heads."""
        if not self._ready:
            self._points.create(self._projects, layout.shape(self._settings, 0, "none"), layout.PROJECT_INDEXES)
            self._ready = True

    def _fit(self, dims: int) -> None:
        """There is a place for units and files with vectors of so many numbers; 0: with none."""
        with self._lock:
            if not self._dims:
                try:
                    there = self._points.dims(self._units)
                except NoCollection:
                    there = dims or layout.USUAL_DIMS
                units = layout.shape(self._settings, there, "sparse")
                self._points.create(self._units, units, layout.UNIT_INDEXES)
                self._points.create(self._files, layout.shape(self._settings, there), layout.FILE_INDEXES)
                self._dims = self._points.dims(self._units)
        if dims and dims != self._dims:
            said = f"{self._units} in {self._points.url} has vectors of {self._dims} numbers, and this model makes {dims}"
            raise StoreError(said, f"set qdrant.collection to another name for this model; {DOCTOR}")


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("no number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
