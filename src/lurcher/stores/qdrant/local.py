"""qdrant-client's local mode: all data in memory, and also in a folder if one is named. For tests and small projects."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lurcher.errors import MissingExtra, StoreError
from lurcher.stores.qdrant.layout import MATCH_NOTHING
from lurcher.stores.qdrant.points import DOCTOR, MEMORY, Json, LockedFolder, NoCollection, open_shared

PAGE = 1000
"""Points in one reply to a listing."""


def open_local(path: str, seconds: float) -> LocalPoints:
    try:
        import qdrant_client  # noqa: F401
    except ImportError:
        raise MissingExtra("qdrant+local needs the package qdrant-client", "pip install 'lurcher[qdrant]'") from None
    return open_shared(path, lambda folder: LocalPoints(folder, seconds))


class LocalPoints:
    """`Points` over qdrant-client."""

    exclusive, concurrency, parallel_queries = True, 1, False

    def __init__(self, folder: LockedFolder, seconds: float) -> None:
        from qdrant_client import QdrantClient

        self._client: Any
        self.url, self._folder = f"qdrant+local://{folder.path}", folder
        self._lock = threading.RLock()
        if folder.path != MEMORY:
            folder.lock(self.url, seconds)
        with self._translate_errors("open"):
            self._client = QdrantClient(MEMORY) if folder.path == MEMORY else QdrantClient(path=folder.path)

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        from qdrant_client import models

        with self._translate_errors("create a collection"):
            if not self._client.collection_exists(collection):
                dense = {
                    name: models.VectorParams(size=one["size"], distance=models.Distance.DOT)
                    for name, one in shape.get("vectors", {}).items()
                }
                sparse = {name: models.SparseVectorParams() for name in shape.get("sparse_vectors", {})}
                self._client.create_collection(collection, dense, sparse_vectors_config=sparse or None)

    def dims(self, collection: str) -> int:
        with self._translate_errors("read its shape", collection):
            vectors = self._client.get_collection(collection).config.params.vectors
            return int(vectors["dense"].size) if vectors and "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        from qdrant_client import models

        with self._translate_errors("put points", collection):
            made = [models.PointStruct.model_validate(point) for point in points]
            self._client.upsert(collection, made, update_filter=_where(MATCH_NOTHING) if only_new else None)

    def change(self, collection: str, payload: Json, where: Json) -> None:
        with self._translate_errors("change points", collection):
            self._client.set_payload(collection, payload, points=_where(where))

    def delete(self, collection: str, where: Json) -> None:
        with self._translate_errors("remove points", collection):
            self._client.delete(collection, points_selector=_where(where))

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        with self._translate_errors("fetch points", collection):
            found = self._client.retrieve(collection, list(ids), with_payload=list(fields))
            return {str(point.id): point.payload or {} for point in found}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        offset = None
        while True:
            with self._translate_errors("list points", collection):
                found, offset = self._client.scroll(collection, _where(where), PAGE, offset=offset, with_payload=list(fields))
            yield from [point.payload or {} for point in found]
            if offset is None:
                return

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        from qdrant_client import models

        with self._translate_errors("search", collection):
            requests = [models.QueryRequest.model_validate(one) for one in queries]
            answers = self._client.query_batch_points(collection, requests)
            return [[(str(point.id), point.score) for point in answer.points] for answer in answers]

    def count(self, collection: str, where: Json) -> int:
        with self._translate_errors("count points", collection):
            counted: int = self._client.count(collection, _where(where)).count
            return counted

    def flush(self, collections: Sequence[str]) -> None:
        """Nothing to do: each write is committed to its file at once."""

    def optimise(self, collections: Sequence[str]) -> None:
        """Nothing to do: a query is compared with every vector."""

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        from importlib.metadata import version

        began = time.perf_counter()
        state = {"engine": "qdrant-client, local mode", "version": version("qdrant-client")}
        for collection in collections:
            try:
                state[collection] = f"{self.count(collection, {}):,} points"
            except NoCollection:
                state[collection] = "not there yet"
        return {**state, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}

    def close(self) -> None:
        if self._folder.remove_user():
            with self._translate_errors("close"):
                self._client.close()
            self._folder.unlock()

    @contextmanager
    def _translate_errors(self, what: str, collection: str = "") -> Iterator[None]:
        """Runs one operation at a time, since the local mode is not thread-safe, and turns its errors into a `StoreError`."""
        with self._lock:
            try:
                if collection and not self._client.collection_exists(collection):
                    raise NoCollection(f"the store at {self.url} has no collection {collection}", DOCTOR)
                yield
            except StoreError:
                raise
            except Exception as error:  # the client raises errors of many kinds, also AssertionError
                message = " ".join(str(error).split())[:200]
                raise StoreError(f"the store at {self.url} cannot {what}: {message}", DOCTOR) from error


def _where(condition: Json) -> Any:
    from qdrant_client import models

    return models.Filter.model_validate(condition)
