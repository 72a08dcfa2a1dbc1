"""A long-lived engine for servers, which answer many queries and must not let any of them wait.

    with Session.open(["path/to/repository"]) as session:
        answer = session.search("how are redirects followed")      # at once, even where there is no index yet
        with session.full_index() as engine:                       # or IndexBuilding, which says how far it is
            engine.outline("src/client.py")

- The kernel reports changes of a watched tree (`indexing/inotify.py`), so it is not checked again for every query.
- Where there is no index, one is built in the background by another process (`Build`); until then queries are answered
  from the likeliest files (`unindexed`).
- Settings are read again when a file with settings changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from lurcher import config
from lurcher.engine import Engine
from lurcher.errors import ConfigError, IndexBuilding, IndexError_, LurcherError, Template
from lurcher.indexing import View
from lurcher.indexing.inotify import InotifyMonitor
from lurcher.runtime.process import claim_process, pause
from lurcher.server.file_grep import FileGrep
from lurcher.server.unindexed import WAIT_SECONDS, Listings, UnindexedSearch, size_of
from lurcher.types import Answer, Progress, silent

__all__ = ["SMALL_TREE_BYTES", "Build", "Session"]


SMALL_TREE_BYTES = 500_000
"""The index of a tree of this size is waited for, because it is built so fast."""
_SERVER_DEFAULTS = {
    "index.refresh_limit": 300, "index.lock_seconds": 0.5, "search.patience": 4,
    "index.first_answer_seconds": 1.0,
}  # fmt: skip
"""Shorter waits than for a command: the rest is done in the background."""
_RETRY_SECONDS = 5.0
"""Before a build that failed, or found another writer, is tried again."""
FILL_RETRY_SECONDS = 30.0
"""Before the rest of a history is tried again, where reading it ended early."""
_COMMAND = "from lurcher.server.session import run_child; run_child()"
_MAX_MESSAGE = 2000


class Session:
    """An engine with its watches and background builds. Thread-safe; close it when done."""

    def __init__(self, paths: Sequence[Path], overrides: Mapping[str, Any] | None, index_dir: Path | None) -> None:
        self._paths, self._overrides, self._index_dir = tuple(paths), overrides, index_dir
        self._lock = threading.RLock()
        self._build: Build | None = None
        self._not_before = self._fill_not_before = 0.0
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

    @property
    def engine_at_hand(self) -> Engine:
        """The same without another look at the files with settings, for the rest of a call that has begun."""
        return self._engine

    def _open_engine(self) -> Engine:
        user = dict(self._overrides or {})
        engine = Engine.open(self._paths, index_dir=self._index_dir, overrides=user)
        calm = {key: value for key, value in _SERVER_DEFAULTS.items() if key not in engine.settings.origins}
        if calm:
            engine = Engine.open(self._paths, index_dir=self._index_dir, overrides={**calm, **user})
        engine.history_corpus.deferred = engine.settings.history.background
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

    def search(self, text: str, *, patience: float = WAIT_SECONDS, **options: Any) -> Answer:
        """Like `Engine.search`, but it never waits for an index: without one the likeliest files answer, which is noted."""
        engine, began = self.engine, time.monotonic()
        if engine.indexed or engine.shares:
            answer = engine.search(text, **options)
            if answer.index.stale_paths:
                self.build()
            return answer
        with self._unindexed.grep(engine, text if isinstance(text, str) else "") as grep:
            return self._search_unindexed(engine, text, grep, began, patience, options)

    def _search_unindexed(
        self, engine: Engine, text: str, grep: FileGrep, began: float, patience: float, options: dict[str, Any]
    ) -> Answer:
        words = text if isinstance(text, str) else ""
        listings = self._unindexed.list_files(engine, began + 0.5 * patience, words)
        if listings is None:
            listings = self._unindexed.list_files(engine, began + 0.7 * patience, words)
        if listings is not None and not self._large(engine, listings) and self.ready(0.6 * patience):
            return engine.search(text, **options)
        try:
            progress_text = self.describe_progress()
            return self._unindexed.search(engine, listings, grep, text, options, progress_text, began + patience)
        finally:
            self.build()  # after the answer, since it would take the processor from it

    def _large(self, engine: Engine, listings: Listings) -> bool:
        """Whether building the index takes too long to wait for it."""
        return not listings.whole or any(
            size_of(project, entries, SMALL_TREE_BYTES) > SMALL_TREE_BYTES
            for project, entries in zip(engine.projects, listings, strict=True)
        )

    def views_of(self, path: Path, patience: float = WAIT_SECONDS) -> list[View] | None:
        """Views that have this file alone, to answer about it before there is an index; None where there is one."""
        engine, began = self.engine, time.monotonic()
        if engine.indexed or engine.shares:
            return None
        self.build()
        listings = self._unindexed.list_files(engine, began + patience)
        return self._unindexed.view_file(engine, listings, path, self.describe_progress())

    @contextlib.contextmanager
    def full_index(self, seconds: float = WAIT_SECONDS) -> Iterator[Engine]:
        """The engine for calls that need the whole index; raises `IndexBuilding` where there is none after `seconds`."""
        if not self.engine.shares and not self.ready(seconds):
            build = self._build
            left = build.seconds_left if build is not None else None
            hint = f"try again in {max(1, round(left))} s" if left is not None else "try again in a few seconds"
            raise IndexBuilding(f"{self.describe_progress()}; this query needs all of it", hint)
        yield self.engine

    @contextlib.contextmanager
    def with_history(self, seconds: float = WAIT_SECONDS) -> Iterator[Engine]:
        """The engine for queries about history, once some of it is indexed; raises `IndexBuilding` after `seconds`."""
        deadline = time.monotonic() + seconds
        while not self.engine.shares and not self.engine.past_indexed():
            self.build(history=True)
            if time.monotonic() >= deadline:
                build = self._build
                far = f" ({build.what}: {build.done:,} of {build.total:,})" if build is not None and build.total else ""
                reason = f"the history is being indexed{far}; there is nothing of it yet"
                raise IndexBuilding(reason, "try again in a few seconds")
            pause(0.05)
        past = self.engine.history_corpus
        if past.deferred and time.monotonic() >= self._fill_not_before and past.partial():
            self._fill_not_before = time.monotonic() + FILL_RETRY_SECONDS
            self.build(history=True)
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
                self._build = InProcessBuild(request, self._engine, self._on_build_end)
            else:
                self._build = Build(request, after=self._on_build_end)
            return self._build

    def _on_build_end(self) -> None:
        """Start the build that was requested while the last one ran."""
        with self._lock:
            wanted, self._history_next = self._history_next, False
        if wanted:
            self.build(history=True)

    @property
    def building(self) -> Build | None:
        """The build under way, if any."""
        build = self._build
        return None if build is None or build.ended else build

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


# -- building in the background ----------------------------------------------------------------------------------------


class Unwritable(IndexError_):
    """An index cannot be written to disk."""

    code = "unwritable"


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to build."""

    paths: tuple[str, ...]
    overrides: Mapping[str, Any]
    index_dir: str | None = None
    rebuild: bool = False
    history: bool = False


