"""A `Store` in Qdrant, wherever that runs.

Candidates are units found by dense and sparse vectors, and files found by their cards and by the names they define, fused by
rank. One request searches units and another one, at the same time, files. The ranks within each leg are queried in the same
batch as the fused list, because Qdrant gives only the score of a fused point.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lurcher.errors import StoreError
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile
from lurcher.stores.qdrant import layout
from lurcher.stores.qdrant.layout import (
    DOCTOR,
    NEVER,
    Json,
    NoCollection,
    Points,
    above,
    any_of,
    at_most,
    check_reply,
    escape_text,
    file_point_id,
    filter_conditions,
    in_project,
    match,
    match_any,
    require,
    round_numbers,
    unescape_text,
    visible,
)
from lurcher.stores.qdrant.writer import BatchWriter, Leases, check_dims_first, repair_units, split_keys

if TYPE_CHECKING:
    from lurcher.config.schema import QdrantSettings


Found = list[tuple[str, float]]
PARAMS: Json = {}
"""Of dense queries; a benchmark compares with {"exact": True}, of which the graph finds 99.6 % of the candidates."""
DEFAULT_RRF_K = 1.0
"""Qdrant's default constant of fusion, with ranks from 1: 1/(1 + rank)."""


class RankedFile:
    """The fused score of a file, and its best rank in each leg."""

    __slots__ = ("legs", "score")

    def __init__(self) -> None:
        self.score = 0.0
        self.legs: dict[str, int] = {}


def rank_files(
    points: Points, units: str, files: str, project: str, generation: int, question: Question
) -> dict[str, RankedFile]:
    """Files by the ids of their points; in no order."""
    where = filter_conditions(question.languages, question.folders)
    of_units = _legs(question, visible(project, generation, *where), ("dense", "sparse"))
    of_files = _legs(question, visible(project, generation, *where), ("card", "names"))
    # A server fuses its lists itself; an embedded engine leaves it to us, which is half the work for it.
    fuse = not points.exclusive and len(of_units) > 1 and (question.rrf is None or float(question.rrf).is_integer())
    fusion = [_fusion_query(list(of_units.values()), question)] if fuse else []
    answers, cards = _run_queries(points, units, [*fusion, *of_units.values()], files, list(of_files.values()))
    k = DEFAULT_RRF_K if question.rrf is None else question.rrf
    legs = dict(zip(of_units, answers[len(fusion) :], strict=True))
    scores = dict(answers[0]) if fuse else _fuse(legs.values(), k)
    found: dict[str, RankedFile] = {}
    for leg, several in legs.items():
        _add_ranks(found, leg, several, units=True)
    for point, score in scores.items():
        file = found.get(file_point_id(point)) or found.setdefault(file_point_id(point), RankedFile())
        if score > file.score:
            file.score = score
    for leg, several in zip(of_files, cards, strict=True):
        _add_ranks(found, leg, several, units=False)
        for rank, (point, _) in enumerate(several, 1):
            # No file defines a name better than another: all of them rank first.
            rank = 1 if leg == "names" else rank
            found[point].score += 1.0 / (k + rank)
    return found


def select_best(found: dict[str, RankedFile], limit: int) -> list[tuple[str, RankedFile]]:
    """Up to `limit` files, best first; those found by name are among them whatever their score."""
    order = sorted(found.items(), key=lambda item: (-item[1].score, item[0]))
    named = [item for item in order if "names" in item[1].legs][:limit]
    others = [item for item in order if "names" not in item[1].legs][: limit - len(named)]
    return sorted(named + others, key=lambda item: (-item[1].score, item[0]))


