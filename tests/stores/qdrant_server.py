"""A server that speaks the part of Qdrant's REST interface that lurcher uses, by handing it on to the embedded engine.

Bodies are checked with the models of qdrant-client, which are made from Qdrant's own description of that interface and forbid
what it does not name. `python -m tests.stores.qdrant_server FOLDER` runs it by itself and prints its port.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from qdrant_client import models

from lurcher.stores.qdrant import edge
from lurcher.stores.qdrant.layout import NoCollection

BODIES: dict[tuple[str, str], Any] = {
    ("PUT", ""): models.CreateCollection,
    ("PUT", "index"): models.CreateFieldIndex,
    ("PUT", "points"): models.PointsList,
    ("POST", "points"): models.PointRequest,
    ("POST", "points/payload"): models.SetPayload,
    ("POST", "points/delete"): models.FilterSelector,
    ("POST", "points/scroll"): models.ScrollRequest,
    ("POST", "points/query/batch"): models.QueryRequestBatch,
    ("POST", "points/count"): models.CountRequest,
}


class FakeQdrant(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: str, key: str = "", version: str = "1.20.0") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.points = edge.open_edge(folder, 10.0)
        self.key, self.version = key, version
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.trouble: list[tuple[int, dict[str, str], bytes]] = []
        """Answers that are given before any proper one."""
        self.indexed: dict[str, list[str]] = {}
        self.delay = 0.0
        self.busy = self.busiest = self.connections = 0
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"qdrant://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed break off; that is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FakeQdrant

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def _serve(self) -> None:
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        server.seen.append((self.command, self.path, dict(self.headers)))
        with server.guard:
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
            trouble = server.trouble.pop(0) if server.trouble else None
        if server.delay:
            time.sleep(server.delay)
        if trouble is None and server.key and self.headers.get("api-key") != server.key:
            trouble = 401, {}, b"Must provide an API key or an Authorization bearer token"
        answer = trouble or self._result(parts.path, parse_qs(parts.query), body)
        with server.guard:
            server.busy -= 1
        self._answer(*answer)

    do_GET = do_PUT = do_POST = do_DELETE = _serve

    def _result(self, path: str, options: dict[str, list[str]], body: bytes) -> tuple[int, dict[str, str], bytes]:
        try:
            if path == "/":
                found: Any = {"title": "qdrant", "version": self.server.version}
            else:
                found = {"result": self._done(path, options, body), "status": "ok", "time": 0.0}
            return 200, {}, json.dumps(found).encode()
        except NoCollection:
            return 404, {}, json.dumps({"status": {"error": "Not found: Collection doesn't exist!"}}).encode()
        except Exception as error:
            return 400, {}, json.dumps({"status": {"error": str(error)}}).encode()

    def _done(self, path: str, options: dict[str, list[str]], body: bytes) -> Any:
        _, _, collection, *rest = path.split("/")
        action = "/".join(rest)
        points = self.server.points
        if self.command == "DELETE":
            return self._delete_collection(points, collection)
        if self.command == "GET":
            info = points._open_shard(collection).info()
            size = points.dims(collection)
            vectors = {"dense": {"size": size}} if size else {}
            schema = {name: {"data_type": "keyword"} for name in self.server.indexed.get(collection, ())}
            params = {"params": {"vectors": vectors}}
            return {"status": "green", "points_count": info.points_count, "config": params, "payload_schema": schema}
        asked = json.loads(body)
        BODIES[self.command, action].model_validate(asked)
        if action in ("points", "points/payload", "points/delete") and "ids" not in asked:
            assert options["wait"] == ["true"]
            assert options["ordering"][0] in [one.value for one in models.WriteOrdering]
        return getattr(self, "_" + (action.replace("/", "_") or "create"))(points, collection, asked)

    def _create(self, points: Any, collection: str, asked: Any) -> bool:
        points.create(collection, asked, {})
        return True

    def _delete_collection(self, points: Any, collection: str) -> bool:
        with points._lock:
            shard = points._shards.pop(collection, None)
            if shard is not None:
                shard.close()
            folder = Path(points.folder.path) / collection
            there = folder.is_dir()
            shutil.rmtree(folder, ignore_errors=True)
            self.server.indexed.pop(collection, None)
        return there

    def _index(self, points: Any, collection: str, asked: Any) -> bool:
        # The engine takes long to flush each of them, and finds the same without.
        self.server.indexed.setdefault(collection, []).append(asked["field_name"])
        return True

    def _points(self, points: Any, collection: str, asked: Any) -> Any:
        if "points" in asked:
            points.upsert(collection, asked["points"], only_new="update_filter" in asked)
            return {"status": "completed"}
        found = points.get(collection, asked["ids"], asked["with_payload"])
        return [{"id": point, "payload": payload} for point, payload in found.items()]

    def _points_payload(self, points: Any, collection: str, asked: Any) -> Any:
        points.change(collection, asked["payload"], asked["filter"])
        return {"status": "completed"}

    def _points_delete(self, points: Any, collection: str, asked: Any) -> Any:
        points.delete(collection, asked["filter"])
        return {"status": "completed"}

    def _points_scroll(self, points: Any, collection: str, asked: Any) -> Any:
        shard = points._open_shard(collection)
        found, following = shard.scroll(
            edge.translate_scroll(asked["filter"], asked["with_payload"], asked["limit"], asked["offset"])
        )
        page = [{"id": str(one.id), "payload": one.payload} for one in found]
        return {"points": page, "next_page_offset": None if following is None else str(following)}

    def _points_query_batch(self, points: Any, collection: str, asked: Any) -> Any:
        answers = points.query(collection, asked["searches"])
        return [{"points": [{"id": point, "score": score, "version": 0} for point, score in one]} for one in answers]

    def _points_count(self, points: Any, collection: str, asked: Any) -> Any:
        return {"count": points.count(collection, asked["filter"])}

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving(folder: Path, key: str = "", version: str = "1.20.0") -> Iterator[FakeQdrant]:
    server = FakeQdrant(str(folder), key, version)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        server.points.close()


if __name__ == "__main__":
    with serving(Path(sys.argv[1])) as running:
        print(running.url, flush=True)
        sys.stdin.read()
