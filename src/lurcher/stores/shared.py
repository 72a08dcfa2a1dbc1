"""A shared store as the settings name it: which one, which projects of it, and what to say about them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import ConfigError, StoreError, Template, UsageError
from lurcher.net.address import shown
from lurcher.runtime.light import cached_property
from lurcher.sources.roots import INDEX_FOLDER
from lurcher.stores.base import store_at
from lurcher.stores.names import default_name, split_names
from lurcher.types import Degraded, IndexState

if TYPE_CHECKING:
    from lurcher.indexing.root_index import RootIndex
    from lurcher.stores.base import Head, Store
    from lurcher.stores.search import Asking
    from lurcher.types import Progress
    from lurcher.vectors.sparse import SparseEmbedder

LOCAL = "local"
LOCK_SECONDS = 30.0
"""How long to wait for another machine that is writing the project; hand-set."""
DOCTOR = "look at it: lurcher doctor"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class NeedsCheckout(UsageError):
    """The question is not for a store, and the project is not checked out here."""


def shared_of(settings: Settings, roots: Sequence[Path]) -> Shared | None:
    """The store that the settings name; None where the roots' own indexes are all there is."""
    url = user_setting(settings, "store.url")
    named = user_setting(settings, "store.project")
    if url == LOCAL:
        return None
    if not url:
        if named:
            raise UsageError("a project is named, but no store", Template("name the store too: {store=URL}, or LURCHER_STORE"))
        return None
    if not _SCHEME.match(url):
        raise ConfigError(f"store.url is no address: {url[:40]!r}", "such as qdrant://host:6333 or postgres://host/name")
    return Shared(url, settings, tuple(roots), split_names(named))


