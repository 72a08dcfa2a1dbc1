"""Qdrant on a server, by its REST interface. All requests are idempotent, so each may be sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote

from lurcher.errors import ServerError, StoreError
from lurcher.net.http import Client, Deadline
from lurcher.net.resilience import BusyGate
from lurcher.stores.qdrant.layout import DOCTOR, MATCH_NOTHING, Json, NoCollection, check_reply, require

if TYPE_CHECKING:
    from lurcher.config import Settings

OLDEST = (1, 17)
"""The oldest version that can be used: the first with payload indexes that add nothing to the search graph."""
PAGE = 1000
"""Points in one reply to a listing."""
CONCURRENCY = 4
"""Batches that are under way at once; hand-set."""
WRITE_SECONDS = 60.0
"""How long one batch may take; hand-set."""
PATIENCE = 120.0
"""Seconds for which a batch is tried again while the server cannot take it; hand-set."""
MAX_BYTES = 256_000_000
"""The largest reply that is read."""
_MAX_IDLE = 8
"""Idle connections that are kept open."""


def connect_rest(url: str, server: SplitResult, settings: Settings) -> RestPoints:
    """`url` is how messages name the store, `server` its HTTP address."""
    from lurcher.config.trust import service_key

    key = service_key("store", server, "an address that begins with qdrants://")
    headers = {"api-key": key} if key else {}
    late = "raise store.seconds, or give the server less to do"
    client = Client(server, headers, name=url, max_bytes=MAX_BYTES, max_idle=_MAX_IDLE, late_hint=late)
    return RestPoints(url, client, settings.store.seconds)


class RestPoints:
    exclusive = False

    def __init__(self, url: str, client: Client, seconds: float) -> None:
        self.url, self.concurrency = url, CONCURRENCY
        self._client, self._gate = client, BusyGate()
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
                if error.status != 409:  # 409: another client was faster
                    raise
        for name, schema in indexes.items():
            if name not in known:
                self._write("PUT", collection, "/index?wait=true", {"field_name": name, "field_schema": schema})

    def dims(self, collection: str) -> int:
        found = self._info(collection)
        with check_reply(self.url, "collection"):
            vectors = found["config"]["params"].get("vectors") or {}
            return int(vectors["dense"]["size"]) if "dense" in vectors else 0

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None:
        body: Json = {"points": list(points)}
        if only_new:  # an existing point is changed only if it passes this filter, which none does
            body["update_filter"] = MATCH_NOTHING
        self._write("PUT", collection, f"/points?wait=true&ordering={'strong' if only_new else 'weak'}", body)

    def change(self, collection: str, payload: Json, where: Json) -> None:
        # Through one replica, so that all of them see changes of the same point in the same order.
        self._write("POST", collection, "/points/payload?wait=true&ordering=strong", {"payload": payload, "filter": where})

    def delete(self, collection: str, where: Json) -> None:
        self._write("POST", collection, "/points/delete?wait=true&ordering=strong", {"filter": where})

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        body = {"ids": list(ids), "with_payload": list(fields), "with_vector": False}
        found = self._read(collection, f"/points{'?consistency=majority' if majority else ''}", body)
        with check_reply(self.url, "points"):
            return {require(point["id"], str): require(point["payload"], dict) for point in require(found, list)}

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        offset = None
        while True:
            body = {"filter": where, "limit": PAGE, "with_payload": list(fields), "with_vector": False, "offset": offset}
            found = self._read(collection, "/points/scroll", body)
            with check_reply(self.url, "listing of points"):
                points, following = found["points"], found.get("next_page_offset")
                page = [require(point["payload"], dict) for point in require(points, list)]
                if following is not None and (not page or following == offset):
                    raise ValueError("the listing does not end")
            yield from page
            if following is None:
                return
            offset = following

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        found = self._read(collection, "/points/query/batch", {"searches": list(queries)})
        with check_reply(self.url, "query"):
            answers = [
                [(require(point["id"], str), float(point["score"])) for point in require(one["points"], list)]
                for one in require(found, list)
            ]
            if len(answers) != len(queries):
                raise ValueError("the number of answers is not that of the queries")
            return answers

    def count(self, collection: str, where: Json) -> int:
        found = self._read(collection, "/points/count", {"filter": where, "exact": True})
        with check_reply(self.url, "count"):
            return int(found["count"])

    def flush(self, collections: Sequence[str]) -> None:
        """Nothing to do: a server replies once a write is in its log."""

    def optimise(self, collections: Sequence[str]) -> None:
        """Nothing to do: a server does that by itself."""

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        began = time.perf_counter()
        version = self._version()
        state = {"engine": "qdrant server", "version": version, "latency": f"{(time.perf_counter() - began) * 1000:.1f} ms"}
        for collection in collections:
            try:
                found = self._info(collection)
            except NoCollection:
                state[collection] = "not there yet"
                continue
            with check_reply(self.url, "collection"):
                state[collection] = f"{str(found['status'])[:20]}, {int(found['points_count'] or 0):,} points"
        return state

    def close(self) -> None:
        self._client.close()

    def _version(self) -> str:
        deadline = Deadline.after(self._seconds)
        with check_reply(self.url, "version"):
            version = self._send("GET", "/", None, deadline)["version"]
            return "".join(letter for letter in version if letter.isalnum() or letter in ".-+")[:40]

    def _check_version(self) -> None:
        version = self._version()
        with check_reply(self.url, "version"):
            major, minor = (int(part) for part in version.split(".")[:2])
        if (major, minor) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise StoreError(f"the server at {self.url} is Qdrant {version}", f"install {wanted} or later; {DOCTOR}")
        self._checked = True

    def _info(self, collection: str) -> Json:
        found = self._request("GET", collection, "", None, self._seconds, self._seconds)
        if not isinstance(found, dict):
            raise StoreError(f"the store at {self.url} does not describe the collection {collection}", DOCTOR)
        return found

    def _read(self, collection: str, path: str, body: Json) -> Any:
        return self._request("POST", collection, path, body, self._seconds, self._seconds)

    def _write(self, method: str, collection: str, path: str, body: Json) -> None:
        self._request(method, collection, path, body, WRITE_SECONDS, PATIENCE)

    def _request(self, method: str, collection: str, path: str, body: Json | None, seconds: float, patience: float) -> Any:
        """One request of at most `seconds`, retried for `patience` seconds after its first failure."""
        place = f"/collections/{quote(collection, safe='')}{path}"
        # Reading has one deadline for all attempts; a write gets a new one with each attempt.
        whole = Deadline.after(seconds) if method == "GET" or patience == seconds else None

        def request() -> Any:
            return self._send(method, place, body, whole or Deadline.after(seconds))

        answer = self._gate.run(request, patience)
        with check_reply(self.url, f"{method} {place}"):
            return answer["result"]

    def _send(self, method: str, path: str, body: Json | None, deadline: Deadline) -> Any:
        """One request; its failure becomes a `StoreError`."""
        try:
            return self._client.request(path, deadline, body, method)
        except ServerError as problem:
            raise self._explain(problem, f"{method} {path.partition('?')[0]}") from problem

    def _explain(self, problem: ServerError, what: str) -> StoreError:
        message, hint, status = f"the store failed: {problem.message} (tried {what})", problem.hint, problem.status
        if status == 404 and "ollection" in problem.message:
            return NoCollection(f"the store at {self.url} has no such collection", DOCTOR, status)
        if status in (401, 403):
            message = f"the store refuses access: {problem.message}"
            hint = "put its key into the environment variable LURCHER_STORE_KEY"
        found = StoreError(message, f"{hint}; {DOCTOR}", status, passing=problem.passing, after=problem.after)
        found.tried = problem.tried
        return found
