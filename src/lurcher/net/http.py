"""Asks a configured server over HTTP, within one time limit for everything: name look-up, connection, every byte of the answer.

A server may be down, slow, wrong or hostile. So: no redirects, no proxies of the environment, no more than so many bytes, and
a limit that a server cannot stretch by sending a byte now and then, as it could with a limit per read.
"""

from __future__ import annotations

import json
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

MOST_BYTES = 4_000_000
_MOST_TOLD = 200
"""Characters of a server's own words that are passed on."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which nothing is waited for."""

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds, seconds)

    @property
    def left(self) -> float:
        return max(0.0, self.at - time.monotonic())


def checked_url(url: str, setting: str) -> SplitResult:
    """The parts of a server's address."""
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
        raise ConfigError(f"{setting} has letters that no address has: {url!r}", hint)
    return parts


def ask(
    base: SplitResult,
    path: str,
    deadline: Deadline,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    most: int = MOST_BYTES,
) -> Any:
    """What the server answers, read as JSON: to `body` posted as JSON, or to a plain question.

    An answer of more than `most` bytes is refused; `headers` are sent along and never told of. A failure names what was tried.
    """
    try:
        return _answer(base, path, deadline, body, headers or {}, most)
    except ServerError as problem:
        problem.tried = f"{'GET' if body is None else 'POST'} {place(base)}{base.path.rstrip('/')}{path}"
        raise


def _answer(base: SplitResult, path: str, deadline: Deadline, body: Any, headers: Mapping[str, str], most: int) -> Any:
    asked = _Asked(base, path, None if body is None else json.dumps(body).encode("ascii"), headers, most)
    worker = threading.Thread(target=asked.run, args=(deadline.left,), name="lurcher-ask", daemon=True)
    worker.start()
    worker.join(deadline.left)
    if worker.is_alive():
        asked.give_up()
        asked.late = True
    if asked.late:
        said = f"{place(base)} did not answer within {deadline.seconds:g} s"
        raise ServerError(said, "raise the limit, or use a smaller model", passing=True)
    if asked.problem is not None:
        raise asked.problem
    status, data = asked.status, asked.data
    if 300 <= status < 400:
        raise ServerError(f"{place(base)} sends us elsewhere, which is not followed", "configure the address it should be")
    if status != 200:
        said = f"{place(base)} answers {status}{_told(data)}"
        passing = status == 429 or status >= 500
        raise ServerError(said, "see the server's own log", status, passing=passing, after=asked.retry_after)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        said = f"{place(base)} answers with something else than JSON"
        raise ServerError(said, "check the address and the protocol") from None


def place(base: SplitResult) -> str:
    return f"{base.scheme}://{base.netloc}"


class _Asked:
    """One request, in a thread of its own so that nobody has to wait for it."""

    def __init__(self, base: SplitResult, path: str, body: bytes | None, headers: Mapping[str, str], most: int) -> None:
        self._base, self._path, self._body = base, base.path.rstrip("/") + path, body
        self._headers, self._most = headers, most
        self._connection: HTTPConnection | None = None
        self.status = 0
        self.data = b""
        self.retry_after = 0.0
        """Seconds that the server asks us to wait before another try."""
        self.late = False
        """Whether time ran out, which the socket and the one that waits for it may each be the first to see."""
        self.problem: ServerError | None = None

    def run(self, seconds: float) -> None:
        from http.client import HTTPException

        try:
            self._exchange(seconds)
        except TimeoutError:
            self.late = True
        except ConnectionRefusedError:
            said = f"nothing answers at {place(self._base)}"
            self.problem = ServerError(said, "start the server, or correct the address", passing=True)
        except (OSError, HTTPException, ValueError) as error:
            said = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
            said = f"{place(self._base)} cannot be asked: {said}"
            self.problem = ServerError(said, "check the server and its address", passing=True)
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
        while size <= self._most:
            part = response.read1(65_536)
            if not part:
                break
            parts.append(part)
            size += len(part)
        if size > self._most:
            raise ServerError(f"{place(self._base)} answers with more than {self._most:,} bytes", "check the address")
        if response.length:
            said = f"{place(self._base)} broke off in the middle of its answer"
            raise ServerError(said, "see the server's own log", passing=True)
        self.retry_after = _seconds(response.getheader("Retry-After"))
        self.status, self.data = response.status, b"".join(parts)

    def give_up(self) -> None:
        """Wake the thread up, if it waits for the server, so that it ends."""
        import socket

        connection = self._connection
        wire = getattr(connection, "sock", None)
        if wire is not None:
            with suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)


def _seconds(text: str | None) -> float:
    """A number of seconds; 0 for none, or for a date, which is as good as none to whoever has a limit of seconds."""
    return float(text) if text is not None and text.strip().isdecimal() and len(text) < 8 else 0.0


def _told(data: bytes) -> str:
    """What a server says about its failure, in one short line."""
    text = data[:2000].decode("utf-8", "replace")
    try:
        found = json.loads(text)
        found = found.get("error", found) if isinstance(found, dict) else found
        text = str(found.get("message", found) if isinstance(found, dict) else found)
    except (ValueError, RecursionError):
        if text.lstrip().startswith("<"):
            return ""  # a page for people
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return f": {line[:_MOST_TOLD]}" if line else ""
