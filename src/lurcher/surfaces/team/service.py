"""Answers questions about the projects of a store, each with an engine of its own; nothing here can write to the store.

request ──► projects that the caller may see ──► the engine of these projects ──► answer, in a thread
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.engine import Engine
from lurcher.errors import LurcherError, PathError, StoreError, UsageError
from lurcher.runtime.process import Cancelled, run_cancellable
from lurcher.stores.files import ReadLimit
from lurcher.stores.search import UnknownProject
from lurcher.stores.shared import describe_head
from lurcher.surfaces.http.replies import Busy, encode

if TYPE_CHECKING:
    from lurcher.stores.base import Store
    from lurcher.surfaces.http.endpoints import Endpoint
    from lurcher.surfaces.team.tokens import Caller
    from lurcher.surfaces.wording import Wording

WORKERS = 4
"""As many as connections to the store."""
MOST_WAITING = 64
SECONDS = 30.0
"""Limit for one request, since others wait for its thread."""
MOST_PROJECTS = 8
"""Projects that one request may name."""
MOST_ENGINES = 16
_LISTED_SECONDS = 2.0
"""How long a list of the projects is used."""
_READS = frozenset({"projects", "head", "listing", "pages", "candidates", "records", "texts", "state"})


class NoProject(PathError):
    """The caller sees no such project, whether or not the store has it."""

    code = "project"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no project {name[:80]!r}", "/api/projects lists those that you can ask about")


class ReadOnlyStore:
    """A store without its writing half."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in _READS:
            return getattr(self._store, name)
        raise AttributeError(f"{name}: this server only reads")

    def close(self) -> None:
        """The server closes it."""


class ProjectEngine(Engine):
    """Answers from a store that is open already, which all engines of a server share."""

    def borrow_store(self, store: Any) -> None:
        assert self._store is not None
        self._store.shared.borrow(store)


class TeamService:
    """Thread-safe but for `ask` and `run`, which are called from the event loop."""

    def __init__(
        self, store: Store, folder: Path, overrides: Mapping[str, Any], named: Sequence[str] = (), *, seconds: float = SECONDS
    ) -> None:
        """`folder` is an empty one, since nothing is checked out here; `named`: offer only these projects."""
        self._read_only: Any = ReadOnlyStore(store)
        self._folder, self._overrides, self._named, self._seconds = folder, dict(overrides), frozenset(named), seconds
        self._pool = ThreadPoolExecutor(WORKERS, "lurcher-team")
        self._lock = threading.Lock()
        self._engines: OrderedDict[tuple[str, ...], Engine] = OrderedDict()
        self._listed: tuple[float, tuple[str, ...]] = (float("-inf"), ())
        self._waiting = 0
        self._stops: set[threading.Event] = set()
        self.ending = False
        self.over = asyncio.Event()

    # -- projects -------------------------------------------------------------------------------------------------------------

    @property
    def project_count(self) -> int:
        """As of the last list."""
        return len(self._listed[1])

    def projects(self) -> tuple[str, ...]:
        """All that are offered."""
        when, names = self._listed
        if time.monotonic() - when > _LISTED_SECONDS:
            names = tuple(name for name in self._read_only.projects() if not self._named or name in self._named)
            self._listed = time.monotonic(), names
        return names

    def visible(self, caller: Caller) -> tuple[str, ...]:
        return tuple(name for name in self.projects() if caller.may_see(name))

    def choose(self, caller: Caller, wanted: Sequence[str]) -> tuple[str, ...]:
        """The projects of a request. One that the caller may not see is the same error as one that there is not."""
        visible = self.visible(caller)
        if not wanted:
            if len(visible) == 1:
                return visible
            if not visible:
                raise UsageError("there is no project that you can see", "ask whoever runs this server")
            raise UsageError("a request has to name its project", "add project=NAME; /api/projects lists them")
        if len(wanted) > MOST_PROJECTS:
            raise UsageError(f"more than {MOST_PROJECTS} projects at once", "name fewer of them")
        there = frozenset(visible)
        for name in wanted:
            if name not in there:
                raise NoProject(name)
        return tuple(dict.fromkeys(wanted))

    def _engine(self, names: tuple[str, ...]) -> Engine:
        with self._lock:
            found = self._engines.get(names)
            if found is None:
                own = {**self._overrides, "store.project": ",".join(names), "store.fallback": "none"}
                found = ProjectEngine.open(self._folder, root=self._folder, overrides=own)
                assert isinstance(found, ProjectEngine)
                found.borrow_store(self._read_only)
                self._engines[names] = found
                if len(self._engines) > MOST_ENGINES:
                    self._engines.popitem(last=False)  # others may still use it; it has nothing open of its own
            self._engines.move_to_end(names)
            return found

    # -- questions ------------------------------------------------------------------------------------------------------------

    async def ask(
        self, endpoint: Endpoint, values: dict[str, Any], wording: Wording, caller: Caller, note: dict[str, Any]
    ) -> bytes:
        """The answer as bytes; `note` is told which projects were asked."""
        wanted = values.pop("project", [])

        def work() -> bytes:
            names = note["projects"] = self.choose(caller, wanted)
            try:
                if endpoint.name == "status":
                    found = self.status(names)
                else:
                    found = endpoint.run(self._engine(names), values, True)
            except UnknownProject:
                # It was removed a moment ago; that error would name projects that the caller may not see.
                self._listed = (float("-inf"), ())
                self.choose(caller, wanted)
                raise Busy("a project is being replaced") from None
            return encode(wording.render_json(found))

        answer: bytes = await self.run(work)
        return answer

    async def run(self, work: Any) -> Any:
        """Run something in a thread, with the limits of a request. Raises `Busy` at once if too many wait already."""
        if self._waiting >= MOST_WAITING:
            raise Busy("too many requests at once")
        stop = threading.Event()
        self._waiting += 1
        self._stops.add(stop)
        try:
            return await asyncio.wrap_future(self._pool.submit(run_cancellable, work, stop, self._seconds))
        except Cancelled:
            raise Busy("the server is ending") from None
        finally:
            stop.set()  # if the client has left, the thread ends at its next step
            self._stops.discard(stop)
            self._waiting -= 1

    def status(self, names: Sequence[str]) -> dict[str, Any]:
        """What the store has of each project, in the words of `lurcher status`."""
        roots = []
        for name in names:
            head = self._read_only.head(name)
            if head is None:
                raise UnknownProject(f"the store has no project {name}")
            about = describe_head(name, head)
            history = {"exists": bool(about["commits"]), "commits": about["commits"], "total": about["commits"]}
            roots.append({"root": name, **about, "fresh": False, "history": history})
        return roots[0] if len(roots) == 1 else {"roots": roots}

    # -- its end --------------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Running requests are answered still. Signal handlers may call it."""
        self.ending = True

    def close(self, seconds: float) -> bool:
        """Stop what still runs; whether all of it ended in time."""
        for stop in list(self._stops):
            stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + seconds
        mine = [thread for thread in threading.enumerate() if thread.name.startswith("lurcher-team")]
        for thread in mine:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in mine)


def shown_error(error: LurcherError) -> LurcherError:
    """The error as a client may see it: where the store is and how it failed are for the log."""
    if isinstance(error, ReadLimit):
        return UsageError(error.message, "name a folder, or ask in a checkout")
    if isinstance(error, StoreError):
        return Busy(
            "the store does not answer", "ask again in a moment; the log of the server says more", code="store", seconds=5
        )
    return error
