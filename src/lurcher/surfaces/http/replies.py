"""What the server sends: JSON as the command line prints it, errors with their HTTP status, and events about the index."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from starlette.responses import Response

from lurcher.errors import (
    ConfigError,
    DeadlineExceeded,
    IndexBuilding,
    IndexLocked,
    LurcherError,
    MissingExtra,
    ModelError,
    PathError,
    RootGone,
    ServerError,
    UsageError,
)
from lurcher.surfaces.wording import Wording

JSON = "application/json"


class Busy(LurcherError):
    """Too many requests at once, or no index yet: the client should try again in a moment."""

    code = "busy"

    def __init__(self, message: str, hint: str = "ask again in a moment", code: str = "busy", seconds: int = 1) -> None:
        super().__init__(message, hint)
        self.code = code
        self.seconds = seconds


def encode(value: Any) -> bytes:
    """The bytes that `--json` prints."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def status_of(error: LurcherError) -> int:
    if isinstance(error, (Busy, IndexBuilding, IndexLocked, RootGone)):
        return 503
    if isinstance(error, DeadlineExceeded):
        return 504
    if isinstance(error, PathError):
        return 404
    if isinstance(error, (UsageError, ConfigError)):
        return 400
    if isinstance(error, (MissingExtra, ModelError)):
        return 501
    return 502 if isinstance(error, ServerError) else 500


def error_reply(error: LurcherError, wording: Wording) -> Response:
    seconds = getattr(error, "seconds", 1)
    headers = {"retry-after": str(seconds)} if status_of(error) == 503 else {}
    shown = wording.render_json(error.to_dict())
    shown["message"] = " ".join(shown["message"].split())  # a path may contain line breaks
    return Response(encode({"error": shown}), status_of(error), headers, JSON)


def error_response(status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode({"error": {"code": code, "message": message, "hint": hint}}), status, headers, JSON)


MOST_LISTENERS = 32
_MOST_WAITING = 64
_HEARTBEAT = 15.0
_PAUSE = 0.1
"""Seconds between two events of progress."""


News = asyncio.Queue["tuple[str, dict[str, Any]] | None"]


class Hub:
    """Takes events from any thread and sends them from the event loop. A listener that is too slow misses old events."""

    def __init__(self) -> None:
        self._listeners: set[News] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last = 0.0
        self._closed = False
        self.progress_now: dict[str, Any] | None = None
        """Progress of the indexing under way, if any."""

    @property
    def listening(self) -> int:
        return len(self._listeners)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def progress(self, what: str, done: int, total: int) -> None:
        """A `Progress`: called by an engine while it indexes."""
        self.progress_now = {"what": what, "done": done, "total": total}
        now = time.monotonic()
        if now - self._last >= _PAUSE or done >= total:
            self._last = now
            self.send("progress", self.progress_now)

    def done(self) -> bool:
        """Marks the work as done; returns whether there was any."""
        before, self.progress_now = self.progress_now, None
        return before is not None

    def send(self, kind: str, data: dict[str, Any]) -> None:
        if self._loop is not None and not self._closed:
            try:
                self._loop.call_soon_threadsafe(self._put, (kind, data))
            except RuntimeError:  # the loop has ended: nobody listens any more
                self._closed = True

    def _put(self, news: tuple[str, dict[str, Any]] | None) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(news)

    def close(self) -> None:
        """Ends every stream, since an open one would delay the end of the server."""
        self._closed = True
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._put, None)

    def listen(self, first: dict[str, Any]) -> Listening:
        """The stream of one listener; its first event is the state of the index. It counts as open from now until it is
        closed, even if nothing was sent yet. Raises `Busy` if too many are open."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise Busy(f"{MOST_LISTENERS} pages listen already", "close one of them", seconds=10)
        queue: News = asyncio.Queue(_MOST_WAITING)
        self._listeners.add(queue)
        return Listening(self._send_events(queue, first), lambda: self._listeners.discard(queue))

    async def _send_events(self, queue: News, first: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        yield b"retry: 2000\n\n" + _event("state", first)
        if self.progress_now is not None:
            yield _event("progress", self.progress_now)
        while not self._closed:
            try:
                news = await asyncio.wait_for(queue.get(), _HEARTBEAT)
            except asyncio.TimeoutError:
                yield b": still here\n\n"
                continue
            if news is None:
                return
            yield _event(*news)


class Listening:
    """The stream of one listener; close it even if nothing was read."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], leave: Callable[[], None]) -> None:
        self._pieces, self._leave = pieces, leave

    def __aiter__(self) -> Listening:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        self._leave()
        await self._pieces.aclose()


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
