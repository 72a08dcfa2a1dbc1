"""The history index of one repository: opens it, compares it with HEAD, updates or repairs it, and gives views to search."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.outcomes import StoredVerdicts, compute_outcomes, rules_text
from lurcher.corpora.history.schema import COMMITS, HISTORY_FORMAT, HistoryManifest, make_fingerprint
from lurcher.corpora.history.snapshot import HistorySnapshot, open_snapshot
from lurcher.errors import CorruptIndex, IndexError_, IndexLocked, ModelError, PathError, Template
from lurcher.indexing import CurrentGeneration, StoredIndex
from lurcher.runtime.process import format_count
from lurcher.sources.git.log import LogSettings
from lurcher.sources.git.refs import Head, read_head
from lurcher.storage import IndexFolder, digest_root
from lurcher.storage.manifest import files_in_use
from lurcher.types import Degraded, Progress
from lurcher.vectors import Model

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.corpora.history.outcomes import Verdicts
    from lurcher.indexing.root_index import RootIndex


FOLDER = "history"
_LOCK_WAIT_SECONDS = 0.25
_SEED_ATTEMPTS = 3
_MIN_WEIGHT = 0.1
"""What the scores of a partial history are multiplied with at least."""


@dataclass(frozen=True)
class HistoryView:
    """A generation of the history index to search, and how it relates to HEAD."""

    history: HistorySnapshot
    manifest: HistoryManifest
    degraded: tuple[Degraded, ...]
    fresh: bool
    """Whether it was made for the current HEAD."""
    load_verdicts: Callable[[], Verdicts]
    shared: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Of a project in a shared store, what answers say about it."""

    @cached_property
    def verdicts(self) -> Verdicts:
        """What became of each indexed commit; loaded on first use."""
        return self.load_verdicts()

    @property
    def coverage(self) -> float | None:
        """The share of the history that is indexed; None for a shallow clone, whose full length is unknown."""
        return None if self.manifest.head.shallow and self.history.coverage == 1.0 else self.history.coverage

    @property
    def partial(self) -> bool:
        """Whether commits are still to be read, so that the right one may be missing; not where a setting leaves them out."""
        return not self.manifest.complete and self.history.coverage < 1.0

    @property
    def weight(self) -> float:
        """What scores are multiplied with, so that a partial history never looks sure; not so small that all look like 0."""
        return max(_MIN_WEIGHT, self.history.coverage) if self.partial else 1.0


