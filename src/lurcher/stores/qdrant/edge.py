"""Qdrant's own engine in this process (qdrant-edge-py): a folder with one subfolder for each collection.

The functions `translate_…` turn the JSON of the REST interface into the engine's own objects.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lurcher.errors import MissingExtra, StoreError
from lurcher.net.http import Deadline
from lurcher.runtime.process import format_count, open_file
from lurcher.stores.qdrant.layout import DOCTOR, MATCH_NOTHING, Json, NoCollection

PAGE = 1000
"""Points in one reply to a listing."""
EDGE_RRF_K = 2
"""Qdrant's default constant of fusion: 1/(2 + rank), with ranks from 0."""


def open_edge(path: str, seconds: float) -> EdgePoints:
    """Stores of the same process that name the same folder share one object."""
    require_package()
    with _lock:
        if path not in _open:
            _open[path] = EdgePoints(LockedFolder(path), seconds)
        points = _open[path]
        points.folder.add_user()
        return points


class EdgePoints:
    """`Points` over the embedded engine."""

    exclusive, concurrency = True, 1

    def __init__(self, folder: LockedFolder, seconds: float) -> None:
        self.url, self.folder = f"qdrant+edge://{folder.path}", folder
        self._shards: dict[str, Any] = {}
        self._lock = threading.RLock()
        folder.lock(self.url, seconds)

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        with self._lock:
            try:
                shard = self._open_shard(collection)
            except NoCollection:
                shard = self._create_shard(collection, shape)
            with self._translate_errors("create an index"):
                known = set(shard.info().payload_schema)
                for name, schema in indexes.items():
                    if name not in known:
                        shard.update(translate_index(name, schema))

    def dims(self, collection: str) -> int:
        self._open_shard(collection)
        with self._translate_errors("read its shape"):
            vectors = json.loads((Path(self.folder.path) / collection / "shape.json").read_text("utf-8")).get("vectors", {})
        return int(vectors["dense"]["size"]) if "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        shard = self._open_shard(collection)
        with self._translate_errors("put points"):
            shard.update(translate_upsert(points, MATCH_NOTHING if only_new else None))

    def change(self, collection: str, payload: Json, where: Json) -> None:
        shard = self._open_shard(collection)
        # The engine finds points first and changes them afterwards: nothing else may be written in between.
        with self._lock, self._translate_errors("change points"):
            shard.update(translate_change(payload, where))

    def delete(self, collection: str, where: Json) -> None:
        shard = self._open_shard(collection)
        with self._lock, self._translate_errors("remove points"):
            shard.update(translate_delete(where))

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        shard = self._open_shard(collection)
        with self._translate_errors("fetch points"):
            return {str(point.id): point.payload or {} for point in shard.retrieve(list(ids), list(fields), False)}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        shard, offset = self._open_shard(collection), None
        while True:
            with self._translate_errors("list points"):
                points, offset = shard.scroll(translate_scroll(where, fields, PAGE, offset))
            yield from [point.payload or {} for point in points]
            if offset is None:
                return

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        shard = self._open_shard(collection)
        with self._translate_errors("search"):
            answers = shard.query_batch(translate_batch(queries))
        return [[(str(point.id), point.score) for point in answer] for answer in answers]

    def count(self, collection: str, where: Json) -> int:
        shard = self._open_shard(collection)
        with self._translate_errors("count points"):
            counted: int = shard.count(translate_count(where))
        return counted

    def flush(self, collections: Sequence[str]) -> None:
        for shard in self._existing(collections):
            with self._translate_errors("flush"):
                shard.flush()

    def optimise(self, collections: Sequence[str]) -> None:
        """Build the graphs now: the engine does not do so by itself. It takes half a minute for 60,000 new units."""
        for shard in self._existing(collections):
            with self._translate_errors("build graphs"):
                shard.optimize()
                shard.flush()

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        from importlib.metadata import version

        began = time.perf_counter()
        state = {"engine": "qdrant-edge, in this process", "version": version("qdrant-edge-py")}
        for collection in collections:
            try:
                found = self._open_shard(collection).info()
                state[collection] = (
                    f"{format_count(found.points_count, 'point')}, {format_count(found.segments_count, 'segment')}"
                )
            except NoCollection:
                state[collection] = "not there yet"
        return {**state, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}

    def close(self) -> None:
        if self.folder.remove_user():
            with self._lock:
                shards, self._shards = self._shards, {}
                for shard in shards.values():
                    with self._translate_errors("close"):
                        shard.close()
            self.folder.unlock()

    def _existing(self, collections: Sequence[str]) -> list[Any]:
        return [self._open_shard(one) for one in collections if (Path(self.folder.path) / one / "shape.json").is_file()]

    def _open_shard(self, collection: str) -> Any:
        with self._lock:
            if collection not in self._shards:
                folder = Path(self.folder.path) / collection
                if not (folder / "shape.json").is_file():
                    raise NoCollection(f"there is no collection in {folder}", DOCTOR)
                with self._translate_errors("open"):
                    self._shards[collection] = engine().EdgeShard.load(str(folder / "shard"))
            return self._shards[collection]

    def _create_shard(self, collection: str, shape: Json) -> Any:
        """Create a shard, in place of what a killed process left: shape.json is written last."""
        folder = Path(self.folder.path) / collection
        with self._translate_errors("create a folder"):
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "shard").mkdir(parents=True)
            shard = engine().EdgeShard.create(str(folder / "shard"), translate_shape(shape))
            shard.flush()
            with open(folder / "shape.new", "w", encoding="utf-8") as file:
                json.dump(shape, file)
                file.flush()
                os.fsync(file.fileno())
            (folder / "shape.new").replace(folder / "shape.json")
        self._shards[collection] = shard
        return shard

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:  # the engine has no error classes of its own
            message = " ".join(str(error).split())[:200]
            raise StoreError(f"the store at {self.url} cannot {what}: {message}", DOCTOR) from error


