"""Projects of a store as a workspace: corpora and inspections read them as they read folders, without a checkout.

    SharedWorkspace   in the place of the folders that an engine was opened for
    SharedIndex       in the place of the index of a folder
    SharedHistory     in the place of the index of its commits

Every question begins with the heads of its projects. What was read of a generation is kept for the next question.
"""

from __future__ import annotations

import posixpath
from _thread import RLock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from lurcher.corpora.history.index import HistoryIndex, HistoryView
from lurcher.corpora.history.schema import COMMITS, HISTORY_FORMAT
from lurcher.corpora.history.snapshot import open_snapshot as open_history
from lurcher.errors import CorruptIndex, PathError, StoreError, Template, UsageError
from lurcher.indexing import View
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.workspace import Workspace
from lurcher.sources import Root
from lurcher.storage import open_snapshot
from lurcher.stores.base import StoreChanged
from lurcher.stores.files import CODE, HISTORY, BlockReader, Layout, StoredFolder
from lurcher.stores.records import damaged_error
from lurcher.types import Degraded, Progress, silent

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.corpora.history.outcomes import Verdicts
    from lurcher.corpora.history.schema import HistoryManifest
    from lurcher.corpora.history.snapshot import HistorySnapshot
    from lurcher.indexing.freshness import BackgroundCheck
    from lurcher.sources.git.refs import Head as GitHead
    from lurcher.stores.base import Head
    from lurcher.stores.shared import SharedStore
    from lurcher.vectors import Model

    Result = TypeVar("Result")

_ATTEMPTS = 3
"""How often a question is asked whose project is replaced meanwhile."""


class SharedIndex(RootIndex):
    """The index of a project in a store; nothing changes it here. Thread-safe."""

    store: StoredFolder

    def __init__(self, shared: SharedStore, project: str, settings: Settings, model: Model) -> None:
        self._shared, self.project = shared, project
        self.settings, self.model, self.index_dir = settings, model, None
        self.reader = BlockReader(shared.store, project)
        self.store = StoredFolder(self.reader)
        self.root = Root(f"/{project}", False, "")
        self.monitor = None
        self._lock = RLock()
        self._layout = Layout()
        self._head: Head | None = None
        self._view: View | None = None

    def open(self, head: Head) -> None:
        """Read the generation of this head from now on."""
        with self._lock:
            if self._head == head:
                return
            layout = self.reader.read_layout(head.generation)
            self._head, self._layout, self._view = head, layout, None
            # The name of the folder is known in questions, as it is in a checkout.
            self.root = Root("/".join(("", self.project, head.more.get("root", ""))).rstrip("/"), False, "")
            self.reader.open(head.generation, layout)

    @property
    def head(self) -> Head:
        assert self._head is not None, "a question begins with `open`"
        return self._head

    @property
    def about(self) -> dict[str, dict[str, Any]]:
        """What answers say about it."""
        return self._shared.index_state({self.project: self.head}).shared

    @property
    def layout(self) -> Layout:
        return self._layout

    def view(
        self, progress: Progress, *, refresh: bool = True, limited: bool = True, check: bool = True, needs_vectors: bool = True
    ) -> View:
        with self._lock:
            if self._view is None:
                part = self._layout.parts.get(CODE)
                if part is None:
                    raise damaged_error("list of files")
                manifest = self.store.read_manifest(part).replace(generation=self.head.generation)
                snapshot = open_snapshot(self.store, manifest, self.model.digest)
                notes = self._shared.commit_notes({self.project: self.head})
                self._view = View(snapshot, manifest, 0, notes, checked=False, shared=self.about)
            return self._view

    def optimistic_view(self, needs_vectors: bool) -> tuple[View, BackgroundCheck] | None:
        return None

    def prefetch_check(self) -> None:
        """There is no tree to check."""

    def is_unchanged(self) -> bool:
        return False

    def has_index(self) -> bool:
        return True

    def is_trusted(self) -> bool:
        return False

    def can_write(self) -> bool:
        return False

    def close(self) -> None:
        self._view = None

    def check_breadth(self) -> None:
        """Nothing is indexed here."""

    def repair(self, progress: Progress) -> bool:
        return False

    def rebuild(self, progress: Progress) -> NoReturn:
        raise UsageError(f"{self.project} is in a store, which questions do not change", Template("{run index: store=URL}"))


