"""Server-sent events about the index, for every page that is open."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from lurcher.surfaces.http.replies import Busy

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
        """What is being done to the index at this moment."""

    @property
    def listening(self) -> int:
        return len(self._listeners)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def progress(self, what: str, done: int, total: int) -> None:
        """A `Progress`: what an engine calls while it indexes."""
        self.progress_now = {"what": what, "done": done, "total": total}
        now = time.monotonic()
        if now - self._last >= _PAUSE or done >= total:
            self._last = now
            self.tell("progress", self.progress_now)

    def done(self) -> bool:
        """Marks the work as done; returns whether there was any."""
        before, self.progress_now = self.progress_now, None
        return before is not None

    def tell(self, kind: str, data: dict[str, Any]) -> None:
        if self._loop is not None and not self._closed:
            try:
                self._loop.call_soon_threadsafe(self._spread, (kind, data))
            except RuntimeError:  # the loop has ended: nobody listens any more
                self._closed = True

    def _spread(self, news: tuple[str, dict[str, Any]] | None) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(news)

    def close(self) -> None:
        """Ends every stream, since an open one would delay the end of the server."""
        self._closed = True
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._spread, None)

    def listen(self, first: dict[str, Any]) -> Listening:
        """The stream of one listener, which begins with how things stand. Its place is taken at once, since many may come
        before any of them is sent something, and is free again when it is closed. Raises `Busy` where there is none."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise Busy(f"{MOST_LISTENERS} pages listen already", "close one of them", seconds=10)
        queue: News = asyncio.Queue(_MOST_WAITING)
        self._listeners.add(queue)
        return Listening(self._told(queue, first), lambda: self._listeners.discard(queue))

    async def _told(self, queue: News, first: dict[str, Any]) -> AsyncGenerator[bytes, None]:
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
    """The stream of one listener; it has to be closed, even if it was never begun."""

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
