"""A long-lived engine for servers, which answer many queries and must not let any of them wait.

    with Session.open(["path/to/repository"]) as session:
        answer = session.search("how are redirects followed")      # at once, even where there is no index yet
        with session.full_index() as engine:                       # or IndexBuilding, which says how far it is
            engine.outline("src/client.py")

- The kernel reports changes of a watched tree (`indexing/inotify.py`): it is not checked for every query, and no answer is
  staler for it.
- Where there is no index, one is built in the background (`builder`); until then queries are answered from the likeliest files
  (`unindexed`).
- Settings are read again when a file with settings changes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lurcher import config
from lurcher.engine import Engine
from lurcher.errors import ConfigError, IndexBuilding
from lurcher.indexing.inotify import InotifyMonitor
from lurcher.runtime.process import pause
from lurcher.server.builder import Build, InProcessBuild, Unwritable, make_request
from lurcher.server.unindexed import WAIT_SECONDS, Listings, UnindexedSearch
from lurcher.types import Answer

__all__ = ["SMALL_TREE_BYTES", "Build", "Session"]

SMALL_TREE_BYTES = 500_000
"""The index of a tree of this size is waited for, because it is built so fast."""
_SERVER_DEFAULTS = {
    "index.refresh_limit": 300, "index.lock_seconds": 0.5, "history.refresh_seconds": 1.0, "search.patience": 4,
    "index.first_answer_seconds": 1.0,
}  # fmt: skip
"""Shorter waits than for a command: the rest is done in the background."""
_RETRY_SECONDS = 5.0
"""Before a build that failed, or found another writer, is tried again."""

Listener = Callable[[Build], None]


class Session:
    """An engine with its watches and background builds. Thread-safe; close it when done."""

    def __init__(self, paths: Sequence[Path], overrides: Mapping[str, Any] | None, index_dir: Path | None) -> None:
        self._paths, self._overrides, self._index_dir = tuple(paths), overrides, index_dir
        self._lock = threading.RLock()
        self._build: Build | None = None
        self._listeners: list[Listener] = []
        self._not_before = 0.0
        self._history_next = self._closed = False
        self._in_process = False
        """Whether the index cannot be written, and so is built in this process's memory."""
        self._unindexed = UnindexedSearch()
        self._watches: list[InotifyMonitor] = []
        self._engine = self._open_engine()
        names = (config.PROJECT_FILE, config.PYPROJECT)
        self._own_files = tuple(os.path.join(root, name) for root in self._engine.roots for name in names)
        self._settings_seen = self._read_settings_marks()

    @classmethod
    def open(
        cls,
        paths: str | Path | Sequence[str | Path] = ".",
        overrides: Mapping[str, Any] | None = None,
        *,
        index_dir: str | Path | None = None,
    ) -> Session:
        """Like `Engine.open`; nothing is indexed before the first query."""
        several = [paths] if isinstance(paths, (str, Path)) else paths
        return cls([Path(path) for path in several], overrides, None if index_dir is None else Path(index_dir))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End what runs in the background."""
        with self._lock:
            build, self._build = self._build, None
            self._closed = True
            for watch in self._watches:
                watch.close()
            self._watches.clear()
            self._engine.close()
        if build is not None:
            build.cancel()

    # -- the engine -------------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine with the current settings. Calling it directly may wait for an index: see `full_index`."""
        with self._lock:
            marks = self._read_settings_marks()
            if marks != self._settings_seen:
                try:
                    reopened = self._open_engine()
                except ConfigError:  # a file that is half written, or wrong: the old settings stay until it is right
                    return self._engine
                self._settings_seen = marks
                self._engine = reopened
            return self._engine

    def _open_engine(self) -> Engine:
        user = dict(self._overrides or {})
        engine = Engine.open(self._paths, index_dir=self._index_dir, overrides=user)
        calm = {key: value for key, value in _SERVER_DEFAULTS.items() if key not in engine.settings.origins}
        if calm:
            engine = Engine.open(self._paths, index_dir=self._index_dir, overrides={**calm, **user})
        for watch in self._watches:
            watch.close()
        self._watches = []
        for project in engine.projects:
            with contextlib.suppress(OSError):
                project.monitor = InotifyMonitor(project.root.path)
                self._watches.append(project.monitor)
        return engine

    def _read_settings_marks(self) -> tuple[tuple[int, int] | None, ...]:
        """Size and time of the files with settings; read for every query, so their names are computed only once."""
        user = config.user_file_path()
        return (*(() if user is None else (_file_mark(user),)), *map(_file_mark, self._own_files))

    # -- queries ----------------------------------------------------------------------------------------------------------

    @property
    def indexed(self) -> bool:
        """Whether every root has an index, fresh or not."""
        return self.engine.indexed

    def fresh(self) -> bool:
        """Whether there is an index and the watches say that the tree has not changed since; nothing is read for this."""
        engine = self.engine
        return engine.indexed and all(project.is_unchanged() for project in engine.projects)

    def search(self, text: str, *, patience: float = WAIT_SECONDS, **options: Any) -> Answer:
        """Like `Engine.search`, but it never waits for an index: without one the likeliest files answer, which is noted."""
        engine, began = self.engine, time.monotonic()
        if engine.indexed or engine.shares:
            answer = engine.search(text, **options)
            if answer.index.stale_paths:
                self.build()
            return answer
        listings = self._unindexed.list_files(engine, began + 0.5 * patience)
        self.build()
        if listings is not None and self.ready(0.0 if self._large(engine, listings) else 0.6 * patience):
            return engine.search(text, **options)
        return self._unindexed.search(engine, listings, text, options, self.describe_progress(), began + patience)

    def _large(self, engine: Engine, listings: Listings) -> bool:
        """Whether building the index takes too long to wait for it."""
        from lurcher.server.unindexed import size_of

        return any(
            size_of(project, entries, SMALL_TREE_BYTES) > SMALL_TREE_BYTES
            for project, entries in zip(engine.projects, listings, strict=True)
        )

    @contextlib.contextmanager
    def full_index(self, seconds: float = WAIT_SECONDS) -> Iterator[Engine]:
        """The engine for calls that need the whole index; raises `IndexBuilding` where there is none after `seconds`."""
        self.engine.check_here()
        if not self.ready(seconds):
            build = self._build
            left = build.seconds_left if build is not None else None
            hint = f"try again in {max(1, round(left))} s" if left is not None else "try again in a few seconds"
            raise IndexBuilding(f"{self.describe_progress()}; this query needs all of it", hint)
        yield self.engine

    @contextlib.contextmanager
    def with_history(self, seconds: float = WAIT_SECONDS) -> Iterator[Engine]:
        """The engine for queries about history, once some of it is indexed; raises `IndexBuilding` after `seconds`."""
        self.engine.check_here()
        deadline = time.monotonic() + seconds
        while not self.engine.past_indexed():
            self.build(history=True)
            if time.monotonic() >= deadline:
                build = self._build
                far = f" ({build.what}: {build.done:,} of {build.total:,})" if build is not None and build.total else ""
                reason = f"the history is being indexed{far}; there is nothing of it yet"
                raise IndexBuilding(reason, "try again in a few seconds")
            pause(0.05)
        yield self.engine

    # -- the background ---------------------------------------------------------------------------------------------------

    def ready(self, seconds: float) -> bool:
        """Whether there is an index within `seconds`; it is being built if not."""
        deadline = time.monotonic() + seconds
        while not self.indexed:
            build = self.build()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if build is None or build.ended:
                pause(min(left, 0.05))
            else:
                build.wait(min(left, 0.25))
        return True

    def build(self, *, rebuild: bool = False, history: bool = False) -> Build | None:
        """Update the index in the background; returns the build under way, which may be an earlier one.

        None where a build failed a moment ago: it is tried again soon.
        """
        with self._lock:
            running = self._build
            if running is not None and not running.ended:
                if rebuild and not running.request.rebuild:
                    running.cancel()
                else:
                    if history and not running.request.history:
                        self._history_next = True
                    return running
            unwritable = running is not None and (running.error or {}).get("code") == Unwritable.code
            if not (rebuild or history or unwritable) and time.monotonic() < self._not_before:
                return None
            if self._closed:
                return None
            self._not_before = time.monotonic() + _RETRY_SECONDS
            where = None if self._index_dir is None else str(self._index_dir)
            request = make_request(self._paths, self._overrides, index_dir=where, rebuild=rebuild, history=history)
            self._in_process = self._in_process or unwritable
            if self._in_process:
                self._build = InProcessBuild(request, self._engine, self._notify, self._on_build_end)
            else:
                self._build = Build(request, self._notify, self._on_build_end)
            return self._build

    def _notify(self, what: str, done: int, total: int) -> None:
        build = self._build
        for listener in tuple(self._listeners):
            if build is not None:
                listener(build)

    def _on_build_end(self) -> None:
        """Start the build that was requested while the last one ran."""
        self._notify("", 0, 0)
        with self._lock:
            wanted, self._history_next = self._history_next, False
        if wanted:
            self.build(history=True)

    @property
    def building(self) -> Build | None:
        """The build under way, if any."""
        build = self._build
        return None if build is None or build.ended else build

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the build's progress, from another thread; returns a function that stops this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def describe_progress(self) -> str:
        """How far the index is, in a few words."""
        build = self._build
        if build is not None and build.ended and build.error is not None and not build.cancelled:
            return f"there is no index yet: {build.error['message']}"
        if build is None or build.ended or not build.total:
            return "there is no index yet: it is being built"
        return f"the index is being built ({build.what}: {build.done:,} of {build.total:,})"


def _file_mark(path: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