class SharedHistory(HistoryIndex):
    """The index of the commits of a project in a store."""

    store: StoredFolder

    def __init__(self, index: SharedIndex) -> None:
        self._index = index
        self.top, self.settings, self.model = index.root.path, index.settings, index.model
        self.store = StoredFolder(index.reader, COMMITS, HISTORY_FORMAT)
        self._lock = RLock()
        self._verdicts: tuple[HistoryManifest, Verdicts] | None = None
        self._known: tuple[str, HistoryManifest, HistorySnapshot] | None = None

    def view(self, progress: Progress, *, refresh: bool = True, seconds: float | None = -1.0) -> HistoryView:
        part = self._index.layout.parts.get(HISTORY)
        if part is None:
            raise PathError(
                f"the store has no commits of {self._index.project}",
                Template("in a checkout of it: {index: history store=URL}"),
            )
        with self._lock:
            if self._known is None or self._known[0] != part.manifest:
                manifest = self.store.read_manifest(part)
                self._known = part.manifest, manifest, open_history(self.store, manifest, self.model.digest)
            _, manifest, history = self._known
        notes = (
            *self._index.view(progress).degraded, *self._age_notes(manifest), *self._notes(manifest, history, manifest.head)
        )  # fmt: skip
        return HistoryView(
            history, manifest, notes, False, lambda: self._load_verdicts(manifest, history), self._index.about
        )

    def _age_notes(self, manifest: HistoryManifest) -> Iterator[Degraded]:
        """Says so where the code was sent after the commits, so that the newest of them are missing."""
        code, commits = self._index.head.commit, manifest.head.sha
        if code and commits and code != commits:
            reason = f"the commits of {self._index.project} in the store end at {commits[:10]}, and its code is at {code[:10]}"
            yield Degraded("history", reason, Template("in a checkout of it: {index: history store=URL}"))

    def existing_view(self) -> HistoryView | None:
        return self.view(silent) if self.has_index() else None

    def has_index(self) -> bool:
        return HISTORY in self._index.layout.parts

    def is_trusted(self) -> bool:
        return False

    def path_in_head(self, path: str) -> str | None:
        return None

    def _head(self) -> GitHead:
        return self._known[1].head if self._known is not None else super()._head()

    def _recompute_verdicts(self, manifest: HistoryManifest, history: HistorySnapshot) -> Verdicts:
        raise StoreError(
            f"the outcomes of commits of {self._index.project} were found by other rules than are set here",
            "use the same settings of [outcomes] as whoever wrote the project",
        )


class SharedWorkspace(Workspace):
    """Some projects of a store, in the place of folders."""

    projects: list[SharedIndex]  # type: ignore[assignment]

    def __init__(self, shared: SharedStore, local: Workspace) -> None:
        self._shared, self._local = shared, local
        projects = [SharedIndex(shared, name, local.projects[0].settings, local.model) for name in shared.projects]
        own = not shared.remote and not shared.has_several
        super().__init__(projects, local.prefixes if own else dict.fromkeys(range(len(projects))))
        self._own = own

    def open_history(self, project: RootIndex) -> HistoryIndex:
        assert isinstance(project, SharedIndex)
        return SharedHistory(project)

    @property
    def home(self) -> str:
        return self._local.home

    def labels(self) -> list[str]:
        return self._shared.searcher.labels()

    def _open(self) -> None:
        """Read the newest generation of every project."""
        heads = self._shared.searcher.heads()
        for project in self.projects:
            project.open(heads[project.project])

    def views(self, progress: Progress, *, refresh: bool = True, check: bool = True, needs_vectors: bool = True) -> list[View]:
        return [project.view(progress) for project in self.projects]

    def with_repair(self, work: Callable[[tuple[Degraded, ...]], Result], progress: Progress) -> Result:
        """Runs `work`; once more if a project was written meanwhile. What a store has cannot be repaired here."""
        for attempt in range(_ATTEMPTS):
            for project in self.projects:
                project.reader.begin()
            try:
                self._open()
                return work(())
            except StoreError as problem:
                if not isinstance(problem, StoreChanged) or attempt == _ATTEMPTS - 1:
                    raise self._shared.add_context(problem) from problem.__cause__
            except CorruptIndex as problem:
                raise self._shared.add_context(damaged_error(f"index: {problem.message}")) from problem
            except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as problem:
                # Checksums can be right and numbers wrong: whoever can write to a store can put there what they like.
                raise self._shared.add_context(damaged_error("index: it holds what cannot be")) from problem
        raise AssertionError("unreachable")

    def candidate_paths(self, path: str | Path) -> tuple[str, ...]:
        if self._own:
            return self._local.candidate_paths(path)
        asked = posixpath.normpath(str(path))
        if "\0" in asked or Path(path).is_absolute():
            raise PathError(f"{str(path)[:200]!r} is no path of the project", "name a file as hits do")
        return ("" if asked == "." else asked,)

    def name_of(self, path: Path) -> str:
        return self._local.name_of(path)

    def locate(self, path: str) -> Path:
        """The file in the checkout here; of a project without one, its path as a hit has it."""
        return self._local.locate(path) if self._own else Path(path)
