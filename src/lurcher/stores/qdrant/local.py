"""qdrant-client's local mode: everything in memory, and in a folder if one is named. For tests and for small projects."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lurcher.errors import MissingExtra, StoreError
from lurcher.stores.qdrant.address import MEMORY
from lurcher.stores.qdrant.layout import NOTHING
from lurcher.stores.qdrant.points import DOCTOR, Json, NoCollection
from lurcher.stores.qdrant.shared_folder import Folder, shared

PAGE = 1000


def opened(path: str, seconds: float) -> LocalPoints:
    try:
        import qdrant_client  # noqa: F401
    except ImportError:
        raise MissingExtra("qdrant+local needs a package more, qdrant-client", "pip install 'lurcher[qdrant]'") from None
    return shared(path, lambda folder: LocalPoints(folder, seconds))


class LocalPoints:
    alone, width, parallel = True, 1, False

    def __init__(self, folder: Folder, seconds: float) -> None:
        from qdrant_client import QdrantClient

        self._client: Any
        self.url, self._folder = f"qdrant+local://{folder.path}", folder
        self._lock = threading.RLock()
        if folder.path != MEMORY:
            folder.take(self.url, seconds)
        with self._spoken("open"):
            self._client = QdrantClient(MEMORY) if folder.path == MEMORY else QdrantClient(path=folder.path)

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        from qdrant_client import models

        with self._spoken("make a collection"):
            if not self._client.collection_exists(collection):
                dense = {
                    name: models.VectorParams(size=one["size"], distance=models.Distance.DOT)
                    for name, one in shape.get("vectors", {}).items()
                }
                sparse = {name: models.SparseVectorParams() for name in shape.get("sparse_vectors", {})}
                self._client.create_collection(collection, dense, sparse_vectors_config=sparse or None)

    def dims(self, collection: str) -> int:
        with self._spoken("look", collection):
            vectors = self._client.get_collection(collection).config.params.vectors
            return int(vectors["dense"].size) if vectors and "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        from qdrant_client import models

        with self._spoken("put points", collection):
            made = [models.PointStruct.model_validate(point) for point in points]
            self._client.upsert(collection, made, update_filter=_where(NOTHING) if only_new else None)

    def change(self, collection: str, payload: Json, where: Json) -> None:
        with self._spoken("change points", collection):
            self._client.set_payload(collection, payload, points=_where(where))

    def delete(self, collection: str, where: Json) -> None:
        with self._spoken("remove points", collection):
            self._client.delete(collection, points_selector=_where(where))

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, sure: bool = False) -> dict[str, Json]:
        with self._spoken("fetch points", collection):
            found = self._client.retrieve(collection, list(ids), with_payload=list(fields))
            return {str(point.id): point.payload or {} for point in found}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        offset = None
        while True:
            with self._spoken("list points", collection):
                found, offset = self._client.scroll(collection, _where(where), PAGE, offset=offset, with_payload=list(fields))
            yield from [point.payload or {} for point in found]
            if offset is None:
                return

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        from qdrant_client import models

        with self._spoken("search", collection):
            asked = [models.QueryRequest.model_validate(one) for one in queries]
            answers = self._client.query_batch_points(collection, asked)
            return [[(str(point.id), point.score) for point in answer.points] for answer in answers]

    def count(self, collection: str, where: Json) -> int:
        with self._spoken("count points", collection):
            counted: int = self._client.count(collection, _where(where)).count
            return counted

    def safe(self, collections: Sequence[str]) -> None:
        """Each write is committed to its file as it is made."""

    def tidy(self, collections: Sequence[str]) -> None:
        """Nothing is built here: a question is compared with every vector."""

    def about(self, collections: Sequence[str]) -> dict[str, str]:
        from importlib.metadata import version

        began = time.perf_counter()
        told = {"engine": "qdrant-client, local mode", "version": version("qdrant-client")}
        for collection in collections:
            try:
                told[collection] = f"{self.count(collection, {}):,} points"
            except NoCollection:
                told[collection] = "not there yet"
        return {**told, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}

    def close(self) -> None:
        if self._folder.left():
            with self._spoken("close"):
                self._client.close()
            self._folder.release()

    @contextmanager
    def _spoken(self, what: str, collection: str = "") -> Iterator[None]:
        """One at a time: the local mode is not made for threads."""
        with self._lock:
            try:
                if collection and not self._client.collection_exists(collection):
                    raise NoCollection(f"the store at {self.url} has no collection {collection}", DOCTOR)
                yield
            except StoreError:
                raise
            except Exception as error:  # of many kinds, among them asserts
                said = " ".join(str(error).split())[:200]
                raise StoreError(f"the store at {self.url} cannot {what}: {said}", DOCTOR) from error


def _where(condition: Json) -> Any:
    from qdrant_client import models

    return models.Filter.model_validate(condition)
