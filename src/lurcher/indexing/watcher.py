"""Keeps indexes up to date while their trees change: by events of the system (watchfiles), or by polling.

    events ──► burst (nothing for a moment?) ──► the update that every query makes, without its limit ──► report

An event only says that it is time to check the tree; the check finds out what changed. So a burst of any size ends in one
check, once nothing has happened for a moment, or after a few seconds at the latest. A path that was checked without result (an
ignored folder, a log) may change all day: it is checked less and less often.

Errors after the start are reported and retried; only a root that is gone, or an index that another version has taken over,
ends the watch.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lurcher.errors import CorruptIndex, IndexError_, IndexLocked, LurcherError, OutdatedIndex, PathError
from lurcher.indexing import View
from lurcher.indexing.root_index import RootIndex
from lurcher.runtime import VERSION
from lurcher.sources import GENERATED_FOLDERS, INTERNAL_FOLDERS
from lurcher.storage.container import Container
from lurcher.storage.disk import find_holder
from lurcher.storage.manifest import NAME, NO_SEGMENT, FileRow
from lurcher.types import Progress

INSTALL = "pip install 'lurcher[watch]'"
SYSCTL = "sudo sysctl fs.inotify.max_user_watches=524288"
_LISTEN_SECONDS = 0.2
"""Seconds to wait for events at a time."""
_GRACE_SECONDS = 1.0
"""Seconds; a root that is away for no longer was only being replaced."""
_RETRY_SECONDS, _MAX_RETRY_SECONDS = 1.0, 60.0
_LOCKED_RETRY_SECONDS = 0.25
_GIT_SECONDS = 20.0
"""Seconds that git may take for a branch switch; an older lock file was left by a git that died."""
_MAX_MISSED = 2
"""Changes without an event after which events are not relied on any more."""
_IDLE_SHARE = 20
"""Polling may take one part in this many of the time."""
_IN_GIT = frozenset({".git", ".git/index", ".git/HEAD", ".git/info/exclude"})
"""Files of git that decide which files a tree has."""
_IGNORE_FILES = frozenset({".gitignore", ".lurcherignore"})
_GENERATED = frozenset(GENERATED_FOLDERS)
_MAX_IRRELEVANT = 20_000


@dataclass(frozen=True, slots=True)
class Update:
    """An index was brought up to date."""

    root: str
    generation: int
    files: int
    """Files in the index."""
    added: int
    changed: int
    removed: int
    ms: float
    first: bool
    """Whether this is the state at the start, which is reported even if nothing changed."""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ms": round(self.ms, 1)}


@dataclass(frozen=True, slots=True)
class Notice:
    """A message about the watch itself."""

    message: str
    hint: str = ""
    serious: bool = False
    """Whether the index is not kept up to date for now."""


Report = Callable[[Update | Notice], None]
Reopen = Callable[[RootIndex, bool], RootIndex]
"""Opens an index again if its settings have changed; in any case if the second argument is true."""


def watch_roots(
    indexes: Sequence[RootIndex],
    reopen: Reopen,
    report: Report,
    stop: threading.Event,
    progress: Progress,
    intervals: WatchIntervals,
) -> None:
    """Keep `indexes` up to date until `stop` is set."""
    trees = [_WatchedRoot(index, reopen, report, stop, progress, intervals) for index in indexes]
    events = _EventSource([tree.root for tree in trees], report, stop, intervals)
    try:
        events.open()  # before the first check, so that nothing is missed
        while any([tree.begin() for tree in trees]) and not stop.wait(_LOCKED_RETRY_SECONDS):
            pass
        while not stop.is_set():
            paths = events.listen(max(tree.cost for tree in trees))
            now = time.monotonic()
            for tree in trees:
                if tree.was_replaced():
                    events.open()
                    tree.schedule_check(now)
                elif paths is None:
                    tree.schedule_check(now)
                else:
                    tree.burst.add_events(paths, now)
            for tree in trees:
                if not stop.is_set() and tree.due <= time.monotonic() and not tree.is_git_busy():
                    tree.update()
            if events.is_listening and sum(tree.missed for tree in trees) >= _MAX_MISSED:
                events.fall_back_to_polling(
                    "the system does not report every change", f"perhaps it is out of watches; try: {SYSCTL}"
                )
    finally:
        events.close()


class _EventSource:
    """Events of watchfiles, if it is installed and has enough watches; else a clock."""

    def __init__(self, roots: Sequence[Path], report: Report, stop: threading.Event, intervals: WatchIntervals) -> None:
        self._roots, self._report, self._stop, self._intervals = roots, report, stop, intervals
        self._events: Iterator[set[tuple[Any, str]]] | None = None
        self._polling = False
        self._ignore_denied = False
        """Whether folders without permission are skipped; watchfiles does that for all folders or for none."""

    @property
    def is_listening(self) -> bool:
        return self._events is not None

    def open(self) -> None:
        self.close()
        if self._polling:
            return
        try:
            import watchfiles
        except ImportError:
            self.fall_back_to_polling("watchfiles is not installed", INSTALL)
            return
        step = round(_LISTEN_SECONDS * 1000)
        self._events = watchfiles.watch(
            *self._roots, watch_filter=None, debounce=step, step=step // 4, rust_timeout=step, yield_on_timeout=True,
            stop_event=self._stop, ignore_permission_denied=self._ignore_denied,
        )  # fmt: skip
        self._next()  # watchfiles starts with the first call

    def listen(self, cost: float) -> set[str] | None:
        """Wait for events; their paths, or None where it is time to poll."""
        if self._events is None:
            self.open()
        paths = self._next() if self._events is not None else None
        if paths is not None:
            return paths
        self._stop.wait(max(self._intervals.poll, _IDLE_SHARE * cost))
        return None

    def _next(self) -> set[str] | None:
        assert self._events is not None
        try:
            return {path for _, path in next(self._events, ())}
        except FileNotFoundError:  # a root is gone, which is noticed elsewhere
            self.close()
        except (OSError, RuntimeError) as error:
            if "ermission denied" in str(error) and not self._ignore_denied:
                self._ignore_denied = True
                self.open()
                return set()
            limit = "watch limit" in str(error) or "Too many open files" in str(error)
            reason = f"the system cannot report changes: {error}"
            if limit:
                reason = "the system has no watches left for so many folders"
            self.fall_back_to_polling(reason, SYSCTL if limit else "")
        return None

    def fall_back_to_polling(self, reason: str, hint: str) -> None:
        self.close()
        self._polling = True
        self._report(Notice(f"{reason}: checking for changes every {self._intervals.poll:g} s instead", hint))

    def close(self) -> None:
        close = getattr(self._events, "close", None)
        self._events = None
        if close is not None:
            close()


class _WatchedRoot:
    """One root that is watched, and its index."""

    def __init__(
        self,
        index: RootIndex,
        reopen: Reopen,
        report: Report,
        stop: threading.Event,
        progress: Progress,
        intervals: WatchIntervals,
    ) -> None:
        self._index, self._reopen, self._report, self._stop, self._progress = index, reopen, report, stop, progress
        self._intervals = intervals
        self.root = index.root.path
        self.burst = Burst(self.root, index.store.folder, intervals)
        self.cost = 0.0
        """Seconds that the last check without changes took."""
        self.missed = 0
        """Changes that were found without an event."""
        self._git_lock = _git_lock(self.root)
        self._identity = self._disk_identity()
        self._rows: Mapping[str, FileRow] = {}
        self._generation = 0
        self._begun = False
        self._beat_at = self._check_at = float("inf")
        self._not_before = 0.0
        self._retry = _RETRY_SECONDS
        self._last_message = ""

    @property
    def due(self) -> float:
        burst = self.burst.due
        due = min(self._beat_at, self._check_at, float("inf") if burst is None else burst)
        return max(due, self._not_before)

    def schedule_check(self, when: float) -> None:
        """Check the tree at that time, whatever the burst says."""
        self._check_at = min(self._check_at, when)

    def is_git_busy(self) -> bool:
        """Whether git is changing the work tree; the update waits for it."""
        if self._git_lock is None:
            return False
        try:
            return 0 <= time.time() - self._git_lock.stat().st_mtime < _GIT_SECONDS
        except OSError:
            return False

    def begin(self) -> bool:
        """The first update; True while another process writes. Errors are raised."""
        if not self._begun:
            self._rows = _read_rows(self._index)
            self.update()
        return not self._begun

    def was_replaced(self) -> bool:
        """Whether another folder has replaced the root; raises if the root is gone."""
        identity = self._disk_identity()
        deadline = time.monotonic() + _GRACE_SECONDS
        while identity is None and time.monotonic() < deadline:
            if self._stop.wait(0.1):
                return False
            identity = self._disk_identity()
        if identity is None:
            raise PathError(f"{self.root} is gone", "start again once it is back")
        before, self._identity = self._identity, identity
        return identity != before

    def _disk_identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.root)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def update(self) -> None:
        """Index what changed, and report it or why that failed."""
        started = time.monotonic()
        by_chance = self.burst.due is None and self._check_at > started
        try:
            view = self._view()
        except IndexLocked as locked:
            self._retry_later(Notice(locked.message, "waiting for it"), _LOCKED_RETRY_SECONDS)
        except (LurcherError, OSError) as error:
            if not self._begun or isinstance(error, (PathError, OutdatedIndex)):
                raise
            message = error.message if isinstance(error, LurcherError) else error.strerror or str(error)
            hint = error.hint if isinstance(error, LurcherError) else ""
            self._retry_later(Notice(f"{message}; trying again", hint, serious=True), self._retry)
            self._retry = min(self._retry * 2, _MAX_RETRY_SECONDS)
        else:
            self._finish_update(view, started, by_chance)

    def _view(self) -> View:
        if not self._disk_identity():
            raise PathError(f"{self.root} is gone", "start again once it is back")
        self._reopen_index()
        self._check_unlocked()
        try:
            view = self._index.view(self._progress, limited=False)
        except CorruptIndex as damage:
            self._report(Notice(f"{damage.message}; it is rebuilt"))
            view = self._index.rebuild(self._progress)
        problem = self._index.store.write_error
        if problem:
            self._index = self._reopen(self._index, True)
            raise IndexError_(f"the index cannot be written: {problem}", "make room, or set LURCHER_INDEX_DIR")
        if view.stale_paths:
            raise IndexLocked("another process is writing the index")
        for note in view.degraded:
            self._report(Notice(note.reason, note.hint))
        return view

    def _reopen_index(self) -> None:
        """Open the index again if settings have changed, or if another process made it with other settings."""
        self._index = self._reopen(self._index, False)
        self.burst.index = self._index.store.folder
        if not self._begun or not self._index.was_replaced():
            return
        try:
            self._index.store.read(self._index.fingerprint)
        except OutdatedIndex as problem:
            if Container.open(self._index.store.folder / NAME).meta["fingerprint"].get("version") != VERSION:
                # Rebuilding would undo what the other version does, which would rebuild in turn.
                raise OutdatedIndex(f"{problem.message}, by another process", "start the watch again") from problem
            self._index = self._reopen(self._index, True)
        except (IndexError_, OSError):
            pass  # the update reports or repairs it

    def _check_unlocked(self) -> None:
        """Raise if another process writes, rather than wait in the update, which neither reports nor stops."""
        try:
            pid = find_holder(self._index.store.folder)
        except OSError:  # a file system without locks
            return
        if pid is not None:
            raise IndexLocked(f"another process{f' ({pid})' if pid else ''} is writing the index")

    def _retry_later(self, notice: Notice, seconds: float) -> None:
        """Report a message once, and try again."""
        if notice.message != self._last_message:
            self._report(notice)
            self._last_message = notice.message
        self._not_before = time.monotonic() + seconds
        self._check_at = min(self._check_at, self._not_before)

    def _finish_update(self, view: View, started: float, by_chance: bool) -> None:
        now = time.monotonic()
        rows, first = view.manifest.rows, not self._begun
        added, changed, removed = _count_changes(self._rows, rows)
        was_replaced = bool(added or changed or removed)
        self._rows, self._generation, self._begun = rows, view.manifest.generation, True
        self.burst.mark_checked(rows)
        self._retry, self._last_message, self._not_before = _RETRY_SECONDS, "", 0.0
        self._beat_at, self._check_at = now + self._intervals.beat, float("inf")
        if was_replaced:
            self.missed += by_chance
            self._check_at = now + self._intervals.follow
        else:
            self.cost = now - started
        if was_replaced or first:
            files = sum(row.segment != NO_SEGMENT for row in rows.values())
            ms = (now - started) * 1000
            self._report(Update(str(self.root), self._generation, files, added, changed, removed, ms, first))


def _git_lock(root: Path) -> Path | None:
    """The lock file of git for the work tree at `root`; None where there is no git folder."""
    folder = root / ".git"
    try:
        if folder.is_file():  # a linked work tree, or a sub-module
            folder = root / folder.read_text("utf-8", "surrogateescape").removeprefix("gitdir: ").rstrip("\n")
        return folder / "index.lock" if folder.is_dir() else None
    except (OSError, ValueError):
        return None


def _read_rows(index: RootIndex) -> Mapping[str, FileRow]:
    """The rows of the index on disk, before the first update."""
    try:
        manifest = index.store.read(index.fingerprint)
    except (IndexError_, OSError):
        return {}
    return manifest.rows if manifest is not None else {}


def _count_changes(before: Mapping[str, FileRow], after: Mapping[str, FileRow]) -> tuple[int, int, int]:
    """Numbers of files that were added, changed and removed."""
    if before is after:
        return 0, 0, 0
    old = {path: row.digest for path, row in before.items() if row.segment != NO_SEGMENT}
    new = {path: row.digest for path, row in after.items() if row.segment != NO_SEGMENT}
    common = old.keys() & new.keys()
    return len(new) - len(common), sum(old[path] != new[path] for path in common), len(old) - len(common)


@dataclass(frozen=True, slots=True)
class WatchIntervals:
    """When to check a tree, in seconds."""

    quiet: float = 0.2
    """Time without events before a check."""
    latest: float = 3.0
    """The longest burst before a check."""
    slow: float = 4.0
    """Delay for paths that were checked without result; doubled each time."""
    slowest: float = 60.0
    follow: float = 2.0
    """Delay of a second check after a change: systems lose events when there are many."""
    beat: float = 60.0
    """Interval of checks without events."""
    poll: float = 2.0
    """Interval of polling, where there are no events."""


class Burst:
    """The events of one tree since it was last checked."""

    def __init__(self, root: Path, index: Path, intervals: WatchIntervals) -> None:
        self._base = str(root).rstrip("/") + "/"
        self.index = index
        self._intervals = intervals
        self._files: Mapping[str, object] = {}
        self._folders: set[str] = {""}
        self._pending: set[str] = set()
        self._irrelevant: set[str] = set()
        self._first: float | None = None
        self._last = 0.0
        self._slow_first: float | None = None
        self._slow = intervals.slow

    def set_files(self, files: Mapping[str, object]) -> None:
        """Set the files that the index has now."""
        if files is self._files:
            return
        self._files = files
        folders = {""}
        for path in files:
            folder = path.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._folders = folders

    def add_events(self, paths: Iterable[str], now: float) -> None:
        """Add events of absolute paths."""
        index = f"{self.index}/"
        for path in paths:
            if not f"{path}/".startswith(self._base) or f"{path}/".startswith(index):
                continue
            key = self._key(path[len(self._base) :])
            if key is None:
                continue
            if key in self._irrelevant:
                self._slow_first = now if self._slow_first is None else self._slow_first
                continue
            self._pending.add(key)
            self._first = now if self._first is None else self._first
            self._last = now

    def _key(self, path: str) -> str | None:
        """The key under which a check because of `path` is remembered if it finds nothing; None if no check is needed."""
        if path in self._files:
            return path
        parts = path.split("/")
        if not INTERNAL_FOLDERS.isdisjoint(parts):
            return "" if path in _IN_GIT else None
        if parts[-1] in _IGNORE_FILES:
            self._irrelevant.clear()
            return path
        folder = ""
        for part in parts:
            folder = f"{folder}/{part}" if folder else part
            if folder not in self._folders:
                # The first folder without indexed files, or the new file itself.
                return None if part in _GENERATED else folder
        return folder

    @property
    def due(self) -> float | None:
        """When to check the tree; None if there is no reason."""
        times = []
        if self._first is not None:
            times.append(min(self._last + self._intervals.quiet, self._first + self._intervals.latest))
        if self._slow_first is not None:
            times.append(self._slow_first + self._slow)
        return min(times, default=None)

    def mark_checked(self, files: Mapping[str, object]) -> None:
        """The tree was checked; the index has `files` now."""
        self.set_files(files)
        if self._slow_first is not None:
            self._slow = min(self._slow * 2, self._intervals.slowest)
        irrelevant = {
            key for key in self._pending if key and key not in files and key not in self._folders and self._holds(key)
        }
        if len(self._irrelevant) + len(irrelevant) > _MAX_IRRELEVANT:
            self._irrelevant.clear()
        if not irrelevant <= self._irrelevant:
            self._slow = self._intervals.slow
        self._irrelevant |= irrelevant
        self._irrelevant = {key for key in self._irrelevant if key not in files and key not in self._folders}
        self._pending.clear()
        self._first = self._slow_first = None

    def _holds(self, key: str) -> bool:
        """Whether `key` exists and is not an empty folder; otherwise it may still become an indexed file."""
        try:
            return bool(os.listdir(self._base + key))
        except NotADirectoryError:
            return True
        except OSError:
            return False


@contextmanager
def monitor_trees(indexes: Sequence[RootIndex]) -> Iterator[None]:
    """Within this context, trees that inotify can watch are not checked for every query."""
    from lurcher.indexing.inotify import InotifyMonitor

    with ExitStack() as stack:
        for index in indexes:
            with suppress(OSError):
                index.monitor = InotifyMonitor(index.root.path)
                stack.callback(index.monitor.close)
        yield
