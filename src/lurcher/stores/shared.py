"""The shared store that the settings name: its projects, its health, what answers say about it, and writing to it.

A project has the same name on every machine with a checkout of it: owner and name of its git remote, unless one is set.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import ConfigError, StoreError, Template, UsageError
from lurcher.net.http import one_line, redact_url
from lurcher.sources import INDEX_FOLDER
from lurcher.stores.base import store_at
from lurcher.types import Degraded, IndexState

if TYPE_CHECKING:
    from lurcher.indexing.root_index import RootIndex
    from lurcher.inspect.doctor.services import Health
    from lurcher.net.http import Deadline
    from lurcher.stores.base import Head, Store
    from lurcher.stores.files import LocalPart
    from lurcher.stores.search import StoreSearcher
    from lurcher.types import Progress
    from lurcher.vectors.service import SparseEmbedder


LOCAL = "local"
LOCK_SECONDS = 30.0
"""How long to wait for another machine that is writing the project; hand-set."""
DOCTOR = "run: lurcher doctor"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+@:-]|/(?=[A-Za-z0-9._+@-]))*")
_MAX_NAME = 200
_REMOTE = re.compile(r'^\s*\[\s*remote\s+"([^"\n]+)"\s*\]', re.IGNORECASE)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.IGNORECASE)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._+@/-]+")
_HEALTH_FIELDS = ("version", "model", "dims", "url", "latency")
"""Entries of a store's state that have a field of their own in `Health`."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class NeedsCheckout(UsageError):
    """A store cannot answer the query, and the project is not checked out here."""


def find_shared_store(settings: Settings, roots: Sequence[Path]) -> SharedStore | None:
    """The store that the settings name; None where only local indexes are used."""
    url = user_setting(settings, "store.url")
    named = user_setting(settings, "store.project")
    if url == LOCAL:
        return None
    if not url:
        if named:
            hint = Template("name the store too: {store=URL}, or LURCHER_STORE")
            raise UsageError("store.project is set, but no store", hint)
        return None
    if not _SCHEME.match(url):
        raise ConfigError(f"store.url is not an address: {url[:40]!r}", "write it like qdrant://host:6333 or postgres://host/name")
    return SharedStore(url, settings, tuple(roots), split_project_names(named))