def _legs(question: Question, where: Json, names: tuple[str, ...]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    near = question.dense is not None and {"nearest": round_numbers(question.dense)}
    for leg in names:
        if leg in ("dense", "card") and near:
            made[leg] = {"query": near, "using": "dense", "filter": where, "params": PARAMS, "limit": question.depth}
        elif leg == "sparse" and question.sparse is not None and len(question.sparse.numbers):
            words = {"indices": question.sparse.numbers.tolist(), "values": round_numbers(question.sparse.weights)}
            made[leg] = {"query": {"nearest": words}, "using": "sparse", "filter": where, "limit": question.depth}
        elif leg == "names" and question.names:
            wanted = {"must": [*where["must"], match_any("names", [escape_text(name) for name in question.names])]}
            made[leg] = {"filter": wanted, "limit": question.limit}
    return {leg: {**one, "with_payload": False} for leg, one in made.items()}


def _fusion_query(legs: list[Json], question: Question) -> Json:
    """The legs as prefetches of one fused query. Qdrant counts ranks from 0, we from 1."""
    query: Json = {"fusion": "rrf"} if question.rrf is None else {"rrf": {"k": int(question.rrf) + 1}}
    first = [{key: value for key, value in leg.items() if key != "with_payload"} for leg in legs]
    return {"prefetch": first, "query": query, "limit": question.depth * len(legs), "with_payload": False}


def _run_queries(
    points: Points, units: str, of_units: list[Json], files: str, of_files: list[Json]
) -> tuple[list[Found], list[Found]]:
    if not of_units or not of_files:
        found, cards = points.query(units, of_units) if of_units else [], points.query(files, of_files) if of_files else []
        return _sort_ties(found), _sort_ties(cards)
    with ThreadPoolExecutor(1, "lurcher-ask") as pool:
        later = pool.submit(points.query, files, of_files)
        return _sort_ties(points.query(units, of_units)), _sort_ties(later.result())


def _sort_ties(answers: list[Found]) -> list[Found]:
    """Order points of equal score by id, whichever segment they came from."""
    for found in answers:
        if len({score for _, score in found}) < len(found):
            found.sort(key=lambda one: (-one[1], one[0]))
    return answers


def _fuse(legs: Any, k: float) -> dict[str, float]:
    scores: dict[str, float] = {}
    for several in legs:
        for rank, (point, _) in enumerate(several, 1):
            scores[point] = scores.get(point, 0.0) + 1.0 / (k + rank)
    return scores


def _add_ranks(found: dict[str, RankedFile], leg: str, several: Found, *, units: bool) -> None:
    for rank, (point, _) in enumerate(several, 1):
        number = file_point_id(point) if units else point
        file = found.get(number)
        if file is None:
            file = found[number] = RankedFile()
        if leg not in file.legs:  # the best rank comes first
            file.legs[leg] = 1 if leg == "names" else rank


LEASE_SECONDS = 30.0
"""A writer that has not been heard of for this long has lost the project; hand-set."""
BATCH = 500
"""Points that are sent together; hand-set."""
_NUMBERS = ("generation", "files", "units", "dims")
_TEXTS = ("fingerprint", "written", "commit")
_KNOWN = 100_000
"""Files whose keys and paths are kept in memory; they never change."""


class QdrantStore:
    """A `Store` over `Points`. `_units`, `_files` and `_projects` are names of collections."""

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
        with check_reply(self._points.url, "listing of projects"):
            return sorted(unescape_text(one["project_id"]) for one in self._scroll(self._projects, where, ["project_id"]))

    def head(self, project: str) -> Head | None:
        try:
            found = self._leases.state(project)
        except NoCollection:
            return None
        with check_reply(self._points.url, "head of a project"):
            if not found or not int(found["generation"]):
                return None
            head = found["head"]
            if head["generation"] != found["generation"]:
                raise ValueError("the head belongs to another generation")
            more = {str(key): unescape_text(value) for key, value in head["more"].items()}
            texts = {name: unescape_text(head[name]) for name in _TEXTS}
            return Head(**{name: require(head[name], int) for name in _NUMBERS}, **texts, more=more)  # type: ignore[arg-type]

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        self._ensure_projects()
        with self._leases.hold(project, seconds):
            head = self.head(project)
            with suppress(NoCollection):
                repair_units(self._points, self._units, self._files, project, 0 if head is None else head.generation)
            yield

    def publish(self, project: str, head: Head) -> None:
        self._ensure_projects()
        payload: Json = {name: getattr(head, name) for name in _NUMBERS}
        payload |= {name: escape_text(getattr(head, name)) for name in _TEXTS}
        payload["more"] = {key: escape_text(value) for key, value in head.more.items()}
        self._points.flush([self._units, self._files])
        self._leases.publish(project, head, payload)
        self._points.flush([self._projects])

    def drop(self, project: str) -> bool:
        there = self.head(project) is not None
        for collection in (self._projects, self._files, self._units):  # the head first: readers lose everything at once
            with suppress(NoCollection):
                self._points.delete(collection, in_project(project))
        return there

    # -- writing ----------------------------------------------------------------------------------------------------------

    def listing(self, project: str) -> Iterator[Listed]:
        fields = ["key", "path", "hash", "born", "died"]
        for one in self._scroll(self._files, in_project(project), fields):
            with check_reply(self._points.url, "listing of points"):
                born, died = require(one["born"], int), require(one["died"], int)
                path, digest = unescape_text(one["path"]), unescape_text(one["hash"])
                yield Listed(require(one["key"], str), path, digest, born, None if died >= NEVER else died)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        writer = BatchWriter(
            self._points, self._units, self._files, BATCH,
            lambda: self._leases.check(project), lambda keys: self._revive(project, keys, born),
        )  # fmt: skip
        writer.run(project, check_dims_first(files, self._ensure_dims), born, done)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        self._ensure_projects()
        self._leases.check(project)
        made: list[Json] = []
        size = 0
        for name, data in pages.items():
            payload: Json = {
                "sort": "page", "project_id": escape_text(project), "name": escape_text(name), "born": born, "died": NEVER,
                "data": layout.encode_bytes(data), **({} if data else {"empty": True}),
            }  # fmt: skip
            made.append({"id": layout.named_point_id("page", project, name, str(born)), "vector": {}, "payload": payload})
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
        gone = any_of(at_most("died", generation), above("born", generation))
        swept = 0
        with suppress(NoCollection):
            swept = self._points.count(self._files, in_project(project, gone))
            # Files first: a file without units would look complete, while units without a file are repaired.
            if swept:
                self._points.delete(self._files, in_project(project, gone))
            self._points.delete(self._units, in_project(project, gone))
        with suppress(NoCollection):
            swept += self._sweep_pages(project, generation)
        self._points.optimise([self._units, self._files, self._projects])
        return swept

    def _sweep_pages(self, project: str, generation: int) -> int:
        newest: dict[str, int] = {}
        empty: set[tuple[str, int]] = set()
        every: list[tuple[str, int]] = []
        for one in self._points.scroll(self._projects, in_project(project, match("sort", "page")), ["name", "born", "empty"]):
            with check_reply(self._points.url, "listing of pages"):
                name, born = unescape_text(one["name"]), require(one["born"], int)
            every.append((name, born))
            if born <= generation:
                newest[name] = max(born, newest.get(name, born))
                empty |= {(name, born)} if one.get("empty") else set()
        gone = [
            layout.named_point_id("page", project, name, str(born)) for name, born in every
            if newest.get(name) != born or (name, born) in empty
        ]  # fmt: skip
        for some in split_keys(gone):
            self._points.delete(self._projects, {"must": [{"has_id": list(some)}]})
        return len(gone)

    def _revive(self, project: str, keys: list[str], born: int) -> None:
        """Files that exist already and are put again: what readers see now stays visible to them."""
        points = [layout.point_id(layout.file_hash(project, key)) for key in keys]
        there = self._points.get(self._files, points, ["key", "born", "died"])
        with check_reply(self._points.url, "listing of points"):
            lives = {require(one["key"], str): (require(one["born"], int), require(one["died"], int)) for one in there.values()}
        unseen = [key for key, (first, last) in lives.items() if first >= born or last < born]
        dying = [key for key, (first, last) in lives.items() if first < born <= last < NEVER]
        self._change(project, unseen, {"born": born, "died": NEVER})
        self._change(project, dying, {"died": NEVER})

    def _change(self, project: str, keys: Sequence[str], payload: Json, *where: Json) -> None:
        for some in split_keys(keys):
            self._leases.check(project)
            for collection in (self._units, self._files):
                with suppress(NoCollection):
                    self._points.change(collection, payload, in_project(project, match_any("key", some), *where))

    # -- reading ----------------------------------------------------------------------------------------------------------

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, tuple[int, bytes]] = {}
        for some in split_keys([escape_text(name) for name in names]):
            where = in_project(project, match("sort", "page"), match_any("name", some), at_most("born", generation))
            for one in self._scroll(self._projects, where, ["name", "born", "data"]):
                with check_reply(self._points.url, "page"):
                    name, born = unescape_text(one["name"]), require(one["born"], int)
                    if name not in found or found[name][0] < born:
                        found[name] = born, layout.decode_bytes(one["data"])
        return {name: data for name, (_, data) in found.items()}

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        try:
            found = rank_files(self._points, self._units, self._files, project, generation, question)
        except NoCollection:
            return []
        order = select_best(found, question.limit)
        names = self._keys_and_paths(project, [point for point, _ in order])
        made = [Candidate(*names[point], one.score, one.legs) for point, one in order if point in names]
        return sorted(made, key=lambda one: (-one.score, one.path, one.key))

    def _keys_and_paths(self, project: str, points: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Keys and paths of files, by the ids of their points."""
        with self._lock:
            known = {point: self._names[point] for point in points if point in self._names}
        for some in split_keys([point for point in points if point not in known]):
            for point, one in self._points.get(self._files, some, ["project_id", "key", "path"]).items():
                with check_reply(self._points.url, "file"):
                    if one["project_id"] == escape_text(project):
                        known[point] = require(one["key"], str), unescape_text(one["path"])
        with self._lock:
            if len(self._names) > _KNOWN:
                self._names.clear()
            self._names.update(known)
        return known

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        wanted = {layout.point_id(layout.file_hash(project, key)): key for key in keys}
        found = self._get_field(project, self._files, list(wanted), "record")
        with check_reply(self._points.url, "record of a file"):
            return {wanted[point]: layout.decode_bytes(data) for point, data in found.items() if point in wanted}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        points = {layout.point_id(layout.file_hash(project, key), place): (key, place) for key, place in wanted if place >= 0}
        found = self._get_field(project, self._units, list(points), "text")
        with check_reply(self._points.url, "text of a unit"):
            return {points[point]: unescape_text(text) for point, text in found.items() if point in points}

    def state(self) -> dict[str, str]:
        state = {"url": self._points.url, **self._points.describe([self._units, self._files, self._projects])}
        try:
            state["dims"] = str(self._points.dims(self._units))
        except NoCollection:
            state["dims"] = "none yet"
        return {**state, "projects": str(len(self.projects()))}

    def close(self) -> None:
        self._points.close()

    # -- collections ------------------------------------------------------------------------------------------------------

    def _get_field(self, project: str, collection: str, points: Sequence[str], field: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            for some in split_keys(points):
                got = self._points.get(collection, some, ["project_id", field])
                with check_reply(self._points.url, "points"):
                    found |= {point: one[field] for point, one in got.items() if one["project_id"] == escape_text(project)}
        except NoCollection:
            return {}
        return found

    def _scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        try:
            yield from self._points.scroll(collection, where, fields)
        except NoCollection:
            return

    def _ensure_projects(self) -> None:
        """Create the collection of heads and pages if it does not exist."""
        if not self._ready:
            self._points.create(self._projects, layout.collection_shape(self._settings, 0, "none"), layout.PROJECT_INDEXES)
            self._ready = True

    def _ensure_dims(self, dims: int) -> None:
        """Create the collections of units and files, for vectors of `dims` dimensions; 0: no vectors."""
        with self._lock:
            if not self._dims:
                try:
                    there = self._points.dims(self._units)
                except NoCollection:
                    there = dims or layout.USUAL_DIMS
                units = layout.collection_shape(self._settings, there, "sparse")
                self._points.create(self._units, units, layout.UNIT_INDEXES)
                self._points.create(self._files, layout.collection_shape(self._settings, there), layout.FILE_INDEXES)
                self._dims = self._points.dims(self._units)
        if dims and dims != self._dims:
            message = f"{self._units} in {self._points.url} has vectors of {self._dims} dimensions, and this model makes {dims}"
            raise StoreError(message, f"set qdrant.collection to another name for this model; {DOCTOR}")