def make_request(paths: Sequence[Path], overrides: Mapping[str, Any] | None, **what: Any) -> BuildRequest:
    return BuildRequest(tuple(map(str, paths)), dict(overrides or {}), **what)


class Build:
    """A process that builds or updates an index, while queries are answered.

    `what`, `done` and `total` are its progress; `error` says why it failed, once it has ended. An index survives the end of its
    writer at any point, so cancelling is killing the process. The child ends with its parent, because it reads from a pipe
    that only the parent holds open.
    """

    def __init__(self, request: BuildRequest, progress: Progress = silent, after: Callable[[], None] = lambda: None) -> None:
        """`after` is called once it has ended, from another thread."""
        self.request = request
        self._after = after
        self.started = time.monotonic()
        self.what, self.done, self.total = "listing files", 0, 0
        self.result: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.cancelled = False
        self.waiting = 0
        """How many callers wait for it; the last one to stop waiting may cancel it."""
        self._ended = threading.Event()
        self._progress = progress
        self._begin()

    def _begin(self) -> None:
        self._process = _start(self.request)
        threading.Thread(target=self._read, name="lurcher-build", daemon=True).start()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        return self._ended.wait(seconds)

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the time left; None while it is not known."""
        share = self.done / self.total if self.total else 0.0
        return None if share < 0.02 else (time.monotonic() - self.started) * (1 - share) / share

    def check(self) -> dict[str, Any]:
        """The result of the build once it has ended; raises its error."""
        if self.error is not None:
            problem = IndexError_(self.error["message"], Template.from_json(self.error.get("hint", "")))
            problem.code = self.error.get("code", problem.code)
            raise problem
        return self.result or {}

    def cancel(self) -> None:
        """End it now; the index before it stays."""
        if not self.ended:
            self.kill()
            self._ended.wait(5)

    def kill(self) -> None:
        """The same without waiting, for signal handlers."""
        if not self.ended:
            self.cancelled = True
            self._process.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None and self._process.stdin is not None
        try:
            for line in self._process.stdout:
                with contextlib.suppress(ValueError):
                    self._update(json.loads(line))
        finally:
            status = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            if self.result is None and self.error is None:
                reason = "it was cancelled" if self.cancelled else f"its process ended with status {status}"
                hint = "" if self.cancelled else "run: lurcher doctor"
                problem = IndexError_(f"the index was not built: {reason}", hint)
                self.error = problem.to_dict()
            self._ended.set()
            self._after()

    def _update(self, message: dict[str, Any]) -> None:
        if "what" in message:
            self.what, self.done, self.total = message["what"], message["done"], message["total"]
            self._progress(self.what, self.done, self.total)
        self.result = message.get("result", self.result)
        self.error = message.get("error", self.error)


class InProcessBuild(Build):
    """The same in a thread of this process, for an index in memory: another process could not hand it over."""

    def __init__(self, request: BuildRequest, engine: Engine, after: Callable[[], None]) -> None:
        self._engine = engine
        super().__init__(request, after=after)

    def _begin(self) -> None:
        threading.Thread(target=self._work, name="lurcher-build", daemon=True).start()

    def cancel(self) -> None:
        """Stop waiting for it: it ends by itself."""
        self.cancelled = True

    kill = cancel

    def _work(self) -> None:
        try:
            request = self.request
            self.result = self._engine.index(
                rebuild=request.rebuild, history=request.history, share=False, progress=self._report
            )
        except LurcherError as error:
            self.error = error.to_dict()
        except Exception as error:
            self.error = _unexpected_error(error)
        self._ended.set()
        self._after()

    def _report(self, what: str, done: int, total: int) -> None:
        self._update({"what": what, "done": done, "total": total})


def _unexpected_error(error: Exception) -> dict[str, str]:
    return {"code": "index", "message": str(error)[:_MAX_MESSAGE], "hint": "run: lurcher doctor"}


def _start(request: BuildRequest) -> subprocess.Popen[bytes]:
    # Started in lurcher's own folder, so that nothing of a repository is imported; its output never reaches ours.
    home = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    fields = {name: getattr(request, name) for name in BuildRequest.__match_args__}
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(fields).encode() + b"\n")
        process.stdin.flush()
    return process


def run_child() -> None:
    """The child process: reads a request, builds the index, and writes its progress line by line."""
    claim_process()
    with contextlib.suppress(OSError, AttributeError):  # Windows has no such number
        os.nice(10)  # queries have priority
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lock = threading.Lock()
    last = 0.0

    def send(message: Mapping[str, Any]) -> None:
        with lock, contextlib.suppress(OSError, ValueError):
            out.write(json.dumps(message).encode() + b"\n")
            out.flush()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.05 or done >= total:
            last = now
            send({"what": what, "done": done, "total": total})

    try:
        with Engine.open(request["paths"], index_dir=request["index_dir"], overrides=request["overrides"]) as engine:
            if request["history"] and not request["rebuild"]:
                engine.begin_history(progress)  # a query waits for it
            if not all(project.can_write() for project in engine.projects):
                raise Unwritable("the index cannot be written", "set LURCHER_INDEX_DIR to a folder that can be written")
            # A query must not change a shared store.
            done = engine.index(rebuild=request["rebuild"], history=request["history"], share=False, progress=progress)
            send({"result": done})
    except LurcherError as error:
        hint = error.hint.to_json() if isinstance(error.hint, Template) else error.hint
        send({"error": {**error.to_dict(), "hint": hint}})
    except Exception as error:
        send({"error": _unexpected_error(error)})
    out.close()
    os._exit(0)


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(1)