class Shared:
    """Opened when it is first asked. Safe in several threads."""

    def __init__(self, url: str, settings: Settings, roots: tuple[Path, ...], named: tuple[str, ...]) -> None:
        self._url, self._settings, self._roots, self._named = url, settings, roots, named
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._asking: Asking | None = None

    @cached_property
    def _own(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(default_name, self._roots)))

    @property
    def projects(self) -> tuple[str, ...]:
        return self._named or self._own

    @property
    def foreign(self) -> bool:
        """Whether other projects are asked than those that are checked out around here, or nothing is checked out."""
        return self._others or not any(map(_holds_files, self._roots))

    @cached_property
    def _others(self) -> bool:
        try:
            return bool(self._named) and self._named != self._own
        except UsageError:
            return True

    def without(self, question: str) -> tuple[Degraded, ...]:
        """What the local index says when it answers something that a store cannot; an error where nothing is checked out."""
        if self.foreign:
            raise NeedsCheckout(
                Template("a shared store cannot answer {*}", question),
                "ask in a checkout of the project; lurcher search asks the store",
            )
        reason = Template("a shared store cannot answer {*}; what is checked out here answered", question)
        return (Degraded("store", reason, ""),)

    @property
    def several(self) -> bool:
        return len(self.projects) > 1

    @property
    def fallback(self) -> bool:
        return self._settings.store.fallback == LOCAL

    @property
    def store(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = store_at(self._url, self._settings)
            return self._store

    @property
    def asking(self) -> Asking:
        from lurcher.stores.search import Asking

        store = self.store
        with self._lock:
            if self._asking is None:
                self._asking = Asking(store, self.projects, self._settings, self.sparse)
            return self._asking

    @cached_property
    def sparse(self) -> SparseEmbedder | None:
        """Who makes the vectors of words, if not we ourselves."""
        if self._settings.sparse.provider == "terms":  # who has no such service need not load what asks it
            return None
        from lurcher.vectors.sparse import sparse_of

        return sparse_of(self._settings)

    @property
    def identity(self) -> str:
        """Tells answers from this place from others, without showing where it is."""
        return "\0".join(("store", self._url, *self.projects))

    def close(self) -> None:
        with self._lock:
            store, self._store, self._asking = self._store, None, None
        if store is not None:
            store.close()

    # -- what is said about it --------------------------------------------------------------------------------------------

    def told(self, heads: Mapping[str, Head]) -> IndexState:
        """The state of what answers. Whether it is fresh nobody knows: the tree is not compared with it."""
        found = {
            name: {"generation": head.generation, "commit": head.commit, "written": head.written}
            for name, head in heads.items()
        }
        return IndexState(sum(head.generation for head in heads.values()), False, 0, shared=found)

    def behind(self, heads: Mapping[str, Head]) -> tuple[Degraded, ...]:
        """Says so where the checkout around here stands at another commit."""
        if self.foreign or self.several:
            return ()
        for root, head in zip(self._roots, heads.values(), strict=False):
            here = commit_at(root) if head.commit else ""
            if here and here != head.commit:
                reason = f"the shared index is of commit {head.commit[:10]}, and here is {here[:10]}"
                return (Degraded("freshness", reason, Template("bring it up to date: {index: store=URL}")),)
        return ()

    def described(self, problem: StoreError) -> StoreError:
        """An error of the store, with what was tried and what to do about it."""
        problem.tried = problem.tried or shown(self._url)
        if "lurcher doctor" not in problem.hint:
            problem.hint = Template("{*}; {*}", problem.hint, DOCTOR) if problem.hint else DOCTOR
        return problem

    def off(self, problem: StoreError) -> Degraded:
        """What an answer of the local index says when the store did not give one."""
        return Degraded("store", f"{problem.message}; the local index answered", self.described(problem).hint)

    # -- writing ----------------------------------------------------------------------------------------------------------

    def name_for(self, root: Path) -> str:
        """The project that a checkout is written to."""
        if not self._named:
            return default_name(root)
        if len(self._named) != 1 or len(self._roots) != 1:
            hint = Template("name one folder, and one project: {project=NAME}")
            raise UsageError("one folder is one project in a store", hint)
        return self._named[0]

    def write(self, project: RootIndex, progress: Progress, *, rebuild: bool) -> dict[str, Any]:
        """Bring the project in the store up to date with a local index that is; what was done."""
        from lurcher.stores.sync import push

        sparse = self.sparse
        name = self.name_for(project.root.path)
        view = project.view(progress, limited=False)
        try:
            before = self.store.head(name)
            if before is not None and before.files and not view.snapshot.file_count:
                raise UsageError(
                    f"there is nothing here, and {before.files:,} files in the project {name} of the store",
                    Template("run it in a checkout of the project; to remove the project: {index: clear}"),
                )
            done = push(
                self.store, name, view, project.model, root=project.root.path.name, commit=commit_at(project.root.path),
                rebuild=rebuild, seconds=LOCK_SECONDS, progress=progress, sparse=sparse,
            )  # fmt: skip
        except StoreError as problem:
            raise self.described(problem) from problem.__cause__
        return {
            **_described(name, done.head), "sent_files": done.put, "sent_units": done.units, "kept_files": done.kept,
            "removed_files": done.retired, "changed": done.changed,
        }  # fmt: skip

    def clear(self) -> bool:
        """Remove the project from the store; False where there was none."""
        dropped = False
        for root in self._roots:
            name = self.name_for(root)
            with self.store.writing(name, LOCK_SECONDS):
                dropped = self.store.drop(name) or dropped
        return dropped

    def status(self) -> dict[str, Any]:
        """What the store has of each project, or why that cannot be told."""
        found: list[dict[str, Any]] = []
        told: dict[str, Any] = {"store": shown(self._url), "projects": found}
        try:
            for name in self.projects:
                head = self.store.head(name)
                found.append({"project": name, "exists": False} if head is None else _described(name, head))
        except StoreError as problem:
            told.update(problem=problem.message, hint=self.described(problem).hint)
        return told


def _described(name: str, head: Head) -> dict[str, Any]:
    return {
        "project": name, "exists": True, "generation": head.generation, "commit": head.commit, "written": head.written,
        "files": head.files, "units": head.units, "dims": head.dims,
    }  # fmt: skip


def _holds_files(root: Path) -> bool:
    """Whether there is anything in a folder besides what git and we ourselves put there."""
    try:
        with os.scandir(root) as entries:
            return any(entry.name != ".git" and not entry.name.startswith(INDEX_FOLDER) for entry in entries)
    except OSError:
        return False


def commit_at(root: Path) -> str:
    """The commit that a checkout stands at; empty where that cannot be told."""
    from lurcher.sources.git.refs import read_head

    found = read_head(root) if (root / ".git").exists() else None
    return found.sha if found is not None else ""
