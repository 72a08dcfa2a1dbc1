"""Sends requests to a configured server within one deadline for everything: name lookup, connection, every byte of the reply.

A server may be down, slow, wrong or hostile. So: no redirects, no proxies of the environment, a limit on the size of a reply,
and a deadline that a server cannot extend by sending a byte now and then, as it could with a timeout per read.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from lurcher.errors import ConfigError, ServerError

if TYPE_CHECKING:
    from http.client import HTTPConnection


MAX_BYTES = 4_000_000
_SECRET = re.compile(r"(?<=://)([^/?#@]*?)(:[^/?#]*)?@(?=[^@/?#]*(?:[/?#]|$))")
_PARAMETER = re.compile(r"([?&](?:password|passwd|api[-_]?key|key|token|secret|sslpassword)=)[^&#]*", re.IGNORECASE)
_MAX_MESSAGE = 200
"""Characters of a server's error message that are passed on."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, `seconds` after it was set."""

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds, seconds)

    @property
    def left(self) -> float:
        return max(0.0, self.at - time.monotonic())


def check_url(url: str, setting: str) -> SplitResult:
    """The parts of the server's address in a setting; an error names the setting."""
    hint = f"write {setting} as http://HOST:PORT or https://HOST"
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        raise ConfigError(f"{setting} is not an address: {url!r}", hint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{setting} is not an address: {url!r}", hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"{setting} has more than a host, a port and a path", hint)
    if any(ord(letter) <= 32 or ord(letter) > 126 for letter in url.strip()):
        raise ConfigError(f"{setting} has characters that no address can have: {url!r}", hint)
    return parts


def redact_url(url: str) -> str:
    """An address with its password or key masked, for messages."""
    masked = _SECRET.sub(lambda found: f"{found[1]}{':***' if found[2] else ''}@", url)
    return _PARAMETER.sub(r"\1***", masked)


def request_json(
    base: SplitResult,
    path: str,
    deadline: Deadline,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """The server's reply, parsed as JSON: to a POST of `body` as JSON, or to a GET without one.

    A reply of more than `max_bytes` is refused. `headers` are sent and never shown. An error names the request (`tried`).
    """
    try:
        return _request(base, path, deadline, body, headers or {}, max_bytes)
    except ServerError as problem:
        problem.tried = f"{'GET' if body is None else 'POST'} {origin(base)}{base.path.rstrip('/')}{path}"
        raise


def _request(base: SplitResult, path: str, deadline: Deadline, body: Any, headers: Mapping[str, str], max_bytes: int) -> Any:
    request = _Request(base, path, None if body is None else json.dumps(body).encode("ascii"), headers, max_bytes)
    worker = threading.Thread(target=request.run, args=(deadline.left,), name="lurcher-request", daemon=True)
    worker.start()
    worker.join(deadline.left)
    if worker.is_alive():
        request.abort()
        request.late = True
    if request.late:
        message = f"{origin(base)} did not answer within {deadline.seconds:g} s"
        raise ServerError(message, "raise the limit, or use a smaller model", passing=True)
    if request.problem is not None:
        raise request.problem
    status, data = request.status, request.data
    if 300 <= status < 400:
        raise ServerError(f"{origin(base)} redirects to another address, which is not followed", "configure that address")
    if status != 200:
        message = f"{origin(base)} answers {status}{_server_message(data)}"
        passing = status == 429 or status >= 500
        raise ServerError(message, "see the server's own log", status, passing=passing, after=request.retry_after)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        message = f"{origin(base)} answers with something else than JSON"
        raise ServerError(message, "check the address and the protocol") from None


def origin(base: SplitResult) -> str:
    """Scheme, host and port."""
    return f"{base.scheme}://{base.netloc}"


class _Request:
    """One request in a thread of its own, which the caller stops waiting for at the deadline."""

    def __init__(self, base: SplitResult, path: str, body: bytes | None, headers: Mapping[str, str], max_bytes: int) -> None:
        self._base, self._path, self._body = base, base.path.rstrip("/") + path, body
        self._headers, self._max_bytes = headers, max_bytes
        self._connection: HTTPConnection | None = None
        self.status = 0
        self.data = b""
        self.retry_after = 0.0
        """Seconds that the server asks to wait before a retry."""
        self.late = False
        """Whether the deadline passed; set by the socket's timeout or by the waiting thread, whichever is first."""
        self.problem: ServerError | None = None

    def run(self, seconds: float) -> None:
        from http.client import HTTPException

        try:
            self._exchange(seconds)
        except TimeoutError:
            self.late = True
        except ConnectionRefusedError:
            message = f"nothing answers at {origin(self._base)}"
            self.problem = ServerError(message, "start the server, or correct the address", passing=True)
        except (OSError, HTTPException, ValueError) as error:
            message = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
            message = f"{origin(self._base)} cannot be reached: {message}"
            self.problem = ServerError(message, "check the server and its address", passing=True)
        except ServerError as problem:
            self.problem = problem
        finally:
            if self._connection is not None:
                self._connection.close()

    def _exchange(self, seconds: float) -> None:
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._base.scheme == "https" else HTTPConnection
        assert self._base.hostname is not None
        self._connection = kind(self._base.hostname, self._base.port, timeout=max(seconds, 0.001))
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close", **self._headers}
        if self._body is not None:
            headers["Content-Type"] = "application/json"
        self._connection.request("GET" if self._body is None else "POST", self._path, self._body, headers)
        response = self._connection.getresponse()
        parts, size = [], 0
        while size <= self._max_bytes:
            part = response.read1(65_536)
            if not part:
                break
            parts.append(part)
            size += len(part)
        if size > self._max_bytes:
            raise ServerError(f"{origin(self._base)} answers with more than {self._max_bytes:,} bytes", "check the address")
        if response.length:
            message = f"{origin(self._base)} closed the connection in the middle of its reply"
            raise ServerError(message, "see the server's own log", passing=True)
        self.retry_after = _seconds(response.getheader("Retry-After"))
        self.status, self.data = response.status, b"".join(parts)

    def abort(self) -> None:
        """End the thread if it waits for the server."""
        import socket

        connection = self._connection
        sock = getattr(connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _seconds(text: str | None) -> float:
    """The seconds in a Retry-After header; 0 for none, or for a date."""
    return float(text) if text is not None and text.strip().isdecimal() and len(text) < 8 else 0.0


def _server_message(data: bytes) -> str:
    """The server's error message as one short line."""
    text = data[:2000].decode("utf-8", "replace")
    try:
        found = json.loads(text)
        found = found.get("error", found) if isinstance(found, dict) else found
        text = str(found.get("message", found) if isinstance(found, dict) else found)
    except (ValueError, RecursionError):
        if text.lstrip().startswith("<"):
            return ""  # an HTML page
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return f": {line[:_MAX_MESSAGE]}" if line else ""
