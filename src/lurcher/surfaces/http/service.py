"""An engine behind a server: requests run in a few worker threads, each answered from the current state of the tree.

    request ──► check of the tree (one for all that wait) ──► answer cached for this state? ──► bytes
                                                              └─► engine, in a thread, once for equal requests ──► bytes
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lurcher.errors import IndexError_, LurcherError, Template, UsageError
from lurcher.runtime.process import Cancelled, LruCache, run_cancellable
from lurcher.server.session import FILL_RETRY_SECONDS, SMALL_TREE_BYTES, Build, BuildRequest, Unwritable, make_request
from lurcher.server.unindexed import WAIT_SECONDS, Glimpse, UnindexedSearch, size_of
from lurcher.surfaces.http.endpoints import PAGE_WORDING, WORDING, Endpoint
from lurcher.surfaces.http.replies import Busy, Hub, encode
from lurcher.surfaces.wording import Wording

if TYPE_CHECKING:
    from lurcher.engine import Engine
    from lurcher.indexing.freshness import TreeState
    from lurcher.server.repositories import RepositoryEngine

WORKERS = 2
MOST_BYTES = 32 << 20
MOST_ENTRIES = 4000
MOST_WAITING = 64
SECONDS = 30.0
"""Limit for one request, since others wait for its thread."""
_SHORTEST_PAUSE, _LONGEST_PAUSE, _IDLE = 0.01, 0.03, 1
"""Under load there is a pause between checks of the tree, as long as a check takes. One check serves all requests that came
before it began."""
_THREADS = ("lurcher-ask", "lurcher-slow", "lurcher-check", "lurcher-index")
_LISTING = 5.0
"""Limit for finding out how large a tree is."""
_TURN = 0.05
_POLL = 2.0
"""Seconds between checks of the tree while a page is open."""


class Service:
    def __init__(
        self, engine: Engine, *, workers: int = WORKERS, most_waiting: int = MOST_WAITING, seconds: float = SECONDS,
        workspace: RepositoryEngine | None = None,
    ) -> None:  # fmt: skip
        self.engine = engine
        self._workspace = workspace
        self.hub = Hub()
        self.cache = AnswerCache()
        self._pool = ThreadPoolExecutor(workers, "lurcher-ask")
        self._slow = ThreadPoolExecutor(workers, "lurcher-slow")
        """For slow requests, so that no search waits behind a blame."""
        self._checker = ThreadPoolExecutor(1, "lurcher-check")
        self._most_waiting = most_waiting
        self._seconds = seconds
        self._stops: set[threading.Event] = set()
        """One event per running request, which cancels it."""
        self._running: dict[Hashable, _RunningRequest] = {}
        self._check: asyncio.Task[TreeState] | None = None
        self._check_lock = asyncio.Lock()
        self._checked_at = 0.0
        self._building = threading.Event()
        self._problem: LurcherError | None = None
        self._last: TreeState | None = None
        self._pause = _SHORTEST_PAUSE
        self._early = UnindexedSearch()
        self._build: Build | None = None
        self._fill: Build | None = None
        """The process that reads the rest of a partial history."""
        self._fill_not_before = 0.0
        self._fill_lock = threading.Lock()
        engine.history_corpus.deferred = engine.settings.history.background
        self._soon = self._ending = False
        self.over = asyncio.Event()
        """Set once the server ends."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._poller: asyncio.Task[None] | None = None

    # -- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.hub.bind(self._loop)
        if not self.engine.indexed:
            self._building.set()
        threading.Thread(target=self._index, name="lurcher-index", daemon=True).start()
        self._poller = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        self.end()
        if self._poller is not None:
            self._poller.cancel()
        for pool in (self._pool, self._slow, self._checker):
            pool.shutdown(wait=False, cancel_futures=True)

    def end(self) -> None:
        """Ends what would delay the end of the server. Signal handlers may call it."""
        self._ending = True
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self.over.set)
        self.hub.close()
        for stop in list(self._stops):
            stop.set()
        for build in (self._build, self._fill):
            if build is not None:
                build.kill()

    def done(self, seconds: float) -> bool:
        """Waits at most so many seconds for running work; whether all of it is done."""
        until = time.monotonic() + seconds
        mine = [thread for thread in threading.enumerate() if thread.name.startswith(_THREADS)]
        for thread in mine:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in mine)

    def _index(self) -> None:
        """Builds the first index, or updates one that is far behind; until there is one, searches scan the likeliest files."""
        try:
            found = None
            if self.engine.indexed:
                found = self.engine.look(progress=self.hub.progress)
            if found is None or found.index.stale_paths:
                self._make()
                if self._ending:
                    return
                found = self.engine.look(progress=self.hub.progress)
            self._building.clear()
            self._publish(found)
        except (LurcherError, OSError) as error:
            # Requests will report the same error.
            self._problem = error if isinstance(error, LurcherError) else IndexError_(f"the index cannot be made: {error}")
            self.hub.send("problem", PAGE_WORDING.render_json(self._problem.to_dict()))
        finally:
            self._building.clear()
            self.hub.done()

    def _make(self) -> None:
        """Builds the index in another process, which can be ended at once and does not slow down requests. A small tree is
        indexed here, since that is faster, and so is one whose index cannot be written to disk."""
        engine, listed = self.engine, self._early.list_files(self.engine, time.monotonic() + _LISTING)
        self._soon = listed is not None and all(
            size_of(project, entries, SMALL_TREE_BYTES) <= SMALL_TREE_BYTES
            for project, entries in zip(engine.projects, listed, strict=True)
        )
        if not self._soon:
            self._build = build = Build(self._order(), self.hub.progress)
            if self._ending:
                build.kill()
            while not build.wait(60):
                pass
            if self._ending:
                return
            if (build.error or {}).get("code") != Unwritable.code:
                build.check()
                if engine.indexed:
                    return
        engine.refresh(progress=self.hub.progress)

    def _order(self, *, history: bool = False) -> BuildRequest:
        places = [project.index_dir for project in self.engine.projects]
        where = places[0] if len(places) == 1 or places[0] is None else places[0].parent
        folder = None if where is None else str(where.absolute())
        return make_request(self.engine.roots, self.engine.overrides, index_dir=folder, history=history)

    def _fill_history(self) -> None:
        """Read the rest of a partial history in another process, one at a time."""
        with self._fill_lock:
            busy = self._fill is not None and not self._fill.ended
            if self._ending or busy or not self.engine.history_corpus.deferred or time.monotonic() < self._fill_not_before:
                return
            if self.engine.history_corpus.partial():
                self._fill_not_before = time.monotonic() + FILL_RETRY_SECONDS
                self._fill = Build(self._order(history=True))

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            if self.hub.listening and not self._building.is_set():
                try:
                    await self.check_tree()
                except LurcherError as problem:
                    self.hub.send("problem", PAGE_WORDING.render_json(problem.to_dict()))

    # -- requests ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state of the index, for a page that has just opened."""
        return {
            "building": self._building.is_set(), "progress": self.hub.progress_now,
            "index": self._last.to_dict() if self._last else None,
            "problem": PAGE_WORDING.render_json(self._problem.to_dict()) if self._problem else None,
        }  # fmt: skip

    async def check_tree(self) -> TreeState:
        """The state of tree and history that answers depend on, read after this call."""
        if self._check is None:
            self._check = asyncio.create_task(self._next_check())
        return await asyncio.shield(self._check)

    async def _next_check(self) -> TreeState:
        async with self._check_lock:
            await asyncio.sleep(max(0.0, self._checked_at + self._pause - time.monotonic()))
            self._check = None  # it begins: later requests need another check
            try:
                began = time.monotonic()
                found: TreeState = await self._in_thread(self._checker, lambda: self.engine.look(progress=self.hub.progress))
            finally:
                self._checked_at = time.monotonic()
                self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, _IDLE * (self._checked_at - began)))
        self._publish(found)
        return found

    def _publish(self, found: TreeState) -> None:
        """Sends an event when the index has changed, and when work on it is done, whatever its result."""
        before, self._last = self._last, found
        worked = self.hub.done()
        changed = before is None or before.tree != found.tree
        if changed:
            self.cache.clear()  # generations never repeat, so the entries are useless now
        if worked or changed:
            self.hub.send("index", found.to_dict())

    async def ask(self, endpoint: Endpoint, values: Mapping[str, Any], wording: Wording = WORDING) -> bytes:
        """The answer as bytes. Raises `Busy` at once if too many requests wait already."""
        request = CheckedRequest(endpoint, values, wording)
        if self._building.is_set() and endpoint.cached and endpoint.asks_tree(values):
            return await self._ask_early(request)
        if self._building.is_set():  # a check of the tree would build the index in this thread
            return await self._answer_once((endpoint.name, object()), request, None)
        if not endpoint.cached or not endpoint.lasts(values) or "since" in values or "until" in values:
            return await self._answer_once((endpoint.name, object()), request, None)
        seen = await self.check_tree()
        stamp = (seen.tree, seen.past) if endpoint.depends_on_history(values) else seen.tree
        found = self.cache.get(request.key, stamp)
        if found is None:
            found = await self._answer_once((request.key, stamp), request, seen)
        return found

    async def _ask_early(self, request: CheckedRequest) -> bytes:
        """The answer while there is no index: a quick one where the endpoint has one, else an error with the progress."""
        endpoint, values = request.endpoint, request.values
        until = time.monotonic() + (WAIT_SECONDS if self._soon else 0.0)
        while self._building.is_set() and time.monotonic() < until:
            await asyncio.sleep(_TURN)
        if not self._building.is_set():
            return await self.ask(endpoint, values, request.wording)
        if endpoint.early is None or "cursor" in values:
            raise Busy(self._describe_progress(), "answers come as soon as it is there", code="indexing")
        return await self._answer_once(("early", request.key), request, None)

    def _describe_progress(self) -> str:
        now = self.hub.progress_now
        return "the index is being made" + (f" ({now['what']}: {now['done']:,} of {now['total']:,})" if now else "")

    def _answer_early(self, endpoint: Endpoint, values: Mapping[str, Any]) -> dict[str, Any]:
        assert endpoint.early is not None
        glimpse = Glimpse(self._early, self.engine, self._describe_progress(), time.monotonic() + WAIT_SECONDS)
        found: dict[str, Any] = endpoint.early(self.engine, values, glimpse)
        return found

    async def _answer_once(self, key: tuple[Hashable, Hashable], request: CheckedRequest, seen: TreeState | None) -> bytes:
        """Equal requests at the same time are worked on once; the work is cancelled when all of their clients have left."""
        shared = self._running.get(key)
        if shared is None:
            if len(self._running) >= self._most_waiting:
                raise Busy("too many requests at once")
            pool = self._slow if request.endpoint.slow else self._pool
            shared = self._running[key] = _RunningRequest(asyncio.create_task(self._work(pool, key, request, seen)))
            shared.task.add_done_callback(lambda task: self._finish_shared(key, task))
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting and not shared.task.done():
                shared.task.cancel()

    async def _work(
        self, pool: ThreadPoolExecutor, key: tuple[Hashable, Hashable], request: CheckedRequest, seen: TreeState | None
    ) -> bytes:
        endpoint, values = request.endpoint, request.values
        stop = threading.Event()

        def encode() -> tuple[bytes, bool]:
            return _encode(self._answer(endpoint, values, seen), request.wording)

        work = partial(run_cancellable, encode, stop, self._seconds)
        self._stops.add(stop)
        try:
            found, whole = await self._in_thread(pool, work)
        except Cancelled:
            raise Busy("the server is ending") from None
        finally:
            stop.set()  # if all clients have left, the thread ends at its next step
            self._stops.discard(stop)
        if seen is not None and whole and not values.get("timings"):
            self.cache.put(*key, found)  # before the task ends, so that an equal request finds it either running or cached
        answer: bytes = found
        return answer

    def _answer(self, endpoint: Endpoint, values: Mapping[str, Any], seen: TreeState | None) -> dict[str, Any]:
        """Runs an endpoint; the tree is not checked again if `seen` is still its state."""
        if endpoint.of_workspace:
            if self._workspace is None:
                raise UsageError("this server does not show the workspace", Template("start it anew: {serve: workspace}"))
            found_there: dict[str, Any] = endpoint.run(self._workspace, values, True)
            return found_there
        if seen is None and endpoint.early is not None and self._building.is_set() and endpoint.asks_tree(values):
            return self._answer_early(endpoint, values)
        if seen is not None and endpoint.asks_index(values):
            found = seen.complete(endpoint.run(self.engine, values, False))
            if found is not None:
                return found
        value: dict[str, Any] = endpoint.run(self.engine, values, True)
        if endpoint.depends_on_history(values) and not _covers_history(value):
            self._fill_history()
        return value

    def _finish_shared(self, key: Hashable, task: asyncio.Task[bytes]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it when all clients have left

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(pool.submit(work))


class _RunningRequest:
    def __init__(self, task: asyncio.Task[bytes]) -> None:
        self.task = task
        self.waiting = 0


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    endpoint: Endpoint
    values: Mapping[str, Any]
    wording: Wording

    @property
    def key(self) -> Hashable:
        """Equal for requests with the same answer in the same words."""
        pairs = ((name, _hashable(self.values[name])) for name in sorted(self.values))
        return (self.endpoint.name, id(self.wording), *pairs)


def _hashable(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def _encode(value: dict[str, Any], wording: Wording) -> tuple[bytes, bool]:
    """The answer as bytes, and whether it may be cached: not while the history is still being indexed, nor from a stale
    index."""
    index = value.get("index")
    whole = not isinstance(index, dict) or (index.get("fresh", True) and _covers_history(value))
    return encode(wording.render_json(value)), whole


def _covers_history(value: Mapping[str, Any]) -> bool:
    index = value.get("index")
    return not isinstance(index, dict) or index.get("coverage", {}).get("history", 1.0) >= 1.0


class AnswerCache:
    """Answers as bytes, each valid for the stamp (tree and history) it was made with. The least recently used go first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_entries: int = MOST_ENTRIES) -> None:
        self._most_bytes, self._known = most_bytes, LruCache(most_bytes, most_entries)

    @property
    def used(self) -> int:
        """The bytes of all answers."""
        return self._known.used

    def get(self, request: Hashable, stamp: Hashable) -> bytes | None:
        known, answer = self._known.get(request) or (None, None)
        return answer if known == stamp else None

    def put(self, request: Hashable, stamp: Hashable, answer: bytes) -> None:
        if len(answer) <= self._most_bytes // 8:  # one answer does not push out all others
            self._known.put(request, (stamp, answer), len(answer))

    def clear(self) -> None:
        self._known.clear()
