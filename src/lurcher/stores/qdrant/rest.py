"""Qdrant on a server, by its REST interface."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lurcher.errors import StoreError
from lurcher.net.http import Deadline
from lurcher.stores.qdrant.connection import Wire
from lurcher.stores.qdrant.layout import NOTHING
from lurcher.stores.qdrant.points import DOCTOR, Json, NoCollection, understood
from lurcher.stores.qdrant.retry import Patience

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.config.schema import QdrantSettings
    from lurcher.stores.qdrant.address import Address

OLDEST = (1, 17)
"""Indexes that add nothing to the graph came with this version; a constant for the fusion came before."""
PAGE = 1000
CONCURRENCY = 4
"""Batches that are under way at once; hand-set."""
WRITE_SECONDS = 60.0
"""How long one batch may take; hand-set."""
PATIENCE = 120.0
"""Seconds for which a batch is tried again while the server cannot take it; hand-set."""


def connected(address: Address, settings: Settings) -> RestPoints:
    from lurcher.config.trust import service_key

    assert address.base is not None
    key = service_key("store", address.base, "an address that begins with qdrants://")
    tls = None
    if address.base.scheme == "https":
        import ssl

        tls = ssl.create_default_context()
    wire = Wire(address.base, address.url, {"api-key": key} if key else {}, tls)
    return RestPoints(address.url, wire, settings.qdrant, settings.store.seconds)


class RestPoints:
    alone, parallel = False, True

    def __init__(self, url: str, wire: Wire, settings: QdrantSettings, seconds: float) -> None:
        self.url, self.width = url, CONCURRENCY
        self._wire, self._settings, self._patience = wire, settings, Patience()
        self._checked, self._seconds = False, seconds

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        if not self._checked:
            self._check_version()
        known: Json = {}
        try:
            known = self._info(collection).get("payload_schema") or {}
        except NoCollection:
            try:
                self._write("PUT", collection, "", shape)
            except StoreError as error:
                if error.status != 409:  # else another one was faster
                    raise
        for name, schema in indexes.items():
            if name not in known:
                self._write("PUT", collection, "/index?wait=true", {"field_name": name, "field_schema": schema})

    def dims(self, collection: str) -> int:
        found = self._info(collection)
        with understood(self.url, "what a collection is like"):
            vectors = found["config"]["params"].get("vectors") or {}
            return int(vectors["dense"]["size"]) if "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        body: Json = {"points": list(points)}
        if only_new:  # what is there is changed only where it fulfils this
            body["update_filter"] = NOTHING
        self._write("PUT", collection, f"/points?wait=true&ordering={'strong' if only_new else 'weak'}", body)

    def change(self, collection: str, payload: Json, where: Json) -> None:
        # Through one replica, so that all of them see changes of the same point in the same order.
        self._write("POST", collection, "/points/payload?wait=true&ordering=strong", {"payload": payload, "filter": where})

    def delete(self, collection: str, where: Json) -> None:
        self._write("POST", collection, "/points/delete?wait=true&ordering=strong", {"filter": where})

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, sure: bool = False) -> dict[str, Json]:
        body = {"ids": list(ids), "with_payload": list(fields), "with_vector": False}
        found = self._read(collection, f"/points{'?consistency=majority' if sure else ''}", body)
        with understood(self.url, "what points are like"):
            return {_identity(point["id"]): _payload(point) for point in _several(found)}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        offset = None
        while True:
            body = {"filter": where, "limit": PAGE, "with_payload": list(fields), "with_vector": False, "offset": offset}
            found = self._read(collection, "/points/scroll", body)
            with understood(self.url, "what there is"):
                points, following = found["points"], found.get("next_page_offset")
                page = [_payload(point) for point in _several(points)]
                if following is not None and (not page or following == offset):
                    raise ValueError("it goes round in circles")
            yield from page
            if following is None:
                return
            offset = following

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        found = self._read(collection, "/points/query/batch", {"searches": list(queries)})
        with understood(self.url, "a question"):
            answers = [
                [(_identity(point["id"]), float(point["score"])) for point in _several(one["points"])]
                for one in _several(found)
            ]
            if len(answers) != len(queries):
                raise ValueError("not one answer for each question")
            return answers

    def count(self, collection: str, where: Json) -> int:
        found = self._read(collection, "/points/count", {"filter": where, "exact": True})
        with understood(self.url, "how much there is"):
            return int(found["count"])

    def safe(self, collections: Sequence[str]) -> None:
        """A server answers once a write is in its log."""

    def tidy(self, collections: Sequence[str]) -> None:
        """A server does that by itself."""

    def about(self, collections: Sequence[str]) -> dict[str, str]:
        began = time.perf_counter()
        version = self._version()
        told = {"engine": "qdrant server", "version": version, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}
        for collection in collections:
            try:
                found = self._info(collection)
            except NoCollection:
                told[collection] = "not there yet"
                continue
            with understood(self.url, "what a collection is like"):
                told[collection] = f"{str(found['status'])[:20]}, {int(found['points_count'] or 0):,} points"
        return told

    def close(self) -> None:
        self._wire.close()

    def _version(self) -> str:
        deadline = Deadline.after(self._seconds)
        with understood(self.url, "which version it is"):
            version = self._wire.ask("GET", "/", None, deadline)["version"]
            return "".join(letter for letter in version if letter.isalnum() or letter in ".-+")[:40]

    def _check_version(self) -> None:
        version = self._version()
        with understood(self.url, "which version it is"):
            major, minor = (int(part) for part in version.split(".")[:2])
        if (major, minor) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise StoreError(f"the server at {self.url} is Qdrant {version}", f"{wanted} or a later one is needed; {DOCTOR}")
        self._checked = True

    def _info(self, collection: str) -> Json:
        found = self._asked("GET", collection, "", None, self._seconds, self._seconds)
        if not isinstance(found, dict):
            raise StoreError(f"the store at {self.url} does not say what {collection} is like", DOCTOR)
        return found

    def _read(self, collection: str, path: str, body: Json) -> Any:
        return self._asked("POST", collection, path, body, self._seconds, self._seconds)

    def _write(self, method: str, collection: str, path: str, body: Json) -> None:
        self._asked(method, collection, path, body, WRITE_SECONDS, PATIENCE)

    def _asked(self, method: str, collection: str, path: str, body: Json | None, each: float, patience: float) -> Any:
        place = f"/collections/{quote(collection, safe='')}{path}"
        whole = Deadline.after(each) if method == "GET" or patience == each else None

        def ask() -> Any:
            return self._wire.ask(method, place, body, whole or Deadline.after(each))

        answer = self._patience.tried(ask, patience)
        with understood(self.url, f"{method} {place}"):
            return answer["result"]


def _several(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError("not several")
    return found


def _identity(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("no identity of ours")
    return found


def _payload(point: Any) -> Json:
    payload = point.get("payload")
    if not isinstance(payload, dict):
        raise TypeError("no payload")
    return payload