class HistoryIndex(StoredIndex[HistoryManifest, HistorySnapshot]):
    """The index of one repository. Thread-safe: one lock around the life cycle; views are immutable and used without it."""

    batch = 1_000
    """Commits written together as one segment, after the newest 500; hand-set."""

    def __init__(self, top: Path, settings: Settings, folder: Path, model: Model, place: str | None = None) -> None:
        """`top` is a work tree or a bare repository; `folder` is where the index is, or will be.

        `place` identifies the repository if the folder is outside of it.
        """
        self.top = top
        self.settings = settings
        self.model = model
        self._place = place
        self.root_index: RootIndex | None = None
        """The index of the root, whose other work trees may have a history index to begin with."""
        root = top if folder.is_relative_to(top) else None
        around = IndexFolder(str(folder.parent), root=root)
        store = IndexFolder(str(folder), root=root, schema=COMMITS, format=HISTORY_FORMAT, within=around)
        super().__init__(
            store, CurrentGeneration(store, lambda: self.fingerprint, lambda: self.model.digest, open_snapshot)
        )
        self._verdicts: tuple[HistoryManifest, Verdicts] | None = None
        self.deferred = False
        """Whether the rest of a partial index is read in the background, so that a query need not read it."""

    @classmethod
    def for_root(cls, project: RootIndex) -> HistoryIndex:
        """The history index of a root, in the folder `history` inside of the root's index."""
        folder = project.store.folder / FOLDER
        place = None if folder.is_relative_to(project.root.path) else digest_root(project.root)
        index = cls(project.root.path, project.settings, folder, project.model, place)
        index.root_index = project
        return index

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What an index must match to be used. It has the folder's inode: an index that was checked in is not trusted."""
        place: int | str = self._place or 0
        if self._place is None:
            try:
                place = self.store.folder.stat().st_ino
            except OSError:
                place = 0
        log = self.log_settings
        print_ = make_fingerprint(self.model.digest, log.first_parent, log.merges, log.diff_bytes, log.secrets)
        return {**print_, "place": place}

    @property
    def log_settings(self) -> LogSettings:
        from lurcher.indexing.root_index import is_allowed

        history = self.settings.history
        return LogSettings(history.first_parent, history.merges, secrets=is_allowed(self.settings, "secrets"))

    def view(self, progress: Progress, *, refresh: bool = True, seconds: float | None = -1.0) -> HistoryView:
        """The current generation, after reading new commits for about `seconds` (None: all; negative: as configured).

        If there is no index yet, the newest commits are read however long that takes.
        """
        if seconds is not None and seconds < 0:
            seconds = self.settings.history.refresh_seconds
        with self._lock:
            try:
                return self._refresh(progress, refresh, seconds)
            except CorruptIndex:
                # The files of the generation in memory are gone from disk: read the manifest again.
                self.forget()
            try:
                return self._refresh(progress, refresh, seconds)
            except CorruptIndex as problem:
                return self._rebuild(progress, seconds, Degraded("history", f"{problem.message}; it was rebuilt", ""))

    def _refresh(self, progress: Progress, refresh: bool, seconds: float | None) -> HistoryView:
        notes: list[Degraded] = []
        if self.store.retry_writes():
            self.forget()
        head = self._head()
        manifest = self._generation.manifest(notes)
        left = self.deferred and manifest.generation and not manifest.complete and not self.store.write_error
        if (refresh or not manifest.generation) and not left and not self._is_up_to_date(manifest, head):
            manifest = self._update_unless_locked(manifest, head, seconds, progress, notes)
        if refresh and self._generation.was_relinked():
            self._renew_stamps()
        if seconds is None:
            self._remove_leftovers(manifest)
        manifest = self._with_vectors(manifest, progress, notes, refresh, seconds is not None)
        return self._make_view(manifest, head, notes)

    def existing_view(self) -> HistoryView | None:
        """The index as it is, whether or not HEAD has moved; None if there is none that can be used. Builds nothing."""
        with self._lock:
            manifest = self.current_manifest()
            return self._make_view(manifest, self._head(), []) if manifest.generation else None

    def _make_view(self, manifest: HistoryManifest, head: Head, notes: Sequence[Degraded]) -> HistoryView:
        history = self.open_snapshot(manifest)
        notes = (*notes, *self._notes(manifest, history, head))
        return HistoryView(history, manifest, notes, manifest.head == head, lambda: self._load_verdicts(manifest, history))

    def _notes(self, manifest: HistoryManifest, history: HistorySnapshot, head: Head) -> list[Degraded]:
        """What an answer should say about the coverage of the index."""
        notes = [*self._coverage_notes(manifest, history)]
        if manifest.head != head:
            notes.append(Degraded("history", "HEAD has moved since the history was indexed", Template("{run index: history}")))
        if head.shallow:
            # No hint: a shallow clone may be made on purpose, and then there is nothing to repair.
            reason = "the clone is shallow: what was committed before is not known (git fetch --unshallow brings it)"
            notes.append(Degraded("history", reason, ""))
        if 0 < manifest.outcomes.commits < history.commit_count and manifest.outcomes.rules == self._rules:
            missing = format_count(history.commit_count - manifest.outcomes.commits, "commit")
            reason = f"what became of {missing} is not known yet"
            notes.append(Degraded("outcomes", reason, Template("{run index: history}")))
        commits, paths, trees = manifest.losses
        if paths:
            notes.append(
                Degraded("history", f"this clone lacks {format_count(paths, 'file')} of {format_count(commits, 'commit')}", "")
            )
        if trees:
            notes.append(Degraded("history", f"this clone lacks what {format_count(trees, 'commit')} changed", ""))
        if self.store.write_error:
            hint = "set LURCHER_INDEX_DIR to a folder that can be written"
            notes.append(Degraded("history", f"the history index is kept in memory only: {self.store.write_error}", hint))
        return notes

    def _coverage_notes(self, manifest: HistoryManifest, history: HistorySnapshot) -> Iterator[Degraded]:
        if history.coverage == 1.0:
            return
        found, total = history.commit_count, history.total
        if manifest.complete and self.settings.history.max_commits:
            yield Degraded("history", f"{found:,} of {format_count(total, 'commit')} are indexed", "")
            return
        many = f" of {format_count(total, 'commit')}" if total else " commits"
        share = f" ({100 * found // total} %)" if total else ""
        reason = f"the newest {found:,}{many} are searched so far{share}"
        if self.deferred and not self.store.write_error:
            yield Degraded("history", f"{reason}; the rest is read in the background", "")
        else:
            yield Degraded("history", reason, Template("{run index: history}"))

    def rebuild(self, progress: Progress) -> HistoryView:
        """Build a new index from scratch; readers use the old one until the new one has its first commits."""
        with self._lock:
            return self._rebuild(progress, None)

    def _rebuild(self, progress: Progress, seconds: float | None, *notes: Degraded) -> HistoryView:
        head = self._head()
        with self.store.lock(self.settings.index.lock_seconds):
            empty = HistoryManifest(self._generation.number_on_disk(), self.fingerprint)
            manifest = self._update_index(empty, head, seconds, progress)
        collected = list(notes)
        manifest = self._with_vectors(manifest, progress, collected, True, seconds is not None)
        return self._make_view(manifest, head, collected)

    def _with_vectors(
        self, manifest: HistoryManifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
    ) -> HistoryManifest:
        """The manifest after missing vectors, and vectors of another model, were made by the model in use."""
        segments = self.open_snapshot(manifest).segments
        if not segments or self.model.problem is not None or (self.model.table is None and not self.model.textual):
            return manifest
        if not self.model.textual and all(segment.vectors is not None for segment in segments):
            return manifest
        from lurcher.corpora.history.build import COMMIT_VECTORS
        from lurcher.indexing.reembed import update_vectors

        return update_vectors(self, COMMIT_VECTORS, manifest, progress, notes, refresh, limited)

    def _head(self) -> Head:
        head = read_head(self.top)
        if head is None:
            raise PathError(f"{self.top} has no git history", "name a folder of a git repository")
        return head

    def path_in_head(self, path: str) -> str | None:
        """The path in HEAD of a file whose renaming is staged but not committed; None if it was not renamed."""
        from lurcher.sources import git

        arguments = ("diff-index", "--cached", "-M", "-z", "--name-status", "--diff-filter=R", "HEAD")
        status, output = git.finish(git.start(self.top, *arguments))
        names = output.decode("utf-8", "surrogateescape").split("\0")[:-1] if status == 0 else []
        renamed = {new: old for _, old, new in zip(names[::3], names[1::3], names[2::3], strict=False)}
        return renamed.get(path)

    def is_partial(self) -> bool:
        """Whether there is an index on disk in which commits are missing that are still to be read."""
        with self._lock:
            try:
                manifest = self.current_manifest()
            except IndexError_:
                return False
            return manifest.generation > 0 and not manifest.complete and not self.store.write_error

    def is_locked(self) -> bool:
        """Whether another process is writing."""
        try:
            with self.store.lock(0.0):
                return False
        except IndexLocked:
            return True

    def has_index(self) -> bool:
        """Whether there is a history index that can be searched."""
        with self._lock:
            try:
                return self.current_manifest().generation > 0
            except IndexError_:
                return False

    # Outcomes.

    @property
    def _rules(self) -> str:
        return rules_text(self.settings.outcomes)

    def stored_verdicts(self, manifest: HistoryManifest) -> Verdicts | None:
        """The stored outcomes of a generation; None if they are missing, damaged, or found by other rules."""
        if not manifest.outcomes.name or manifest.outcomes.rules != self._rules:
            return None
        try:
            return StoredVerdicts(self.store.open_file(manifest.outcomes.name, "outcomes"))
        except (IndexError_, OSError):
            return None

    def _load_verdicts(self, manifest: HistoryManifest, history: HistorySnapshot) -> Verdicts:
        """The outcomes of a generation: the stored ones, or computed again if these cannot be used."""
        with self._lock:
            if self._verdicts is None or self._verdicts[0] is not manifest:
                verdicts = self.stored_verdicts(manifest) or self._recompute_verdicts(manifest, history)
                self._verdicts = manifest, verdicts
            return self._verdicts[1]

    def _recompute_verdicts(self, manifest: HistoryManifest, history: HistorySnapshot) -> Verdicts:
        from lurcher.storage.container import Container
        from lurcher.storage.container_writer import ContainerWriter

        write, _ = compute_outcomes(self.store, self.top, manifest, history, self.settings.outcomes)
        pieces: list[bytes | memoryview] = []
        name = f"{write(ContainerWriter(pieces.append))}.outcomes"
        if name == manifest.outcomes.name:
            # The same content under the same name: replacing it does not disturb readers.
            with contextlib.suppress(IndexLocked), self.store.lock(0.0):
                self.store.put(write, "outcomes")
        return StoredVerdicts(Container(b"".join(pieces), name))

    def _repair_further(self, manifest: HistoryManifest, history: HistorySnapshot) -> bool:
        """Compute damaged outcomes again; False if they are not damaged."""
        if manifest.outcomes.rules != self._rules or self.stored_verdicts(manifest) is not None:
            return False
        self._recompute_verdicts(manifest, history)
        return True

    def _update_unless_locked(
        self, known: HistoryManifest, head: Head, seconds: float | None, progress: Progress, notes: list[Degraded]
    ) -> HistoryManifest:
        """Update the index; if another process does so, wait only if there is no index to search yet, or all is asked for.

        Waiting ends when the other has written nothing for `index.lock_seconds`.
        """
        seen = known.generation
        deadline = time.monotonic() + max(self.settings.index.lock_seconds, 0.0)
        wait = 0.0 if known.generation and seconds is not None else _LOCK_WAIT_SECONDS
        while True:
            try:
                with self.store.lock(wait):
                    manifest = self.current_manifest()
                    if not manifest.generation:
                        manifest = self._seed(notes) or manifest
                    if self._is_up_to_date(manifest, head):
                        return manifest
                    return self._update_index(manifest, head, seconds, progress)
            except IndexLocked as busy:
                manifest = self.current_manifest()
                if manifest.generation and seconds is not None:
                    notes.append(Degraded("history", busy.message, ""))
                    return manifest
                if manifest.generation != seen:
                    seen = manifest.generation
                    deadline = time.monotonic() + max(self.settings.index.lock_seconds, 0.0)
                    progress("reading history", manifest.commits, max(manifest.commits, manifest.total))
                if time.monotonic() >= deadline:
                    raise

    def _seed(self, notes: list[Degraded]) -> HistoryManifest | None:
        """Begin with the history index of another work tree; None where there is none of use. Under the lock."""
        if self.root_index is None or not self.store.writable:
            return None
        from lurcher.indexing.seed import seeding_indexes

        for other in map(HistoryIndex.for_root, seeding_indexes(self.root_index)):
            for _ in range(_SEED_ATTEMPTS):
                identity = other.identity()
                try:
                    found = other.read_from_disk()
                except (IndexError_, OSError) as problem:
                    notes.append(_describe_unshared(other, problem))
                    break
                if found is None:
                    break
                try:
                    self.store.link_from(other.store, files_in_use(found[0]))
                except CorruptIndex as problem:
                    if other.identity() != identity:
                        continue  # its writer has replaced what we were about to link
                    notes.append(_describe_unshared(other, problem))
                    break
                except OSError as error:
                    self.store.fall_back_to_memory(error)
                    return None
                manifest = found[0].replace(generation=1, fingerprint=self.fingerprint)
                self.commit(manifest)
                return manifest
        return None

    def _is_up_to_date(self, manifest: HistoryManifest, head: Head) -> bool:
        same_limit = manifest.max_commits == self.settings.history.max_commits
        same_rules = manifest.outcomes.rules == self._rules
        return manifest.generation > 0 and manifest.complete and same_limit and same_rules and manifest.head == head

    def _update_index(
        self, manifest: HistoryManifest, head: Head, seconds: float | None, progress: Progress
    ) -> HistoryManifest:
        # Imported here because most queries do not write.
        from lurcher.corpora.history.update import HistoryUpdate, UpdateSettings

        history = self.settings.history
        settings = UpdateSettings(self.log_settings, self.batch, history.max_commits, seconds, self.settings.outcomes)

        def write() -> HistoryManifest:
            update = HistoryUpdate(self.store, self.top, head, settings, self.fingerprint, self.model.table, progress)
            return update.run(manifest)

        try:
            updated = write()
        except ModelError as problem:
            # A model file is checked when it is read. If it is damaged, the index is built without vectors.
            self.model = self.model.with_problem(problem)
            updated = write()
        self._generation.adopt(updated)
        return updated


