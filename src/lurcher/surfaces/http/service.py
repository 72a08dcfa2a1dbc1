"""An engine behind a server: questions in worker threads, so many at a time, each answered from the tree as it is.

    request ──► look (one for all that wait) ──► known with this stamp? ──► bytes
                                                  └─► engine, in a thread, once for the same question ──► bytes
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.surfaces.http.events import Hub
from lurcher.surfaces.http.known import Known
from lurcher.surfaces.http.parameters import Endpoint
from lurcher.surfaces.http.replies import Busy, encoded

if TYPE_CHECKING:
    from lurcher.engine import Engine

WORKERS = 2
MOST_WAITING = 64
_SPACING = 0.02
"""Under load one look serves all that came within this time; each of them still came before it began."""
_POLL = 2.0
"""While a page is open, the tree is looked at this often, so that its picture of the index is live."""


class Service:
    def __init__(self, engine: Engine, *, workers: int = WORKERS, most_waiting: int = MOST_WAITING) -> None:
        self.engine = engine
        self.hub = Hub()
        self.known = Known()
        self._pool = ThreadPoolExecutor(workers, "lurcher-ask")
        self._looker = ThreadPoolExecutor(1, "lurcher-look")
        self._most_waiting = most_waiting
        self._running: dict[Hashable, _Shared] = {}
        self._look: asyncio.Task[tuple[Hashable, Hashable]] | None = None
        self._looking = asyncio.Lock()
        self._looked = 0.0
        self._building = threading.Event()
        self._problem: LurcherError | None = None
        self._stamp: Hashable = None
        self._index_now: dict[str, Any] | None = None
        self._poller: asyncio.Task[None] | None = None

    # -- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self.hub.bind(asyncio.get_running_loop())
        if not self.engine.indexed:
            self._building.set()
        threading.Thread(target=self._index, name="lurcher-index", daemon=True).start()
        self._poller = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        self.hub.close()
        if self._poller is not None:
            self._poller.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._looker.shutdown(wait=False, cancel_futures=True)

    def _index(self) -> None:
        """The first index; questions are put off until there is one to answer from."""
        try:
            self.engine.refresh(progress=self.hub.progress)
            found = self.engine.stamp(progress=self.hub.progress)
            self._problem = None
            self._seen(found[0], found[2])
            self._building.clear()
        except LurcherError as problem:
            self._problem = problem
            self._building.clear()
        finally:
            self.hub.done()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            if self.hub.listening and not self._building.is_set():
                try:
                    await self.stamp()
                except LurcherError as problem:
                    self.hub.tell("problem", problem.to_dict())

    # -- questions ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """How things stand, for a page that has just opened."""
        return {
            "building": self._building.is_set(), "progress": self.hub.progress_now, "index": self._index_now,
            "problem": self._problem.to_dict() if self._problem else None,
        }  # fmt: skip

    async def stamp(self) -> tuple[Hashable, Hashable]:
        """What answers about the tree, and about history, depend on, seen after this was called."""
        if self._look is None:
            self._look = asyncio.create_task(self._next_look())
        return await asyncio.shield(self._look)

    async def _next_look(self) -> tuple[Hashable, Hashable]:
        async with self._looking:
            await asyncio.sleep(max(0.0, self._looked + _SPACING - time.monotonic()))
            self._look = None  # it begins: who comes from now on needs another one
            try:
                found = await self._in_thread(self._looker, lambda: self.engine.stamp(progress=self.hub.progress))
            finally:
                self._looked = time.monotonic()
                self.hub.done()
        self._seen(found[0], found[2])
        return found[0], found[1]

    def _seen(self, stamp: Hashable, index: dict[str, Any]) -> None:
        """Whoever listens is told when the index has become another one."""
        if stamp != self._stamp:
            self._stamp, self._index_now = stamp, index
            self.hub.done()
            self.hub.tell("index", index)

    async def ask(self, endpoint: Endpoint, values: Mapping[str, Any]) -> bytes:
        """The answer's bytes. Raises `Busy` at once where too many wait already."""
        if self._building.is_set():
            now = self.hub.progress_now
            done = f": {now['done']:,} of {now['total']:,}" if now else ""
            raise Busy(f"the index is being made{done}", "answers come as soon as it is there", code="indexing")
        if not endpoint.cached or "since" in values or "until" in values:
            return (await self._shared((endpoint.name, object()), endpoint, values))[0]
        tree, past = await self.stamp()
        stamp = (tree, past) if endpoint.depends_on_history(values) else tree
        question = (endpoint.name, *((name, _hashable(values[name])) for name in sorted(values)))
        found = self.known.get(question, stamp)
        if found is None:
            found, whole = await self._shared((question, stamp), endpoint, values)
            if whole and not values.get("timings"):
                self.known.put(question, stamp, found)
        return found

    async def _shared(self, key: Hashable, endpoint: Endpoint, values: Mapping[str, Any]) -> tuple[bytes, bool]:
        """The same question, asked by several at the same time, is worked on once; if all of them leave, not at all."""
        shared = self._running.get(key)
        if shared is None:
            if len(self._running) >= self._most_waiting:
                raise Busy("too many questions at once")
            shared = self._running[key] = _Shared(
                asyncio.create_task(self._in_thread(self._pool, lambda: _told(endpoint.run(self.engine, values))))
            )
            shared.task.add_done_callback(lambda task: self._finished(key, task))
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting and not shared.task.done():
                shared.task.cancel()

    def _finished(self, key: Hashable, task: asyncio.Task[tuple[bytes, bool]]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # looked at, so that nobody complains where all who waited are gone

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(pool.submit(work))


class _Shared:
    def __init__(self, task: asyncio.Task[tuple[bytes, bool]]) -> None:
        self.task = task
        self.waiting = 0


def _hashable(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def _told(value: dict[str, Any]) -> tuple[bytes, bool]:
    """The answer's bytes, and whether the next one who asks would get the same: not while a history is still being read, nor
    from an index that is behind."""
    index = value.get("index")
    whole = not isinstance(index, dict) or (index.get("fresh", True) and index.get("coverage", {}).get("history", 1.0) >= 1.0)
    return encoded(value), whole