class LockedFolder:
    """A folder that one process at a time has open; all stores of that process share it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._users, self._handle = 0, -1

    def lock(self, url: str, seconds: float) -> None:
        """Wait up to `seconds` for another process to release it."""
        from lurcher.runtime.locks import lock

        deadline = Deadline.after(seconds)
        try:
            Path(self.path).mkdir(0o700, parents=True, exist_ok=True)
            self._handle = open_file(os.path.join(self.path, "lock"), os.O_RDWR | os.O_CREAT)
            while not lock(self._handle):
                if not deadline.left:
                    hint = f"wait until it ends, or use a server (qdrant://HOST), which several can share; {DOCTOR}"
                    raise StoreError(f"the store at {url} is open in another process", hint, passing=True)
                time.sleep(0.05)
        except OSError as error:
            raise StoreError(f"the store at {url} cannot be opened: {error.strerror}", DOCTOR) from error
        except StoreError:
            self.unlock()
            raise

    def unlock(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def add_user(self) -> None:
        """Call it with `_lock` held."""
        self._users += 1

    def remove_user(self) -> bool:
        """Whether that was the last one."""
        with _lock:
            self._users -= 1
            if self._users == 0:
                _open.pop(self.path, None)
            return self._users == 0


_open: dict[str, EdgePoints] = {}
_lock = threading.Lock()


def require_package() -> None:
    try:
        engine()
    except ImportError:
        raise MissingExtra("qdrant+edge needs the package qdrant-edge-py", "pip install 'lurcher[qdrant]'") from None


def engine() -> Any:
    """The package, imported when it is first used."""
    import qdrant_edge

    return qdrant_edge


def translate_shape(shape: Json) -> Any:
    edge = engine()
    quantised = shape.get("quantization_config", {})
    quantisation = None
    if "scalar" in quantised:
        quantisation = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, memory=edge.Memory.Pinned)
    elif "binary" in quantised:
        quantisation = edge.BinaryQuantizationConfig(memory=edge.Memory.Pinned)
    # The text of units is read for a few hits, the payload of files for a hundred candidates of every query.
    cold = shape["on_disk_payload"] and "sparse" in shape.get("sparse_vectors", {})
    made: Json = {"payload_memory": edge.Memory.Cold if cold else edge.Memory.Cached, "quantization_config": quantisation}
    if "sparse_vectors" in shape:
        sparse = shape["sparse_vectors"].items()
        made["sparse_vectors"] = {name: edge.EdgeSparseVectorParams(on_disk=one["index"]["on_disk"]) for name, one in sparse}
    if "vectors" in shape:
        dense, graph = shape["vectors"]["dense"], shape["hnsw_config"]
        memory = edge.Memory.Cold if dense["on_disk"] else edge.Memory.Cached
        made["vectors"] = {"dense": edge.EdgeVectorParams(dense["size"], edge.Distance.Dot, memory=memory)}
        made["hnsw_config"] = edge.HnswIndexConfig(graph["m"], graph["ef_construct"], 10_000, payload_m=graph["payload_m"])
    return edge.EdgeConfig(**made)


def translate_index(name: str, schema: Json) -> Any:
    edge = engine()
    options = {key: value for key, value in schema.items() if key != "type"}
    made = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}[schema["type"]](**options)
    return edge.UpdateOperation.create_field_index(name, made)


def translate_upsert(points: Sequence[Json], condition: Json | None) -> Any:
    edge = engine()
    made = [
        edge.Point(one["id"], {name: translate_vector(value) for name, value in one["vector"].items()}, one["payload"])
        for one in points
    ]
    return edge.UpdateOperation.upsert_points(made, condition=None if condition is None else translate_filter(condition))


def translate_change(payload: Json, condition: Json) -> Any:
    return engine().UpdateOperation.set_payload_by_filter(translate_filter(condition), payload)


def translate_delete(condition: Json) -> Any:
    return engine().UpdateOperation.delete_points_by_filter(translate_filter(condition))


def translate_scroll(condition: Json, fields: Sequence[str], limit: int, offset: Any) -> Any:
    found = translate_filter(condition)
    return engine().ScrollRequest(limit=limit, offset=offset, filter=found, with_payload=list(fields), with_vector=False)


def translate_count(condition: Json) -> Any:
    return engine().CountRequest(exact=True, filter=translate_filter(condition))


def translate_batch(queries: Sequence[Json]) -> Any:
    edge = engine()
    requests = [edge.QueryRequest(with_payload=False, with_vector=False, **_translate_query(one)) for one in queries]
    return edge.QueryBatchRequest(requests)


def _translate_query(one: Json) -> Json:
    """A query, or one of its prefetches."""
    edge, made = engine(), {"limit": one["limit"]}
    query = one.get("query")
    if query is not None and "nearest" in query:
        made["query"] = edge.Query.Nearest(translate_vector(query["nearest"]), using=one["using"])
    elif query is not None:
        made["query"] = edge.Fusion.Rrf(k=query["rrf"]["k"] if "rrf" in query else EDGE_RRF_K)
    if "prefetch" in one:
        made["prefetches"] = [edge.Prefetch(**_translate_query(first)) for first in one["prefetch"]]
    if "filter" in one:
        made["filter"] = translate_filter(one["filter"])
    if "params" in one:
        quantised = one["params"].get("quantization")
        more = None if quantised is None else edge.QuantizationSearchParams(**quantised)
        made["params"] = edge.SearchParams(exact=one["params"].get("exact", False), quantization=more)
    return made


def translate_vector(value: Any) -> Any:
    return engine().SparseVector(value["indices"], value["values"]) if isinstance(value, dict) else value


def translate_filter(condition: Json) -> Any:
    return engine().Filter(**{part: [_translate_condition(one) for one in several] for part, several in condition.items()})


def _translate_condition(one: Json) -> Any:
    edge = engine()
    if "has_id" in one:
        return edge.HasIdCondition(set(one["has_id"]))
    if "key" not in one:
        return translate_filter(one)
    if "range" in one:
        return edge.FieldCondition(one["key"], range=edge.RangeFloat(**one["range"]))
    wanted = one["match"]
    matched = edge.MatchAny(wanted["any"]) if "any" in wanted else edge.MatchValue(wanted["value"])
    return edge.FieldCondition(one["key"], match=matched)
