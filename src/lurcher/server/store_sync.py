"""Keeps a store current with many git remotes, together with any number of other machines that do the same.

    remote ──► its commit is that of the store? done ──► lease ──► both asked again ──► fetch ──► index ──► send ──► lease ends

A lease is the lock of a writer in the store, under a name of its own: it ends when its holder does, however that ends. So
whatever a machine had begun when it was killed is begun again by whoever comes next, and what is in the store is never done
twice.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.engine import Engine
from lurcher.errors import IndexLocked, LurcherError
from lurcher.net.http import one_line, redact_url
from lurcher.server.remotes import Clone, Refused, Remote

if TYPE_CHECKING:
    from lurcher.stores.base import Store

LEASE = "~lease/"
"""Before the name of a project: the name of its lease, which no project can have."""
_PAUSE = 0.5
"""Seconds before a project that another machine works on is looked at again."""
INDEXED, CURRENT, FAILED, REFUSED, BUSY = "indexed", "current", "failed", "refused", "busy"


@dataclass(frozen=True, slots=True)
class SyncEntry:
    """What became of one repository."""

    status: str
    project: str
    remote: str = ""
    commit: str = ""
    seconds: float = 0.0
    files: int = 0
    sent_files: int = 0
    problem: str = ""
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class _Item:
    remote: Remote
    clone: Clone
    tip: tuple[str, str] | None = None
    not_before: float = 0.0
    first: float = field(default_factory=time.monotonic)


class StoreSync:
    def __init__(
        self, store: Store, folder: Path, overrides: Mapping[str, Any], *, history: bool = False, wait: float = 600.0,
        tell: Callable[[SyncEntry], None] = lambda entry: None,
    ) -> None:  # fmt: skip
        """`folder` has the clones; `wait`: how long another machine may work on a project before it is reported as busy."""
        self._store, self._folder, self._overrides = store, folder, dict(overrides)
        self._history, self._wait, self._tell = history, wait, tell
        self._lock = threading.Lock()
        self._queue: list[_Item] = []
        self._entries: dict[str, SyncEntry] = {}

    def run(self, remotes: Sequence[Remote], workers: int) -> list[SyncEntry]:
        """The entries of all remotes, in their order, once each is done or has failed."""
        self._queue = [_Item(remote, Clone(remote, self._folder)) for remote in remotes]
        random.shuffle(self._queue)  # machines that begin together begin with different ones
        threads = [
            threading.Thread(target=self._work, name=f"lurcher-sync-{number}", daemon=True)
            for number in range(max(1, min(workers, len(remotes))))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # so that Ctrl-C is heard
        return [self._entries[remote.project] for remote in remotes]

    def _work(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                item = next((one for one in self._queue if one.not_before <= now), None)
                if item is not None:
                    self._queue.remove(item)
                elif not self._queue:
                    return
            if item is None:
                time.sleep(0.05)
                continue
            entry = self._attempt(item)
            if entry is None and time.monotonic() - item.first > self._wait:
                entry = self._entry(item, BUSY, problem="another machine still works on it")
            with self._lock:
                if entry is None:
                    item.not_before = time.monotonic() + _PAUSE
                    self._queue.append(item)
                    continue
                self._entries[item.remote.project] = entry
            self._tell(entry)

    def _attempt(self, item: _Item) -> SyncEntry | None:
        """Bring one project up to date; None where another machine is doing that. Whatever goes wrong is in the entry."""
        try:
            if item.tip is None:
                item.tip = item.clone.find_tip()
            return self._find_current(item) or self._index_leased(item)
        except LurcherError as error:
            return self._entry(item, FAILED, problem=error.message, hint=str(error.hint))
        except Exception as error:
            # One repository, such as one that meets a mistake of ours, must not stop the others.
            return self._entry(item, FAILED, problem=f"{type(error).__name__}: {error}")

    def _index_leased(self, item: _Item) -> SyncEntry | None:
        with ExitStack() as lease:
            try:
                lease.enter_context(self._store.writing(LEASE + item.remote.project, 0.0))
            except IndexLocked:
                return None
            item.tip = item.clone.find_tip()  # another machine may have done it a moment ago, and with later commits
            return self._find_current(item) or self._index(item)

    def _find_current(self, item: _Item) -> SyncEntry | None:
        head = self._store.head(item.remote.project)
        if head is None or item.tip is None or head.commit != item.tip[0]:
            return None
        if self._history and not head.more.get("commits"):
            return None
        return self._entry(item, CURRENT, files=head.files)

    def _index(self, item: _Item) -> SyncEntry:
        assert item.tip is not None
        began = time.monotonic()
        clone = item.clone
        commit = clone.update(item.tip[1], whole=self._history)
        own = {**self._overrides, "store.project": item.remote.project}
        with Engine.open(clone.tree, root=clone.tree, index_dir=clone.index_dir, overrides=own) as engine:
            sent = engine.index(history=self._history)["sent"][0]
        took = round(time.monotonic() - began, 3)
        return self._entry(
            item, INDEXED, commit=commit, seconds=took, files=sent["files"], sent_files=sent["sent_files"],
        )  # fmt: skip

    @staticmethod
    def _entry(item: _Item, status: str, **more: Any) -> SyncEntry:
        if "problem" in more:
            more["problem"] = one_line(redact_url(more["problem"]))
        own = {"commit": item.tip[0] if item.tip else "", **more}
        return SyncEntry(status, item.remote.project, redact_url(item.remote.url), **own)


def refused_entry(refused: Refused) -> SyncEntry:
    return SyncEntry(REFUSED, f"line {refused.line}", problem=refused.problem)


def count_statuses(entries: Sequence[SyncEntry]) -> dict[str, int]:
    counts = Counter(entry.status for entry in entries)
    return {status: counts[status] for status in (INDEXED, CURRENT, FAILED, REFUSED, BUSY)}
