"""The history of one repository and its index: opened, compared with HEAD, filled, read."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history import manifest as manifests
from lurcher.corpora.history.manifest import PastManifest, PastStore
from lurcher.corpora.history.outcomes.verdicts import rules_text
from lurcher.errors import CorruptIndex, IndexError_, IndexLocked, ModelError, OutdatedIndex, PathError, Template
from lurcher.runtime.light import cached_property
from lurcher.runtime.terminal import format_count
from lurcher.sources.git.log import LogSettings
from lurcher.sources.git.refs import Head, head_of
from lurcher.storage.manifest import FOLDER_TAG, NAME
from lurcher.types import Degraded, Progress
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.corpora.history.outcomes.verdicts import Verdicts
    from lurcher.corpora.history.reader import Past
    from lurcher.indexing.root_index import RootIndex

FOLDER = "history"
_ATTEMPTS = 5
_PAUSE = 0.25


@dataclass(frozen=True)
class PastView:
    """A generation of the history index to answer from, and how it relates to HEAD."""

    past: Past
    manifest: PastManifest
    degraded: tuple[Degraded, ...]
    fresh: bool
    """Whether this is the history of HEAD as it is now, as far as it is covered."""
    judge: Callable[[], Verdicts]

    @cached_property
    def verdicts(self) -> Verdicts:
        """What became of each commit, as far as the history was read."""
        return self.judge()

    @property
    def coverage(self) -> float | None:
        """The share of the history that is indexed; None where nobody knows how long that is."""
        return None if self.manifest.head.shallow and self.past.coverage == 1.0 else self.past.coverage


class PastProject:
    """Thread-safe: one lock around the life cycle, immutable views outside of it."""

    batch = 1_000
    """Commits written together as one segment, after the newest 500; hand-set."""

    def __init__(self, top: Path, settings: Settings, folder: Path, model: Model, place: str | None = None) -> None:
        """`top` is a work tree or a bare repository; `folder` is where the index goes, in a folder of an index or a new one.

        `place` says for which repository an index is that lies outside of it.
        """
        self.top = top
        self.settings = settings
        self.model = model
        self._place = place
        self.store = PastStore(str(folder), root=top if folder.is_relative_to(top) else None)
        self._lock = threading.RLock()
        self._view: tuple[PastManifest, Past] | None = None
        self._identity: tuple[int, int, int] | None = None
        self._verdicts: tuple[PastManifest, Verdicts] | None = None

    @classmethod
    def beside(cls, project: RootIndex) -> PastProject:
        """The history of a project, in a folder of its own inside of the project's index."""
        from lurcher.storage.folder import digest_root

        folder = project.store.folder / FOLDER
        place = None if folder.is_relative_to(project.root.path) else digest_root(project.root)
        return cls(project.root.path, project.settings, folder, project.model, place)

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What an index must have in common with us to be used; one that came with a repository is not believed."""
        place: int | str = self._place or 0
        if self._place is None:
            try:
                place = self.store.folder.stat().st_ino
            except OSError:
                place = 0
        log = self.log_settings
        print_ = manifests.fingerprint(self.model.digest, log.first_parent, log.merges, log.diff_bytes, log.secrets)
        return {**print_, "place": place}

    @property
    def log_settings(self) -> LogSettings:
        from lurcher.indexing.root_index import is_allowed

        history = self.settings.history
        return LogSettings(history.first_parent, history.merges, secrets=is_allowed(self.settings, "secrets"))

    def view(self, progress: Progress, *, refresh: bool = True, seconds: float | None = -1.0) -> PastView:
        """The current generation, after reading new commits for about as many seconds (None: all of them).

        Where there is no index yet, the newest commits are read whatever that takes.
        """
        if seconds is not None and seconds < 0:
            seconds = self.settings.history.refresh_seconds
        with self._lock:
            try:
                return self._look(progress, refresh, seconds)
            except CorruptIndex:
                # What we knew is gone from the disk: look again, afresh.
                self._view = self._identity = None
            try:
                return self._look(progress, refresh, seconds)
            except CorruptIndex as problem:
                return self._anew(progress, seconds, Degraded("history", f"{problem.message}; it was rebuilt", ""))

    def _look(self, progress: Progress, refresh: bool, seconds: float | None) -> PastView:
        notes: list[Degraded] = []
        if self.store.retry_writes():
            self._view = self._identity = None
        head = self._head()
        manifest = self._current(notes)
        if (refresh or not manifest.generation) and not self._is_done(manifest, head):
            manifest = self._update(manifest, head, seconds, progress, notes)
        manifest = self._with_vectors(manifest, progress, notes, refresh, seconds is not None)
        return self._seen(manifest, head, notes)

    def glance(self) -> PastView | None:
        """The index as it is, whatever HEAD is now; None where there is none that serves. Nothing is read or built."""
        with self._lock:
            manifest = self._current([])
            return self._seen(manifest, self._head(), []) if manifest.generation else None

    def _seen(self, manifest: PastManifest, head: Head, notes: Sequence[Degraded]) -> PastView:
        past = self._open(manifest)
        told = (*notes, *self._told(manifest, past, head))
        return PastView(past, manifest, told, manifest.head == head, lambda: self._judge(manifest, past))

    def _told(self, manifest: PastManifest, past: Past, head: Head) -> list[Degraded]:
        notes = []
        if manifest.head != head:
            notes.append(Degraded("history", "HEAD has moved since the history was indexed", Template("{run index: history}")))
        if head.shallow:
            # No hint: whoever indexes such a clone on purpose has nothing to mend.
            reason = "the clone is shallow: what was committed before is not known (git fetch --unshallow brings it)"
            notes.append(Degraded("history", reason, ""))
        if past.commit_count < past.total:
            reason = f"{past.commit_count:,} of {format_count(past.total, 'commit')} are indexed"
            limited = manifest.complete and self.settings.history.max_commits
            notes.append(Degraded("history", reason, "" if limited else Template("{run index: history}")))
        if 0 < manifest.judged.commits < past.commit_count and manifest.judged.rules == self._rules:
            reason = f"what became of {format_count(past.commit_count - manifest.judged.commits, 'commit')} is not known yet"
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

    def rebuild(self, progress: Progress) -> PastView:
        """A new index from nothing; the old one serves readers until the new one has its first commits."""
        with self._lock:
            return self._anew(progress, None)

    def _anew(self, progress: Progress, seconds: float | None, *notes: Degraded) -> PastView:
        self._view = None
        head = self._head()
        with self.store.lock(self.settings.index.lock_seconds):
            empty = PastManifest(self._generation_on_disk(), self.fingerprint)
            manifest = self._fill(empty, head, seconds, progress)
        told = list(notes)
        manifest = self._with_vectors(manifest, progress, told, True, seconds is not None)
        return self._seen(manifest, head, told)

    def _with_vectors(
        self, manifest: PastManifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
    ) -> PastManifest:
        """The index after its vectors were brought up to date, where they are not of the model in use or not all there."""
        segments = self._open(manifest).segments
        if not segments or self.model.problem is not None or (self.model.table is None and not self.model.textual):
            return manifest
        if not self.model.textual and all(segment.vectors is not None for segment in segments):
            return manifest
        from lurcher.corpora.history.vectors import COMMITS
        from lurcher.indexing.reembed import update_vectors

        return update_vectors(self, COMMITS, manifest, progress, notes, refresh, limited)

    def commit(self, manifest: PastManifest) -> None:
        """Make a manifest the index, under the lock that the caller holds."""
        self.store.commit_past(manifest)
        self._identity = self._disk_identity()
        self._view = None
        self._open(manifest)

    def open_snapshot(self, manifest: PastManifest) -> Past:
        """What a manifest holds, opened."""
        return self._open(manifest)

    def current_manifest(self) -> PastManifest:
        """The manifest as it is now, under the lock that the caller holds."""
        return self._current([])

    def _head(self) -> Head:
        head = head_of(self.top)
        if head is None:
            raise PathError(f"{self.top} has no git history", "name a folder of a git repository")
        return head

    def formerly(self, path: str) -> str | None:
        """What a file is called in HEAD that git's index has under another name: a rename that is not committed yet."""
        from lurcher.sources.git import command

        asked = ("diff-index", "--cached", "-M", "-z", "--name-status", "--diff-filter=R", "HEAD")
        status, output = command.finish(command.start(self.top, *asked))
        names = output.decode("utf-8", "surrogateescape").split("\0")[:-1] if status == 0 else []
        renamed = {new: old for _, old, new in zip(names[::3], names[1::3], names[2::3], strict=False)}
        return renamed.get(path)

    def repair(self, progress: Progress) -> bool:
        """Build anew what is damaged on disk; False where every byte is as it should be."""
        with self._lock:
            self._view = self._identity = None
            try:
                opened = self._read()[1]
                if opened is None:
                    return False
                for segment in opened[1].segments:
                    segment.check_tables()
                    segment.container.verify()
                return self._forget_damaged(opened[0]) or self._mended(*opened)
            except (OutdatedIndex, CorruptIndex):
                self.rebuild(progress)
                return True

    def _forget_damaged(self, manifest: PastManifest) -> bool:
        """Leave out vectors that are damaged, which are then made anew; False where all are sound."""
        vectors = self.store.without_damaged(manifest.vectors)
        if vectors == manifest.vectors:
            return False
        with self.store.lock(self.settings.index.lock_seconds):
            self.commit(replace(manifest, generation=manifest.generation + 1, vectors=vectors))
        return True

    def clear(self) -> bool:
        """Remove the index. True if there was one."""
        with self._lock:
            self._view = self._identity = None
            if not (self.store.folder / FOLDER_TAG).exists():
                return False
            try:
                with self.store.lock(self.settings.index.lock_seconds):
                    return self.store.clear_past()
            except OSError as error:
                raise IndexError_(
                    f"the history index in {self.store.folder} cannot be removed: {error.strerror}",
                    "check the folder's permissions",
                ) from error

    def has_index(self) -> bool:
        """Whether there is a history index to answer from."""
        with self._lock:
            if self._view is not None:
                return self._view[0].generation > 0
            try:
                return self.store.read_past(self.fingerprint) is not None
            except (IndexError_, OSError):
                return False

    # Outcomes.

    @property
    def _rules(self) -> str:
        return rules_text(self.settings.outcomes)

    def kept_verdicts(self, manifest: PastManifest) -> Verdicts | None:
        """The outcomes that are kept with a generation; None where there are none that are sound and found by our rules."""
        from lurcher.corpora.history.outcomes.store import KeptVerdicts

        if not manifest.judged.name or manifest.judged.rules != self._rules:
            return None
        try:
            return KeptVerdicts(self.store.outcomes(manifest.judged.name))
        except (IndexError_, OSError):
            return None

    def _judge(self, manifest: PastManifest, past: Past) -> Verdicts:
        """The outcomes of a generation: looked up, or found out again where they are damaged or go by other rules."""
        with self._lock:
            if self._verdicts is None or self._verdicts[0] is not manifest:
                found = self.kept_verdicts(manifest) or self._judged_again(manifest, past)
                self._verdicts = manifest, found
            return self._verdicts[1]

    def _judged_again(self, manifest: PastManifest, past: Past) -> Verdicts:
        from lurcher.corpora.history.outcomes.build import outcomes_of
        from lurcher.corpora.history.outcomes.store import KeptVerdicts
        from lurcher.storage.container import Container
        from lurcher.storage.container_writer import ContainerWriter

        fill, _ = outcomes_of(self.store, self.top, manifest, past, self.settings.outcomes)
        pieces: list[bytes | memoryview] = []
        name = f"{fill(ContainerWriter(pieces.append))}.outcomes"
        if name == manifest.judged.name:
            # The same again, under the same name: whoever reads it meanwhile reads the same.
            with contextlib.suppress(IndexLocked), self.store.lock(0.0):
                self.store.put(fill, "outcomes")
        return KeptVerdicts(Container(b"".join(pieces), name))

    def _mended(self, manifest: PastManifest, past: Past) -> bool:
        """Make outcomes anew that are damaged; False where they are sound."""
        if manifest.judged.rules != self._rules or self.kept_verdicts(manifest) is not None:
            return False
        self._judged_again(manifest, past)
        return True

    def read_from_disk(self) -> tuple[PastManifest, Past] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._read()[1]

    def _update(
        self, seen: PastManifest, head: Head, seconds: float | None, progress: Progress, notes: list[Degraded]
    ) -> PastManifest:
        """Fill the index; another process that does so is waited for only where there is nothing to answer from yet."""
        deadline = time.monotonic() + max(self.settings.index.lock_seconds, 0.0)
        wait = 0.0 if seen.generation and seconds is not None else _PAUSE
        while True:
            try:
                with self.store.lock(wait):
                    manifest = self._current([])
                    if self._is_done(manifest, head):
                        return manifest
                    return self._fill(manifest, head, seconds, progress)
            except IndexLocked as busy:
                manifest = self._current([])
                if manifest.generation and seconds is not None:
                    notes.append(Degraded("history", busy.message, ""))
                    return manifest
                if time.monotonic() >= deadline:
                    raise

    def _is_done(self, manifest: PastManifest, head: Head) -> bool:
        as_wanted = manifest.most == self.settings.history.max_commits
        as_judged = manifest.judged.rules == self._rules
        return manifest.generation > 0 and manifest.complete and as_wanted and as_judged and manifest.head == head

    def _fill(self, manifest: PastManifest, head: Head, seconds: float | None, progress: Progress) -> PastManifest:
        # Writing needs what reads git and counts terms; most queries do not write.
        from lurcher.corpora.history.fill import FillSettings, fill

        history = self.settings.history
        settings = FillSettings(self.log_settings, self.batch, history.max_commits, seconds, self.settings.outcomes)

        def write() -> PastManifest:
            return fill(self.store, self.top, manifest, head, settings, self.fingerprint, self.model.table, progress)

        try:
            filled = write()
        except ModelError as problem:
            # A model file is checked as it is read: without it there is an index still, just without vectors.
            self.model = self.model.broken(problem)
            filled = write()
        self._identity = self._disk_identity()
        self._view = None
        return filled

    def _current(self, notes: list[Degraded]) -> PastManifest:
        """The manifest on disk (or in memory where nothing can be written); an empty one where there is none that fits."""
        if self._view is not None and (not self.store.writable or self._identity == self._disk_identity()):
            return self._view[0]
        try:
            self._identity, opened = self._read()
        except (OutdatedIndex, CorruptIndex) as problem:
            notes.append(Degraded("history", f"{problem.message}; it was rebuilt", ""))
            self._identity, opened = self._disk_identity(), None
        except OSError as error:
            raise IndexError_(
                f"the history index in {self.store.folder} cannot be read: {error.strerror}",
                "check its permissions, or set LURCHER_INDEX_DIR to another folder",
            ) from error
        if opened is None:
            self._view = None
            return PastManifest(0, self.fingerprint)
        self._view = opened
        return opened[0]

    def _read(self) -> tuple[tuple[int, int, int] | None, tuple[PastManifest, Past] | None]:
        """The index on disk with the identity of its manifest; a writer may replace both while we look."""
        from lurcher.corpora.history.reader import open_past

        for attempt in range(_ATTEMPTS):
            identity = self._disk_identity()
            try:
                manifest = self.store.read_past(self.fingerprint)
                return identity, None if manifest is None else (manifest, open_past(self.store, manifest, self.model.digest))
            except CorruptIndex:
                if attempt == _ATTEMPTS - 1 or identity == self._disk_identity():
                    raise
        raise AssertionError("the last attempt returns or raises")

    def identity(self) -> tuple[int, int, int] | None:
        """Another value whenever the index has been written; None where there is none on disk."""
        return self._disk_identity()

    def _disk_identity(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self.store.folder / NAME)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _generation_on_disk(self) -> int:
        try:
            manifest = self.store.read_past(self.fingerprint)
        except (IndexError_, OSError):
            return 0
        return manifest.generation if manifest else 0

    def _open(self, manifest: PastManifest) -> Past:
        from lurcher.corpora.history.reader import open_past

        if self._view is None or self._view[0] is not manifest:
            self._view = (manifest, open_past(self.store, manifest, self.model.digest))
        return self._view[1]
