"""Qdrant's own engine in this process (qdrant-edge-py): one folder, and in it one for each collection."""

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

from lurcher.errors import StoreError
from lurcher.runtime.terminal import format_count
from lurcher.stores.qdrant import translate
from lurcher.stores.qdrant.layout import NOTHING
from lurcher.stores.qdrant.points import DOCTOR, Json, NoCollection
from lurcher.stores.qdrant.shared_folder import Folder, shared

PAGE = 1000


def opened(path: str, seconds: float) -> EdgePoints:
    translate.needed()
    return shared(path, lambda folder: EdgePoints(folder, seconds))


class EdgePoints:
    alone, width, parallel = True, 1, True

    def __init__(self, folder: Folder, seconds: float) -> None:
        self.url, self._folder, self._seconds = f"qdrant+edge://{folder.path}", folder, seconds
        self._shards: dict[str, Any] = {}
        self._lock = threading.RLock()
        folder.take(self.url, seconds)

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        with self._lock:
            try:
                shard = self._shard(collection)
            except NoCollection:
                shard = self._made(collection, shape)
            with self._spoken("make an index"):
                known = set(shard.info().payload_schema)
                for name, schema in indexes.items():
                    if name not in known:
                        shard.update(translate.index(name, schema))

    def dims(self, collection: str) -> int:
        self._shard(collection)
        with self._spoken("read its shape"):
            vectors = json.loads((Path(self._folder.path) / collection / "shape.json").read_text("utf-8")).get("vectors", {})
        return int(vectors["dense"]["size"]) if "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        shard = self._shard(collection)
        with self._spoken("put points"):
            shard.update(translate.upsert(points, NOTHING if only_new else None))

    def change(self, collection: str, payload: Json, where: Json) -> None:
        shard = self._shard(collection)
        # The engine looks for points first and changes them then: nobody else may come in between.
        with self._lock, self._spoken("change points"):
            shard.update(translate.change(payload, where))

    def delete(self, collection: str, where: Json) -> None:
        shard = self._shard(collection)
        with self._lock, self._spoken("remove points"):
            shard.update(translate.delete(where))

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, sure: bool = False) -> dict[str, Json]:
        shard = self._shard(collection)
        with self._spoken("fetch points"):
            return {str(point.id): point.payload or {} for point in shard.retrieve(list(ids), list(fields), False)}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        shard, offset = self._shard(collection), None
        while True:
            with self._spoken("list points"):
                points, offset = shard.scroll(translate.scroll(where, fields, PAGE, offset))
            yield from [point.payload or {} for point in points]
            if offset is None:
                return

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        shard = self._shard(collection)
        with self._spoken("search"):
            answers = shard.query_batch(translate.batch(queries))
        return [[(str(point.id), point.score) for point in answer] for answer in answers]

    def count(self, collection: str, where: Json) -> int:
        shard = self._shard(collection)
        with self._spoken("count points"):
            counted: int = shard.count(translate.count(where))
        return counted

    def safe(self, collections: Sequence[str]) -> None:
        for shard in self._there(collections):
            with self._spoken("flush"):
                shard.flush()

    def tidy(self, collections: Sequence[str]) -> None:
        """Nobody else does that here; it takes its time where much is new (half a minute for 60,000 units)."""
        for shard in self._there(collections):
            with self._spoken("build graphs"):
                shard.optimize()
                shard.flush()

    def about(self, collections: Sequence[str]) -> dict[str, str]:
        from importlib.metadata import version

        began = time.perf_counter()
        told = {"engine": "qdrant-edge, in this process", "version": version("qdrant-edge-py")}
        for collection in collections:
            try:
                found = self._shard(collection).info()
                told[collection] = (
                    f"{format_count(found.points_count, 'point')}, {format_count(found.segments_count, 'segment')}"
                )
            except NoCollection:
                told[collection] = "not there yet"
        return {**told, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}

    def close(self) -> None:
        if self._folder.left():
            with self._lock:
                shards, self._shards = self._shards, {}
                for shard in shards.values():
                    with self._spoken("close"):
                        shard.close()
            self._folder.release()

    def _there(self, collections: Sequence[str]) -> list[Any]:
        return [self._shard(one) for one in collections if (Path(self._folder.path) / one / "shape.json").is_file()]

    def _shard(self, collection: str) -> Any:
        with self._lock:
            if collection not in self._shards:
                folder = Path(self._folder.path) / collection
                if not (folder / "shape.json").is_file():
                    raise NoCollection(f"nothing is kept in {folder}", DOCTOR)
                with self._spoken("open"):
                    self._shards[collection] = translate.engine().EdgeShard.load(str(folder / "shard"))
            return self._shards[collection]

    def _made(self, collection: str, shape: Json) -> Any:
        """A killed process may have left a folder without its shape, which is written last."""
        folder = Path(self._folder.path) / collection
        with self._spoken("make a folder"):
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "shard").mkdir(parents=True)
            shard = translate.engine().EdgeShard.create(str(folder / "shard"), translate.configuration(shape))
            shard.flush()
            with open(folder / "shape.new", "w", encoding="utf-8") as file:
                json.dump(shape, file)
                file.flush()
                os.fsync(file.fileno())
            (folder / "shape.new").replace(folder / "shape.json")
        self._shards[collection] = shard
        return shard

    @contextmanager
    def _spoken(self, what: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:  # the engine raises nothing more exact
            said = " ".join(str(error).split())[:200]
            raise StoreError(f"the store at {self.url} cannot {what}: {said}", DOCTOR) from error
