"""Carries requests to a Qdrant server over HTTP: connections are kept, time and size are limited for the whole of an answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from lurcher.errors import StoreError
from lurcher.stores.qdrant.points import DOCTOR, NoCollection

if TYPE_CHECKING:
    import ssl

    from lurcher.net.http import Deadline

MOST_BYTES = 256_000_000
_MOST_IDLE = 8
_MOST_TOLD = 200


class Wire:
    def __init__(self, base: SplitResult, url: str, headers: Mapping[str, str], tls: ssl.SSLContext | None) -> None:
        self._base, self._url, self._tls = base, url, tls
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(self, method: str, path: str, body: Any, deadline: Deadline) -> Any:
        """What the server answers, as JSON. Every request can be made twice, so a kept connection that died is no failure."""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")
        asked = f"{method} {path.partition('?')[0]}"
        while True:
            connection, kept = self._connection(deadline)
            try:
                status, answer, after = self._exchange(connection, method, path, data, deadline)
                break
            except StoreError:
                connection.close()
                raise
            except (OSError, HTTPException, ValueError) as error:
                connection.close()
                if deadline.left <= 0:
                    said = f"the store at {self._url} did not answer {asked} within {deadline.seconds:g} s"
                    raise StoreError(
                        said, f"raise store.seconds, or give the server less to do; {DOCTOR}", passing=True
                    ) from None
                if not kept:
                    said = f"the store at {self._url} cannot be reached: {_reason(error)} (tried {asked})"
                    raise StoreError(said, f"start it, or correct the address; {DOCTOR}", passing=True) from error
        return self._read(status, answer, after, asked)

    def _connection(self, deadline: Deadline) -> tuple[HTTPConnection, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        host, limit = self._base.hostname or "", max(deadline.left, 0.001)
        if self._base.scheme == "https":
            return HTTPSConnection(host, self._base.port, timeout=limit, context=self._tls), False
        return HTTPConnection(host, self._base.port, timeout=limit), False

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, data: bytes | None, deadline: Deadline
    ) -> tuple[int, bytes, float]:
        # A limit per read could be stretched by a byte now and then, so the connection is cut off from outside.
        watch = threading.Timer(deadline.left, _cut, (connection,))
        watch.daemon = True
        watch.start()
        try:
            if connection.sock is not None:
                connection.sock.settimeout(max(deadline.left, 0.001))
            connection.request(method, self._base.path.rstrip("/") + path, data, self._headers)
            response = connection.getresponse()
            parts, size = [], 0
            while part := response.read1(1 << 18):
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise StoreError(f"the store at {self._url} answers with more than {MOST_BYTES:,} bytes", DOCTOR)
            if response.length or deadline.left <= 0:
                raise OSError("it broke off in the middle of its answer")
            after = response.getheader("Retry-After") or ""
            response.close()  # else the connection waits for the rest of it, though there is none
        finally:
            watch.cancel()
        with self._lock:
            if not response.will_close and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
            else:
                connection.close()
        return response.status, b"".join(parts), float(after) if after.isdecimal() and len(after) < 6 else 0.0

    def _read(self, status: int, data: bytes, after: float, asked: str) -> Any:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        if status == 200 and isinstance(answer, dict):
            return answer
        told = _told(answer)
        if status == 404 and "ollection" in told:
            raise NoCollection(f"the store at {self._url} has no such collection", DOCTOR, status)
        if status in (401, 403):
            said = f"the store at {self._url} does not let us in ({status}{told})"
            raise StoreError(said, f"put its key into the environment variable LURCHER_STORE_KEY; {DOCTOR}", status)
        if status == 200:
            raise StoreError(f"the store at {self._url} answers {asked} with something else than JSON", DOCTOR)
        passing = status in (408, 425, 429) or status >= 500
        said = f"the store at {self._url} answers {asked} with {status}{told}"
        raise StoreError(said, f"see the server's own log; {DOCTOR}", status, passing=passing, after=after)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _cut(connection: HTTPConnection) -> None:
    wire = connection.sock
    if wire is not None:
        with suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    found = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(found.split())[:_MOST_TOLD] or type(error).__name__


def _told(answer: Any) -> str:
    """What a server says of its failure, in one short line."""
    found = answer.get("status") if isinstance(answer, dict) else None
    found = found.get("error") if isinstance(found, dict) else found
    if not isinstance(found, str) or not found:
        return ""
    return ": " + " ".join("".join(letter if letter.isprintable() else " " for letter in found).split())[:_MOST_TOLD]