class SharedStore:
    """Opened when it is first used. Thread-safe."""

    def __init__(self, url: str, settings: Settings, roots: tuple[Path, ...], named: tuple[str, ...]) -> None:
        self._url, self._settings, self._roots, self._named = url, settings, roots, named
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._searcher: StoreSearcher | None = None
        self._borrowed = False

    def borrow(self, store: Store) -> None:
        """Use a store that is open already, and leave it open."""
        with self._lock:
            self._store, self._borrowed = store, True

    @cached_property
    def _own_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(default_project_name, self._roots)))

    @property
    def projects(self) -> tuple[str, ...]:
        return self._named or self._own_names

    @property
    def remote(self) -> bool:
        """Whether the projects are others than the checked-out ones, or nothing is checked out here."""
        return self._names_others or not any(map(_holds_files, self._roots))

    @cached_property
    def _names_others(self) -> bool:
        try:
            return bool(self._named) and self._named != self._own_names
        except UsageError:
            return True

    def note_unsupported(self, question: str) -> tuple[Degraded, ...]:
        """The note of an answer that the local index gives because a store cannot; an error where nothing is checked out."""
        if self.remote:
            raise NeedsCheckout(
                Template("a shared store cannot answer {*}", question),
                "run it in a checkout of the project; lurcher search uses the store",
            )
        reason = Template("a shared store cannot answer {*}; the local checkout answered", question)
        return (Degraded("store", reason, ""),)

    @property
    def has_several(self) -> bool:
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
    def searcher(self) -> StoreSearcher:
        from lurcher.stores.search import StoreSearcher

        store = self.store
        with self._lock:
            if self._searcher is None:
                self._searcher = StoreSearcher(store, self.projects, self._settings, self.sparse)
            return self._searcher

    @cached_property
    def sparse(self) -> SparseEmbedder | None:
        """The service that makes sparse vectors; None where they are made of lurcher's own terms."""
        if self._settings.sparse.provider == "terms":  # then the client of the service need not be loaded
            return None
        from lurcher.vectors.service import make_sparse_embedder

        return make_sparse_embedder(self._settings)

    @property
    def identity(self) -> str:
        """Identifies the origin of an answer in cursors."""
        return "\0".join(("store", self._url, *self.projects))

    def close(self) -> None:
        with self._lock:
            store, self._store, self._searcher = self._store, None, None
        if store is not None and not self._borrowed:
            store.close()

    # -- what answers say about it ----------------------------------------------------------------------------------------

    def index_state(self, heads: Mapping[str, Head]) -> IndexState:
        """The state of the shared index. It is never called fresh, since the tree is not compared with it."""
        found = {
            name: {"generation": head.generation, "commit": head.commit, "written": head.written}
            for name, head in heads.items()
        }
        return IndexState(sum(head.generation for head in heads.values()), False, 0, shared=found)

    def commit_notes(self, heads: Mapping[str, Head]) -> tuple[Degraded, ...]:
        """A note where the local checkout is at another commit than the shared index."""
        if self.remote or self.has_several:
            return ()
        for root, head in zip(self._roots, heads.values(), strict=False):
            here = head_commit(root) if head.commit else ""
            if here and here != head.commit:
                reason = f"the shared index is at commit {head.commit[:10]}, and this checkout is at {here[:10]}"
                return (Degraded("freshness", reason, Template("update it: {index: store=URL}")),)
        return ()

    def add_context(self, problem: StoreError) -> StoreError:
        """The error with the store's address and the command to run added."""
        problem.tried = problem.tried or redact_url(self._url)
        if "lurcher doctor" not in problem.hint:
            hint = problem.hint if isinstance(problem.hint, Template) else problem.hint.rstrip(";")
            problem.hint = Template("{*}; {*}", hint, DOCTOR) if hint else DOCTOR
        return problem

    def fallback_note(self, problem: StoreError) -> Degraded:
        """The note of an answer that the local index gives because the store failed."""
        return Degraded("store", f"{problem.message}; the local index answered", self.add_context(problem).hint)

    # -- writing ----------------------------------------------------------------------------------------------------------

    def project_name(self, root: Path) -> str:
        """The name of the project that a checkout is written to."""
        if not self._named:
            return default_project_name(root)
        if len(self._named) != 1 or len(self._roots) != 1:
            hint = Template("name one folder and one project: {project=NAME}")
            raise UsageError("one folder becomes one project in a store", hint)
        return self._named[0]

    def sync(self, project: RootIndex, progress: Progress, *, rebuild: bool) -> dict[str, Any]:
        """Bring the project in the store up to date with the local index; returns what was done."""
        from lurcher.stores.sync import sync_project

        sparse = self.sparse
        name = self.project_name(project.root.path)
        view = project.view(progress, limited=False)
        try:
            before = self.store.head(name)
            if before is not None and before.files and not view.snapshot.file_count:
                raise UsageError(
                    f"there are no files here, but {before.files:,} in the project {name} of the store",
                    Template("run it in a checkout of the project; to remove the project: {index: clear}"),
                )
            done = sync_project(
                self.store, name, view, project.model, root=project.root.path.name, commit=head_commit(project.root.path),
                rebuild=rebuild, seconds=LOCK_SECONDS, progress=progress, folder=project.store,
                history=local_history(project), sparse=sparse,
            )  # fmt: skip
        except StoreError as problem:
            raise self.add_context(problem) from problem.__cause__
        return {
            **describe_head(name, done.head), "sent_files": done.put, "sent_units": done.units, "kept_files": done.kept,
            "removed_files": done.retired, "changed": done.changed,
        }  # fmt: skip

    def clear(self) -> bool:
        """Remove the project from the store; False where there was none."""
        dropped = False
        for root in self._roots:
            name = self.project_name(root)
            with self.store.writing(name, LOCK_SECONDS):
                dropped = self.store.drop(name) or dropped
        return dropped

    def status(self) -> dict[str, Any]:
        """What the store has of each project, or why that is not known."""
        found: list[dict[str, Any]] = []
        status: dict[str, Any] = {"store": redact_url(self._url), "projects": found}
        try:
            for name in self.projects:
                head = self.store.head(name)
                found.append({"project": name, "exists": False} if head is None else describe_head(name, head))
        except StoreError as problem:
            status.update(problem=problem.message, hint=self.add_context(problem).hint)
        return status


def list_projects(settings: Settings, here: Path) -> dict[str, Any]:
    """Every project of the store that the settings name, and what it has of each."""
    shared = find_shared_store(settings, [here])
    if shared is None:
        raise UsageError("no shared store is set", Template("name one: {store=URL}, or LURCHER_STORE"))
    try:
        heads = ((name, shared.store.head(name)) for name in shared.store.projects())
        projects = [describe_head(name, head) for name, head in heads if head is not None]
    except StoreError as problem:
        raise shared.add_context(problem) from problem.__cause__
    finally:
        shared.close()
    return {"store": redact_url(user_setting(settings, "store.url")), "projects": projects}


