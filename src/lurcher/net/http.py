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
    import ssl
    from http.client import HTTPConnection


MAX_BYTES = 4_000_000
_SECRET = re.compile(r"(?<=://)([^/?#@]*?)(:[^/?#]*)?@(?=[^@/?#]*(?:[/?#]|$))")
_PARAMETER = re.compile(r"([?&](?:password|passwd|api[-_]?key|key|token|secret|sslpassword)=)[^&#]*", re.IGNORECASE)
_MAX_MESSAGE = 200
"""Characters of a server's error message that are passed on."""
_MAX_ERROR = 1_000_000
"""Bytes of a server's error that are read: some repeat the request in it."""
BUSY = (408, 425, 429)
"""Statuses below 500 after which the same request may succeed a little later."""


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


def origin(base: SplitResult) -> str:
    """Scheme, host and port."""
    return f"{base.scheme}://{base.netloc}"


class Client:
    """Sends requests to one server and reads its replies as JSON. Thread-safe."""

    def __init__(
        self,
        base: SplitResult,
        headers: Mapping[str, str] | None = None,
        *,
        name: str = "",
        max_bytes: int = MAX_BYTES,
        max_idle: int = 0,
        late_hint: str = "raise the limit, or use a smaller model",
    ) -> None:
        """`headers` are sent and never shown. `name` is the address in messages. A reply of more than `max_bytes` is refused.

        Up to `max_idle` connections stay open. A request over one that has died meanwhile is sent again over another: with
        open connections, every request must be one that may arrive twice.
        """
        self.base, self.name = base, name or origin(base)
        self._max_bytes, self._max_idle, self._late_hint = max_bytes, max_idle, late_hint
        kept = {} if max_idle else {"Connection": "close"}
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity", **kept, **(headers or {})}
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None

    def request(self, path: str, deadline: Deadline, body: Any = None, method: str = "") -> Any:
        """The reply to one request: a POST of `body` as JSON, or a GET without one, unless another method is named.

        An error names the request (`tried`).
        """
        method = method or ("GET" if body is None else "POST")
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")
        try:
            return self._read(self._run(_Exchange(self, method, path, data), deadline))
        except ServerError as problem:
            problem.tried = f"{method} {origin(self.base)}{self.base.path.rstrip('/')}{path.partition('?')[0]}"
            raise

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _run(self, exchange: _Exchange, deadline: Deadline) -> _Exchange:
        worker = threading.Thread(target=exchange.run, args=(deadline,), name="lurcher-request", daemon=True)
        worker.start()
        worker.join(deadline.left)
        if worker.is_alive():
            exchange.abort()
        if exchange.late:
            message = f"{self.name} did not answer within {deadline.seconds:g} s"
            raise ServerError(message, self._late_hint, passing=True)
        if exchange.problem is not None:
            raise exchange.problem
        return exchange

    def _read(self, reply: _Exchange) -> Any:
        status = reply.status
        if 300 <= status < 400:
            message = f"{self.name} redirects to another address, which is not followed"
            raise ServerError(message, "configure that address")
        if status != 200:
            message = f"{self.name} answers {status}{_server_message(reply.data)}"
            passing = status in BUSY or status >= 500
            raise ServerError(message, "see the server's own log", status, passing=passing, after=reply.retry_after)
        try:
            return json.loads(reply.data)
        except (ValueError, RecursionError):
            message = f"{self.name} answers with something else than JSON"
            raise ServerError(message, "check the address and the protocol") from None

    def _connect(self, deadline: Deadline) -> tuple[HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        from http.client import HTTPConnection, HTTPSConnection

        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        host, limit = self.base.hostname or "", max(deadline.left, 0.001)
        if self.base.scheme != "https":
            return HTTPConnection(host, self.base.port, timeout=limit), False
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
        return HTTPSConnection(host, self.base.port, timeout=limit, context=self._tls), False

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < self._max_idle:
                self._idle.append(connection)
                return
        connection.close()


class _Exchange:
    """One request in a thread of its own, which the caller stops waiting for at the deadline.

    A timeout of the socket alone would not do: it does not cover name lookup, and starts again with every byte.
    """

    def __init__(self, client: Client, method: str, path: str, body: bytes | None) -> None:
        self._client, self._method, self._body = client, method, body
        self._path = client.base.path.rstrip("/") + path
        self._connection: HTTPConnection | None = None
        self.status = 0
        self.data = b""
        self.retry_after = 0.0
        """Seconds that the server asks to wait before a retry."""
        self.late = False
        """Whether the deadline passed; set by the socket's timeout or by the waiting thread, whichever is first."""
        self.problem: ServerError | None = None

    def run(self, deadline: Deadline) -> None:
        from http.client import HTTPException

        reused = True
        while reused and not self.late:
            connection, reused = self._client._connect(deadline)
            self._connection = connection
            try:
                if self._send(connection, deadline) and not self.late:
                    self._client._give_back(connection)
                else:
                    connection.close()
                return
            except TimeoutError:
                self.late = True
            except ServerError as problem:
                self.problem, reused = problem, False
            except (OSError, HTTPException, ValueError) as error:
                if not deadline.left:
                    self.late = True
                elif not reused:
                    self.problem = self._unreachable(error)
            connection.close()

    def _unreachable(self, error: Exception) -> ServerError:
        if isinstance(error, ConnectionRefusedError):
            message = f"nothing answers at {self._client.name}"
            return ServerError(message, "start the server, or correct the address", passing=True)
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        message = f"{self._client.name} cannot be reached: {one_line(reason)}"
        wrong_certificate = type(error).__name__ == "SSLCertVerificationError"
        return ServerError(message, "check the server and its address", passing=not wrong_certificate)

    def _send(self, connection: HTTPConnection, deadline: Deadline) -> bool:
        """Send the request and read the reply; returns whether the connection can be used again."""
        if connection.sock is not None:
            connection.sock.settimeout(max(deadline.left, 0.001))
        headers = self._client._headers
        if self._body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        connection.request(self._method, self._path, self._body, headers)
        response = connection.getresponse()
        parts, size, most = [], 0, self._client._max_bytes
        while part := response.read1(1 << 18):
            parts.append(part)
            size += len(part)
            if size > most:
                raise ServerError(f"{self._client.name} answers with more than {most:,} bytes", "check the address")
        if response.length:
            message = f"{self._client.name} closed the connection in the middle of its reply"
            raise ServerError(message, "see the server's own log", passing=True)
        self.retry_after = _seconds(response.getheader("Retry-After"))
        self.status, self.data = response.status, b"".join(parts)
        response.close()  # otherwise the connection waits for more, though there is nothing left
        return not response.will_close

    def abort(self) -> None:
        """End the thread if it waits for the server."""
        import socket

        self.late = True
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _seconds(text: str | None) -> float:
    """The seconds in a Retry-After header; 0 for none, or for a date."""
    return float(text) if text is not None and text.strip().isdecimal() and len(text) < 8 else 0.0


def _server_message(data: bytes) -> str:
    """The server's error message as one short line; the JSON of common servers has it in one of these fields."""
    text = data[:_MAX_ERROR].decode("utf-8", "replace")
    try:
        found = json.loads(text)
        if isinstance(found, dict) and isinstance(found.get("status"), dict):
            found = found["status"]
        if isinstance(found, dict) and "detail" in found:
            found = _fastapi_message(found["detail"])
        for field in ("error", "message"):
            found = found.get(field, found) if isinstance(found, dict) else found
        text = str(found) if found else ""
    except (ValueError, RecursionError):
        if text.lstrip().startswith("<"):
            return ""  # an HTML page
    line = one_line(text)
    return f": {line}" if line else ""


def _fastapi_message(detail: Any) -> Any:
    """What FastAPI says of a request, without the request that it repeats: `detail` is a text, or a list of what is wrong."""
    first = detail[0] if isinstance(detail, list) and detail else None
    if not isinstance(first, dict) or "msg" not in first:
        return detail
    return f"{first['msg']} ({'.'.join(map(str, first.get('loc') or ()))})"


def one_line(text: str) -> str:
    """Text of a server as one short line that is safe to print."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:_MAX_MESSAGE]
