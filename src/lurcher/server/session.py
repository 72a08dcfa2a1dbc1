"""An engine that lives long: for servers, which answer many questions and may not let any of them wait.

    with Served.open(["path/to/repository"]) as served:
        answer = served.search("how are redirects followed")       # at once, even where there is no index yet
        with served.whole() as engine:                             # or IndexBuilding, which says how far it is
            engine.outline("src/client.py")

- A tree that is watched is not looked at for every question (`indexing/inotify.py`), and no answer is staler for it.
- Where there is no index, one is made in the background (`builder`), and until it is there questions are answered from a
  glimpse of the tree (`early`, `cold`).
- Settings are read anew when a file that holds them changes.
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
from lurcher.runtime.timings import pause
from lurcher.server.builder import Build, BuildHere, Unwritable, order_for
from lurcher.server.unindexed import PATIENCE, Early, Listed
from lurcher.types import Answer

__all__ = ["SMALL", "Build", "Served"]

SMALL = 500_000
"""Bytes of files whose index is waited for, since it is there so soon."""
_CALM = {
    "index.refresh_limit": 300, "index.lock_seconds": 0.5, "history.refresh_seconds": 1.0, "search.patience": 4,
    "index.first_answer_seconds": 1.0,
}  # fmt: skip
"""What a question may wait for is less here than for a command: the rest is done in the background."""
_PAUSE = 5.0
"""So many seconds pass before a build that failed, or found another writer, is tried again."""

Heard = Callable[[Build], None]


class Served:
    """One engine with all that keeps it warm. Thread-safe; close it when done."""

    def __init__(self, paths: Sequence[Path], overrides: Mapping[str, Any] | None, index_dir: Path | None) -> None:
        self._paths, self._overrides, self._index_dir = tuple(paths), overrides, index_dir
        self._lock = threading.RLock()
        self._build: Build | None = None
        self._heard: list[Heard] = []
        self._not_before = 0.0
        self._history_next = self._closed = False
        self._here = False
        """Whether the index can only be kept in memory, which is ours then."""
        self._early = Early()
        self._watches: list[InotifyMonitor] = []
        self._engine = self._opened()
        names = (config.PROJECT_FILE, config.PYPROJECT)
        self._own_files = tuple(os.path.join(root, name) for root in self._engine.roots for name in names)
        self._settled = self._settings_marks()

    @classmethod
    def open(
        cls,
        paths: str | Path | Sequence[str | Path] = ".",
        overrides: Mapping[str, Any] | None = None,
        *,
        index_dir: str | Path | None = None,
    ) -> Served:
        """As `Engine.open`; nothing is indexed before the first question."""
        several = [paths] if isinstance(paths, (str, Path)) else paths
        return cls([Path(path) for path in several], overrides, None if index_dir is None else Path(index_dir))

    def __enter__(self) -> Served:
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
        """The engine, with its settings as they are now. To ask it may take as long as an index does: see `whole`."""
        with self._lock:
            marks = self._settings_marks()
            if marks != self._settled:
                try:
                    opened = self._opened()
                except ConfigError:  # a file that is half written, or wrong: the settings stay until it is right
                    return self._engine
                self._settled = marks
                self._engine = opened
            return self._engine

    def _opened(self) -> Engine:
        user = dict(self._overrides or {})
        engine = Engine.open(self._paths, index_dir=self._index_dir, overrides=user)
        calm = {key: value for key, value in _CALM.items() if key not in engine.settings.origins}
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

    def _settings_marks(self) -> tuple[tuple[int, int] | None, ...]:
        """What the files with settings look like; once per question, so their names are put together only once."""
        user = config.user_file_path()
        return (*(() if user is None else (_mark(user),)), *map(_mark, self._own_files))

    # -- questions --------------------------------------------------------------------------------------------------------

    @property
    def indexed(self) -> bool:
        """Whether every root has an index to answer from, be it current or not."""
        return self.engine.indexed

    def fresh(self) -> bool:
        """Whether there is an index, and the tree is known to be as it has it; nothing is looked at for this."""
        engine = self.engine
        return engine.indexed and all(project.is_unchanged() for project in engine.projects)

    def search(self, text: str, *, patience: float = PATIENCE, **options: Any) -> Answer:
        """As `Engine.search`, but it never waits for an index: what is there so far answers, and the answer says so."""
        engine, began = self.engine, time.monotonic()
        if engine.indexed or engine.shares:
            answer = engine.search(text, **options)
            if answer.index.stale_paths:
                self.build()
            return answer
        listed = self._early.listed(engine, began + 0.5 * patience)
        self.build()
        if listed is not None and self.ready(0.0 if self._large(engine, listed) else 0.6 * patience):
            return engine.search(text, **options)
        return self._early.search(engine, listed, text, options, self.told(), began + patience)

    def _large(self, engine: Engine, listed: Listed) -> bool:
        """Whether there is too much to wait for its index."""
        from lurcher.server.unindexed import size_of

        return any(
            size_of(project, entries, SMALL) > SMALL for project, entries in zip(engine.projects, listed, strict=True)
        )

    @contextlib.contextmanager
    def whole(self, seconds: float = PATIENCE) -> Iterator[Engine]:
        """The engine for questions that need the whole index; IndexBuilding where there is none within so many seconds."""
        self.engine.check_here()
        if not self.ready(seconds):
            build = self._build
            left = build.seconds_left if build is not None else None
            hint = f"ask again in {max(1, round(left))} s" if left is not None else "ask again in a few seconds"
            raise IndexBuilding(f"{self.told()}; this question needs all of it", hint)
        yield self.engine

    @contextlib.contextmanager
    def past(self, seconds: float = PATIENCE) -> Iterator[Engine]:
        """The engine for questions about history, as soon as some of it is indexed; else IndexBuilding."""
        self.engine.check_here()
        deadline = time.monotonic() + seconds
        while not self.engine.past_indexed():
            self.build(history=True)
            if time.monotonic() >= deadline:
                build = self._build
                far = f" ({build.what}: {build.done:,} of {build.total:,})" if build is not None and build.total else ""
                reason = f"the history is being indexed{far}; there is nothing of it yet"
                raise IndexBuilding(reason, "ask again in a few seconds")
            pause(0.05)
        yield self.engine

    # -- the background ---------------------------------------------------------------------------------------------------

    def ready(self, seconds: float) -> bool:
        """Whether there is an index, at the latest after so many seconds; if not, it is being made."""
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
        """Bring the index up to date in the background; what is under way, if that will do or has to end first.

        None where one failed a moment ago: it is tried again soon.
        """
        with self._lock:
            running = self._build
            if running is not None and not running.ended:
                if rebuild and not running.order.rebuild:
                    running.cancel()
                else:
                    if history and not running.order.history:
                        self._history_next = True
                    return running
            unwritable = running is not None and (running.error or {}).get("code") == Unwritable.code
            if not (rebuild or history or unwritable) and time.monotonic() < self._not_before:
                return None
            if self._closed:
                return None
            self._not_before = time.monotonic() + _PAUSE
            where = None if self._index_dir is None else str(self._index_dir)
            order = order_for(self._paths, self._overrides, index_dir=where, rebuild=rebuild, history=history)
            self._here = self._here or unwritable
            if self._here:
                self._build = BuildHere(order, self._engine, self._tell, self._following)
            else:
                self._build = Build(order, self._tell, self._following)
            return self._build

    def _tell(self, what: str, done: int, total: int) -> None:
        build = self._build
        for heard in tuple(self._heard):
            if build is not None:
                heard(build)

    def _following(self) -> None:
        """A build has ended: what was asked for meanwhile comes next."""
        self._tell("", 0, 0)
        with self._lock:
            wanted, self._history_next = self._history_next, False
        if wanted:
            self.build(history=True)

    @property
    def building(self) -> Build | None:
        """What is being built now."""
        build = self._build
        return None if build is None or build.ended else build

    def listen(self, heard: Heard) -> Callable[[], None]:
        """Be told of a build's progress, from a thread of its own; what comes back ends it."""
        self._heard.append(heard)
        return lambda: self._heard.remove(heard)

    def told(self) -> str:
        """How the index is coming on, in a few words."""
        build = self._build
        if build is not None and build.ended and build.error is not None and not build.cancelled:
            return f"there is no index yet: {build.error['message']}"
        if build is None or build.ended or not build.total:
            return "there is no index yet: it is being made"
        return f"the index is being made ({build.what}: {build.done:,} of {build.total:,})"


def _mark(path: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