def local_history(project: RootIndex) -> LocalPart | None:
    """The index of a checkout's commits, to be sent; None where there is none. Nothing is indexed for it."""
    from lurcher.corpora.history.index import HistoryIndex
    from lurcher.stores.files import LocalPart

    if head_commit(project.root.path) == "":
        return None
    index = HistoryIndex.for_root(project)
    view = index.existing_view()
    if view is None:
        return None
    manifest = view.manifest
    about = json.dumps([manifest.head.sha, manifest.commits, manifest.total, list(manifest.outcomes), index.model.digest])
    opened = dict(zip(manifest.segments, (segment.container for segment in view.history.segments), strict=True))
    return LocalPart(about, manifest, index.store, opened)


def describe_head(name: str, head: Head) -> dict[str, Any]:
    return {
        "project": name, "exists": True, "generation": head.generation, "commit": head.commit, "written": head.written,
        "files": head.files, "units": head.units, "dims": head.dims,
        "commits": int(head.more["commits"]) if head.more.get("commits", "").isdecimal() else 0,
        "whole": "index_files" in head.more,
    }  # fmt: skip


def _holds_files(root: Path) -> bool:
    """Whether a folder has anything besides .git and lurcher's own files."""
    try:
        with os.scandir(root) as entries:
            return any(entry.name != ".git" and not entry.name.startswith(INDEX_FOLDER) for entry in entries)
    except OSError:
        return False


def head_commit(root: Path) -> str:
    """The commit of a checkout; empty where it is not known."""
    from lurcher.sources.git.refs import read_head

    found = read_head(root) if (root / ".git").exists() else None
    return found.sha if found is not None else ""


def check_project_name(name: str) -> str:
    """The name, if a project can have it."""
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"{name[:60]!r} cannot be the name of a project",
            "it may have letters, digits and . _ - + @ : /, for example acme/web",
        )
    return name


def split_project_names(setting: str) -> tuple[str, ...]:
    """Names in a setting, separated by commas or spaces."""
    return tuple(dict.fromkeys(check_project_name(name) for name in re.split(r"[,\s]+", setting) if name))


def default_project_name(root: Path) -> str:
    """Owner and name from the git remote, otherwise the name of the folder."""
    found = _remote_name(root) or root.name
    name = _NOT_IN_NAME.sub("-", found).strip("-/.")[:_MAX_NAME].strip("-/.")
    try:
        return check_project_name(name)
    except UsageError:
        raise UsageError(f"the name of {root} cannot be the name of a project", Template("name it: {project=NAME}")) from None


def _remote_name(root: Path) -> str | None:
    """The name in the address of `origin`, or of the only remote; read from .git/config without starting git."""
    from lurcher.sources.decode import read_regular
    from lurcher.sources.git.refs import find_repository

    found = find_repository(str(root))
    raw = read_regular(f"{found.common}/config", 1_000_000) if found is not None else ""
    if isinstance(raw, str):
        return None
    remotes: dict[str, str] = {}
    current = None
    for line in raw.decode("utf-8", "replace").splitlines():
        if line.lstrip().startswith("["):
            section = _REMOTE.match(line)
            current = section[1] if section else None
        elif current is not None and (url := _URL.match(line)):
            remotes.setdefault(current, url[1])
    chosen = remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else None)
    return name_in_url(chosen) if chosen else None


def name_in_url(url: str) -> str | None:
    """`git@host:owner/name.git`, `https://host/owner/name` → `owner/name`; None for a local path, which differs by machine."""
    if url.startswith(("/", ".", "file:")) or "\\" in url:
        return None
    _, scheme, rest = url.rpartition("://")
    if scheme:
        place = rest.partition("/")[2]
    elif ":" in rest:
        place = rest.partition(":")[2]
    else:
        return None
    parts = [part for part in place.split("?")[0].removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join(parts[-2:]) if parts else None


def store_health(settings: Settings, root: Path) -> Health | None:
    """How the store is doing, for `lurcher doctor`; None where no store is set."""
    from lurcher.inspect.doctor.services import SECONDS, Health, examine, timed

    url = settings.store.url
    if not url or url == LOCAL:
        return None

    def connect() -> Store:
        soon = settings.store.replace(seconds=min(settings.store.seconds, SECONDS))
        return store_at(user_setting(settings, "store.url"), settings.replace(store=soon))

    def inspect(opened: Store, about: Health, deadline: Deadline) -> Health:
        try:
            state, took = timed(opened.state)
        finally:
            opened.close()
        rest = ", ".join(f"{name} {value}" for name, value in state.items() if name not in _HEALTH_FIELDS)
        dims = state.get("dims", "")
        return replace(about, version=state.get("version", ""), model=state.get("model", ""), latency_ms=took,
                       state=one_line(rest), dims=int(dims) if dims.isdecimal() else 0)  # fmt: skip

    return examine(Health("store", url.partition("://")[0], redact_url(url)), connect, inspect)