def _describe_unshared(other: HistoryIndex, problem: IndexError_ | OSError) -> Degraded:
    reason = problem.message if isinstance(problem, IndexError_) else f"it cannot be read: {problem.strerror}"
    return Degraded("history", f"the history index of {other.top} could not be shared: {reason}", "")


def history_status(project: RootIndex) -> dict[str, Any] | None:
    """What the index holds and how it relates to HEAD, read without changing anything; None if there is no repository.

    This is JSON output: fields may be added, but not renamed.
    """
    index = HistoryIndex.for_root(project)
    head = read_head(index.top)
    if head is None:
        return None
    try:
        found = index.read_from_disk()
    except IndexError_ as problem:
        return {"exists": False, "problem": problem.message, "hint": problem.hint}
    except OSError as error:
        return {"exists": False, "problem": f"cannot be read: {error.strerror}", "hint": "check the folder's permissions"}
    if found is None:
        return {"exists": False}
    manifest, history = found
    verdicts = index.stored_verdicts(manifest)
    segments: list[dict[str, Any]] = [
        {"name": name, "bytes": segment.container.size, "commits": int(segment.meta["commits"])}
        for name, segment in zip(manifest.segments, history.segments, strict=True)
    ]
    return {
        "exists": True,
        "generation": manifest.generation,
        "fresh": manifest.head == head,
        "complete": manifest.complete,
        "commits": history.commit_count,
        "total": history.total or (None if history.commit_count else 0),
        "coverage": None if head.shallow and history.coverage == 1.0 else round(history.coverage, 4),
        "shallow": bool(head.shallow),
        "hunks": history.hunk_count,
        "missing_files": manifest.losses[1],
        "outcomes": None if verdicts is None else verdicts.counts(),
        "bytes": sum(entry["bytes"] for entry in segments),
        "segments": segments,
    }
