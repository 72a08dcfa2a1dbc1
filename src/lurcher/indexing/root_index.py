"""One root and its index: opened, compared with the tree, brought up to date, read."""

from __future__ import annotations

import os
import time
from _thread import RLock

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import (
    BroadRoot,
    ConfigError,
    CorruptIndex,
    IndexError_,
    IndexLocked,
    ModelError,
    OutdatedIndex,
    PathError,
    RootGone,
    Template,
)
from lurcher.indexing.freshness import (
    BackgroundCheck,
    Changes,
    check_tree,
    compare_listing,
    count_differing,
    count_stale,
    settle_signature,
)
from lurcher.languages.installed import outdated
from lurcher.runtime.fastjson import blake2b
from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass, replace, suppress
from lurcher.runtime.paths import exists, is_inside
from lurcher.sources.files import FilesSettings, Listing, circumstances, list_files
from lurcher.sources.roots import INDEX_FOLDER, Root, breadth
from lurcher.storage import manifest as manifests
from lurcher.storage.folder import IndexFolder, open_snapshot
from lurcher.storage.manifest import FOLDER_TAG, UNREADABLE, Manifest
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, Progress
from lurcher.vectors.model import Model, model_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from lurcher.sources.decode import Skip, Text

_MAX_READS = 5
STAT_CHECK = "glance"
"""How files were looked at that needed no listing."""
_CHECKS_BEFORE_MONITOR = 4
"""Looks of one process at a tree after which it is worth watching."""
_MAX_UPDATES = 3
UNCHECKED = Degraded("freshness", "the tree was not compared with the index", "")
_LONG_UPDATE_SECONDS = 0.5
"""After an update that took longer, the tree is looked at again before it is called fresh."""


@dataclass(frozen=True, slots=True)
class View:
    """A generation to answer from, and how it relates to the tree right now."""

    snapshot: Snapshot
    manifest: Manifest
    stale_paths: int
    degraded: tuple[Degraded, ...]
    checked: bool = True
    """Whether the tree was compared with the index at all."""


class ChangeMonitor(Protocol):
    """Somebody who knows whether a tree is as it was when it was last looked at."""

    def is_unchanged(self) -> bool: ...

    def start_check(self) -> None:
        """A look begins."""

    def finish_check(self, manifest: Manifest, circumstances: str) -> None:
        """It is over, and the tree is as `manifest` has it."""

    def close(self) -> None: ...


class RootIndex:
    """Thread-safe: one lock around the life cycle, immutable views outside of it."""

    def __init__(
        self, root: Root, settings: Settings, index_dir: Path | None = None, model: Model | None = None
    ) -> None:
        self.root = root
        self.settings = settings
        self.model = model_of(settings, root.place) if model is None else model
        self.index_dir = index_dir
        """Where the index was asked to be, whatever the settings say."""
        folder = _index_folder(root, settings) if index_dir is None else str(index_dir)
        if exists(folder) and not os.path.isdir(folder):
            raise PathError(f"the index folder {folder} is a file", "remove it, or set LURCHER_INDEX_DIR to a folder")
        self.store = IndexFolder(folder, root=root.place if is_inside(folder, root.place) else None)
        self._lock = RLock()
        self._view: tuple[Manifest, Snapshot] | None = None
        self._identity: tuple[int, int, int] | None = None
        self._last: tuple[int, tuple[bool, bool, bool, bool], View] | None = None
        self.monitor: ChangeMonitor | None = None
        """Where a tree is watched, not every question has to look at it."""
        self._checks = 0
        self._unchanged_view: tuple[bool, View] | None = None
        """What the last look found, and whether it was for needs_vectors, if the watch can tell whether it still holds."""
        self._cached_notes: tuple[Manifest, tuple[Degraded, ...]] | None = None
        """What `_lasting` has to say of a manifest."""
        self._prefetched: tuple[View, BackgroundCheck] | None = None
        """What `ahead` will give, where somebody began to look before the question was asked."""

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What an index must have in common with us to be used.

        One inside of the tree is good only in the very folder that it was made in: a repository may come with an index
        that shows other text than its files have, and only the folder's number in the file system cannot be forged.
        """
        place: int | str = 0
        if not is_inside(self.store.place, self.root.place):
            place = digest_root(self.root)
        else:
            with suppress(OSError):
                place = os.stat(self.store.place).st_ino
        print_ = manifests.make_fingerprint(
            self.settings.index.chunk_chars, self.model.digest, is_allowed(self.settings, "secrets")
        )
        return {**print_, "place": place}

    def view(
        self,
        progress: Progress,
        *,
        refresh: bool = True,
        limited: bool = True,
        check: bool = True,
        needs_vectors: bool = True,
    ) -> View:
        """The current generation, after indexing what changed, if that is little enough or `limited` is false.

        Without `check` the tree is not looked at, where there is an index to answer from. Without
        `needs_vectors` missing vectors are not made.
        """
        asked = time.monotonic_ns()
        wanted = (refresh, limited, check, needs_vectors)
        with self._lock:
            # Whoever waited for a look that began after being asked has what that look found.
            if self._last is not None and self._last[0] >= asked and self._last[1] == wanted:
                return self._last[2]
            # Without a look nothing is said of the tree, however often it was asked about before.
            if (
                check
                and self._unchanged_view is not None
                and (self._unchanged_view[0] or not needs_vectors)
                and self.is_unchanged()
            ):
                return self._unchanged_view[1]
            began = time.monotonic_ns()
            self._unchanged_view = None
            if check:
                self._count_check()
            if self.monitor is not None:
                self.monitor.start_check()
            try:
                view = self._refresh_view(progress, *wanted)
            except CorruptIndex:
                # What we knew is gone from the disk, as after a checkout of a tree that holds its index: look again, afresh.
                self._view = self._identity = None
                view = self._refresh_view(progress, *wanted)
            self._last = (began, wanted, view)
            steady = view.checked and not view.stale_paths and view.degraded == self._persistent_notes(view.manifest)
            if self.monitor is not None and steady:
                self._unchanged_view = (needs_vectors, view)
                self.monitor.finish_check(view.manifest, circumstances(self.root, listing_settings(self.settings)))
            return view

    def optimistic_view(self, needs_vectors: bool) -> tuple[View, BackgroundCheck] | None:
        """The view that the tree will turn out to have if nothing changed, and the look that tells; None where that is open.

        Most questions find the tree as it was, and are answered while the files are looked at.
        """
        with self._lock:
            begun, self._prefetched = self._prefetched, None
            if begun is not None:
                return begun if not needs_vectors or self._has_vectors(begun[0].manifest) else None
            if self.monitor is None:
                self._count_check()
            if self.monitor is not None or not self.store.writable:
                return None
            notes: list[Degraded] = []
            manifest = self._current(notes)
            if notes or not manifest.generation or manifest.is_partial or (needs_vectors and not self._has_vectors(manifest)):
                return None
            settings = listing_settings(self.settings)
            look = BackgroundCheck.start(manifest, self.root.place, circumstances(self.root, settings), settings.max_file_bytes)
            return None if look is None else (View(self._open(manifest), manifest, 0, self._all_notes(manifest)), look)

    def _count_check(self) -> None:
        """A tree that is looked at again and again is watched from then on, where the system can tell of changes in time."""
        self._checks += 1
        if self._checks == _CHECKS_BEFORE_MONITOR and self.monitor is None:
            from lurcher.indexing.inotify import InotifyMonitor

            with suppress(OSError):
                self.monitor = InotifyMonitor(self.root.path)

    def close(self) -> None:
        """Nobody asks any more, as far as we know."""
        with self._lock:
            if self.monitor is not None:
                self.monitor.close()

    def prefetch_check(self) -> None:
        """Begin to look at the tree for a question that is about to be asked; what hinders that will be told then."""
        with suppress(IndexError_, OSError), self._lock:
            self._prefetched = self.optimistic_view(needs_vectors=False)

    def is_unchanged(self) -> bool:
        """Whether the tree and its index are known to be as they were found, without a look at the files."""
        with self._lock:
            return (
                self._unchanged_view is not None
                and self.monitor is not None
                and not self.was_replaced()
                and self.monitor.is_unchanged()
            )

    def _refresh_view(self, progress: Progress, refresh: bool, limited: bool, check: bool, needs_vectors: bool) -> View:
        notes: list[Degraded] = []
        if self.store.retry_writes():
            self._view = self._identity = None
        manifest = self._current(notes)
        if not check and manifest.generation:
            if manifest.is_partial:
                from lurcher.indexing.first_build import partial_index_note

                notes.append(partial_index_note(manifest))
            notes.append(UNCHECKED)
            return View(self._open(manifest), manifest, 0, (*notes, *self._persistent_notes(manifest)), checked=False)
        if not manifest.generation:
            self.check_breadth()
            self._prepare_folder()
        locked: Degraded | None = None
        for _ in range(_MAX_UPDATES):
            listing, changes = self._compare(manifest)
            # A tree without a single file gets its first generation too: without one there would be nothing to come back to.
            if not changes and manifest.generation and not (refresh and manifest.is_partial):
                manifest = self._with_listing_counts(manifest, listing)
                if refresh:
                    manifest = self._save_signature(manifest, listing)
                break
            if manifest.generation and not (refresh and self._is_small_change(manifest, changes, limited)):
                break
            began = time.monotonic()
            try:
                manifest = self._update(manifest, listing, changes, progress, self._read_deadline(manifest, limited))
            except IndexLocked as busy:
                if manifest.generation == 0:
                    raise
                locked = Degraded("freshness", busy.message, busy.hint)
                break
            if manifest.is_partial:
                break
            manifest = self._with_listing_counts(manifest, listing)
            changes = Changes((), ())
            if time.monotonic() - began < _LONG_UPDATE_SECONDS:
                break
        if not limited:
            self._remove_leftovers(manifest)
        if needs_vectors:
            manifest = self._with_vectors(manifest, progress, notes, refresh, limited)
        if manifest.is_partial:
            from lurcher.indexing.first_build import find_waiting, partial_index_note

            waiting = find_waiting(manifest, changes)
            notes += [locked] if locked else []
            return View(
                self._open(manifest),
                manifest,
                len(waiting),
                (*notes, partial_index_note(manifest, waiting), *self._all_notes(manifest)),
            )
        behind = self.count_stale(manifest, changes) if changes else 0
        if behind:
            from lurcher.runtime.plural import format_count

            notes += [locked] if locked else []
            reason = f"{format_count(behind, 'file')} changed since the index was made"
            notes.append(Degraded("freshness", reason, "run: lurcher index"))
        return View(self._open(manifest), manifest, behind, (*notes, *self._all_notes(manifest)))

    def _with_listing_counts(self, manifest: Manifest, listing: Listing) -> Manifest:
        """The manifest with what the tree has now that is left out unread: that alone makes no new generation."""
        if listing.method == STAT_CHECK or manifest.is_partial:
            return manifest
        if (listing.skipped, listing.examples) == (manifest.skipped, manifest.examples):
            return manifest
        newer = replace(manifest, skipped=listing.skipped, examples=listing.examples)
        self._view = (newer, self._open(manifest))
        return newer

    def _persistent_notes(self, manifest: Manifest) -> tuple[Degraded, ...]:
        """What is to be said of a tree as long as it stays as it is."""
        if self._cached_notes is None or self._cached_notes[0] is not manifest:
            self._cached_notes = manifest, ()
            if manifest.skipped.get(UNREADABLE, 0) or manifest.has_skipped(UNREADABLE):
                from lurcher.indexing.coverage import unreadable_notes

                self._cached_notes = manifest, unreadable_notes(manifest)
        return self._cached_notes[1]

    def _all_notes(self, manifest: Manifest) -> tuple[Degraded, ...]:
        return (*self._persistent_notes(manifest), *self._write_error_notes())

    def _write_error_notes(self) -> tuple[Degraded, ...]:
        if not self.store.write_error:
            return ()
        hint = "set LURCHER_INDEX_DIR to a folder that can be written"
        return (Degraded("index", f"the index is kept in memory only: {self.store.write_error}", hint),)

    def _is_small_change(self, manifest: Manifest, changes: Changes, limited: bool) -> bool:
        """Files whose time stamp is merely not to be trusted yet are read again, however many: that happens once."""
        limit = self.settings.index.refresh_limit
        return not limited or manifest.is_partial or limit < 0 or count_differing(manifest, changes) <= limit

    def _read_deadline(self, manifest: Manifest, limited: bool) -> float | None:
        """When files are no longer taken up, on the monotonic clock, where a first index is made for a question."""
        seconds = self.settings.index.first_answer_seconds
        if not limited or not seconds or (manifest.generation and not manifest.is_partial):
            return None
        from lurcher.indexing.first_build import READ_SHARE

        return time.monotonic() + READ_SHARE * seconds

    def _prepare_folder(self) -> None:
        """The folder of the index is made before the tree is looked at, since that changes the folder around it."""
        self._check_root()
        try:
            self.store.prepare()
        except OSError as error:
            self.store.fall_back_to_memory(error)

    def _check_root(self) -> None:
        """A tree that is not there has no files, but that is no answer to any question; it may come back."""
        if not os.path.isdir(self.root.place):
            raise RootGone(f"{self.root.place} is gone", "questions are answered again once it is back")

    def can_write(self) -> bool:
        """Whether there is a place for the index on disk."""
        self.check_breadth()
        with self._lock:
            self._prepare_folder()
            return self.store.writable

    def rebuild(self, progress: Progress) -> View:
        """A new index from nothing; the old one serves readers until the new one is whole."""
        with self._lock:
            self._unchanged_view = None
            self.check_breadth()
            empty = manifests.empty_manifest(self.fingerprint)
            with self.store.lock(self.settings.index.lock_seconds):
                listing = self.list_files()
                manifest = self._write(empty, listing, compare_listing(empty, listing), progress, self._generation_on_disk())
            notes: list[Degraded] = []
            manifest = self._with_vectors(manifest, progress, notes, refresh=True, limited=False)
            return View(self._open(manifest), manifest, 0, (*notes, *self._all_notes(manifest)))

    def repair(self, progress: Progress) -> bool:
        """Build anew what is damaged on disk; False where every byte is as it should be."""
        with self._lock:
            self._view = self._last = self._unchanged_view = None
            try:
                _, opened = self._read()
                for segment in opened[1].segments if opened is not None else ():
                    segment.container.verify()
                return opened is not None and self._drop_damaged_vectors(opened[0])
            except (OutdatedIndex, CorruptIndex):
                self.rebuild(progress)
                return True

    def _drop_damaged_vectors(self, manifest: Manifest) -> bool:
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
            self._view = self._identity = self._last = self._unchanged_view = None
            if not (self.store.folder / FOLDER_TAG).exists():
                return False
            try:
                with self.store.lock(self.settings.index.lock_seconds):
                    return self.store.clear()
            except OSError as error:
                raise IndexError_(
                    f"the index in {self.store.folder} cannot be removed: {error.strerror}", "check the folder's permissions"
                ) from error

    def check_breadth(self) -> None:
        """Begin no index of a home folder or a whole disk, which nobody asks for knowingly, unless the user has said so."""
        what = breadth(self.root)
        if what and not is_allowed(self.settings, "broad") and self._disk_identity() is None:
            from shlex import quote as quoted

            raise BroadRoot(
                f"{self.root.place} is {what}, and has no index yet",
                Template("name a folder in it; or, to index all of it: {index: yes *}", quoted(self.root.place)),
            )

    def list_files(self) -> Listing:
        self._check_root()
        self.check_breadth()
        listing = list_files(self.root, listing_settings(self.settings))
        if listing.signature is not None and is_inside(self.store.place, self.root.place):
            own = self.store.place[len(self.root.place) :].lstrip("/")
            listing = replace(listing, signature=listing.signature.without(own))
        return listing

    def _list_while_loading(self) -> Listing:
        """The tree's files, found by a copy of this process if need be, which loads what a first index takes meanwhile."""
        from lurcher.runtime.fork import ForkedCall, can_fork

        asked = None
        with suppress(OSError):
            asked = ForkedCall(self.list_files) if can_fork() else None
        from lurcher.indexing.writer import preload_modules

        preload_modules(self.model.digest != "")
        return (asked.result() if asked is not None else None) or self.list_files()

    def _compare(self, manifest: Manifest) -> tuple[Listing, Changes]:
        """The tree and what of it is not as the manifest says: by a glance if that is enough, else by listing it."""
        began = time.time_ns()
        settings = listing_settings(self.settings)
        about, signature = circumstances(self.root, settings), manifest.signature
        changes = check_tree(manifest, self.root.place, about, settings.max_file_bytes)
        if changes is None and signature is not None:
            signature = signature.reindexed(self.root.place, about, began)
            if signature is not None:
                believed = replace(manifest, signature=replace(signature, settled=True))
                changes = check_tree(believed, self.root.place, about, settings.max_file_bytes)
        if changes is None:
            listing = self.list_files() if manifest.generation else self._list_while_loading()
            return listing, compare_listing(manifest, listing)
        # Nobody needs the entries once the changes are known.
        return Listing([], dict(manifest.skipped), STAT_CHECK, began, signature, examples=dict(manifest.examples)), changes

    def _save_signature(self, manifest: Manifest, listing: Listing) -> Manifest:
        """Keeps what the next look can go by. It only saves time, so what hinders it is passed over."""
        signature, known = listing.signature, manifest.signature
        if signature is None or signature is known:
            return manifest
        signature = settle_signature(signature, known, listing.started_ns + self._clock_lag())
        if signature is None or (known is not None and not signature.settled and known.same_marks(signature)):
            return manifest
        if not signature.settled and listing.method == STAT_CHECK:
            return manifest  # what is known leads to a glance the next time too; this would lead to a listing
        newer = replace(manifest, signature=signature)
        before = self.store.writable, self.store.write_error
        try:
            if self.store.writable:
                with self.store.lock(0):
                    if not self.store.writable or self._identity != self._disk_identity():
                        return manifest
                    manifests.write_manifest(self.store.folder, newer, self.store.stamps)
                    self._identity = self._disk_identity()
        except (IndexLocked, OSError):
            return manifest
        finally:
            self.store.writable, self.store.write_error = before
        self._view = (newer, self._open(manifest))
        return newer

    def _clock_lag(self) -> int:
        """How far the clock of the index folder's file system is behind ours, as a negative number of nanoseconds."""
        from lurcher.storage import disk
        from lurcher.storage import lock as locks

        stamp = disk.touch_file(self.store.folder / locks.NAME) if self.store.writable else None
        return 0 if stamp is None else min(0, stamp - time.time_ns())

    def _current(self, notes: list[Degraded]) -> Manifest:
        """The manifest on disk (or in memory where nothing can be written); an empty one where there is none that fits."""
        if self._view is not None and (not self.store.writable or self._identity == self._disk_identity()):
            return self._view[0]
        try:
            identity, opened = self._read()
        except (OutdatedIndex, CorruptIndex) as problem:
            notes.append(Degraded("index", f"{problem.message}; it was rebuilt", ""))
            identity, opened = self._disk_identity(), None
        except OSError as error:
            raise IndexError_(
                f"the index in {self.store.folder} cannot be read: {error.strerror}",
                "check its permissions, or set LURCHER_INDEX_DIR to another folder",
            ) from error
        self._identity = identity
        if opened is None:
            return manifests.empty_manifest(self.fingerprint)
        if self._view is None or self._view[0] != opened[0]:
            self._view = opened
        return self._view[0]

    def has_index(self) -> bool:
        """Whether there is an index of the whole tree to answer from, be it on disk or in memory."""
        with self._lock:
            try:
                manifest = self._current([])
                return manifest.generation > 0 and not manifest.is_partial
            except IndexError_:
                return False

    def is_trusted(self) -> bool:
        """Whether every file of the index in use is as it was written here, or by whoever wrote the manifest."""
        view = self._view
        return view is None or all(segment.is_trusted for segment in view[1].segments)

    def read_from_disk(self) -> tuple[Manifest, Snapshot] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._read()[1]

    def _read(self) -> tuple[tuple[int, int, int] | None, tuple[Manifest, Snapshot] | None]:
        """The index on disk with the identity of its manifest.

        A writer removes segments that its new manifest no longer names; a reader that was about to map one of them finds
        the new manifest in place and takes that.
        """
        for attempt in range(_MAX_READS):
            identity = self._disk_identity()
            try:
                manifest = self.store.read(self.fingerprint)
                if manifest is None:
                    return identity, None
                opened = open_snapshot(self.store, manifest, self.model.digest)
                languages = outdated(manifest.grammars)
                if languages:
                    from lurcher.indexing.coverage import expire_languages

                    manifest = expire_languages(manifest, opened.segments, languages)
                return identity, (manifest, opened)
            except CorruptIndex:
                if attempt == _MAX_READS - 1 or identity == self._disk_identity():
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _disk_identity(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(os.path.join(self.store.place, manifests.NAME))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def was_replaced(self) -> bool:
        """Whether another process has written the index since we read it."""
        return self._identity != self._disk_identity()

    def _generation_on_disk(self) -> int:
        try:
            manifest = self.store.read(self.fingerprint)
        except (IndexError_, OSError):
            return 0
        return manifest.generation if manifest else 0

    def _update(
        self, seen: Manifest, listing: Listing, changes: Changes, progress: Progress, until: float | None
    ) -> Manifest:
        # Where nothing but the age of time stamps is in question, reading the files again will do as well as waiting.
        waiting = not seen.generation or count_differing(seen, changes)
        with self.store.lock(self.settings.index.lock_seconds if waiting else 0):
            # Another process may have written while we waited, or cleared the index: start from what is there now, and from
            # the tree as it is now.
            manifest = self._current([])
            if manifest is not seen and (manifest.generation or seen.generation):
                listing, changes = self._compare(manifest)
                if not changes and manifest.generation and not manifest.is_partial:
                    return manifest
            return self._write(manifest, listing, changes, progress, manifest.generation, until)

    def _write(
        self, current: Manifest, listing: Listing, changes: Changes, progress: Progress, generation: int,
        until: float | None = None,
    ) -> Manifest:  # fmt: skip
        # Writing needs the grammars and all that chunking brings; most queries do not write.
        from lurcher.indexing.writer import write_generation

        settings = self.settings.index
        checked = listing.started_ns + self._clock_lag()

        def write() -> Manifest:
            return write_generation(
                self.store, self.root.path, current, listing, changes, fingerprint=self.fingerprint, generation=generation,
                checked_ns=checked, chunk_chars=settings.chunk_chars, table=self.model.table,
                max_file_bytes=settings.max_file_bytes, follow_symlinks=settings.follow_symlinks,
                secrets=is_allowed(self.settings, "secrets"),
                workers=settings.workers, progress=progress, until=until,
            )  # fmt: skip

        try:
            manifest = write()
        except ModelError as problem:
            # A model file is checked as it is read: without it there is an index still, just without vectors.
            self.model = self.model.broken(problem)
            manifest = write()
        self._identity = self._disk_identity()
        self._view = (manifest, open_snapshot(self.store, manifest, self.model.digest))
        return manifest

    def _with_vectors(
        self, manifest: Manifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
    ) -> Manifest:
        """The index after its vectors were brought up to date, where they are not of the model in use or not all there."""
        if self._has_vectors(manifest):
            return manifest
        from lurcher.indexing.reembed import FILES, update_vectors

        return update_vectors(self, FILES, manifest, progress, notes, refresh, limited)

    def _has_vectors(self, manifest: Manifest) -> bool:
        """Whether there are all vectors that there can be."""
        segments = self._open(manifest).segments
        if not segments or self.model.problem is not None or (self.model.table is None and not self.model.textual):
            return True
        return not self.model.textual and all(segment.vectors is not None for segment in segments)

    def commit(self, manifest: Manifest) -> None:
        """Make a manifest the index, under the lock that the caller holds."""
        self.store.commit(manifest)
        self._identity = self._disk_identity()
        self._view = (manifest, open_snapshot(self.store, manifest, self.model.digest))

    def open_snapshot(self, manifest: Manifest) -> Snapshot:
        """What a manifest holds, opened."""
        return self._open(manifest)

    def current_manifest(self) -> Manifest:
        """The manifest as it is now, under the lock that the caller holds."""
        return self._current([])

    def _remove_leftovers(self, manifest: Manifest) -> None:
        """Remove what a killed writer left, where there was nothing to write that would have swept it away."""
        if self.store.writable and self.store.find_leftovers(manifest):
            with suppress(IndexLocked), self.store.lock(0):
                # Another process may have written meanwhile: what is there now decides.
                current = self._current([])
                if current.generation:
                    self.store.remove_leftovers(current)

    def _open(self, manifest: Manifest) -> Snapshot:
        if self._view is None or self._view[0] is not manifest:
            self._view = (manifest, open_snapshot(self.store, manifest, self.model.digest))
        return self._view[1]

    def count_stale(self, manifest: Manifest, changes: Changes) -> int:
        """How many files the index does not have as they are."""
        return count_stale(manifest, changes, self.read_text)

    def read_text(self, path: str) -> Text | Skip:
        """A file as it is now, or why it is not indexed; the path is one of a listing."""
        from lurcher.sources.decode import read_text

        index = self.settings.index
        place = os.path.join(self.root.place, path)
        secrets = is_allowed(self.settings, "secrets")
        return read_text(place, index.max_file_bytes, follow_symlinks=index.follow_symlinks, secrets=secrets)


def listing_settings(settings: Settings) -> FilesSettings:
    index = settings.index
    return FilesSettings(
        index.max_file_bytes, index.follow_symlinks, index.submodules, secrets=is_allowed(settings, "secrets")
    )


def is_allowed(settings: Settings, name: str) -> bool:
    """Whether a switch of `index` is on that opens what is closed: only the user can have turned it."""
    if not getattr(settings.index, name):
        return False
    from lurcher.config.trust import user_setting

    user_setting(settings, f"index.{name}")
    return True


def _index_folder(root: Root, settings: Settings) -> str:
    if not settings.index.dir:
        folder = os.path.join(root.place, INDEX_FOLDER)
        if os.path.islink(folder):
            raise PathError(f"the index folder {folder} is a link", "remove it, or set LURCHER_INDEX_DIR")
        return folder
    base = os.path.expanduser(settings.index.dir)
    origin = settings.origins.get("index.dir")
    if origin in (config.PROJECT_FILE, config.PYPROJECT):
        # A repository's own file must not make us write elsewhere, nor over its files, nor among those of git and others
        # that keep theirs in a hidden folder.
        from pathlib import Path

        inner = root.path / Path(base)
        real = inner.resolve()
        way = real.relative_to(root.path.resolve()).parts if real.is_relative_to(root.path.resolve()) else ()
        hidden = any(part.startswith(".") for part in way[:-1])
        if not way or hidden or not all(name.startswith(INDEX_FOLDER) for name in (inner.name, way[-1])):
            raise ConfigError(
                f"{origin}: index.dir must be a folder of the project named {INDEX_FOLDER}…, not {settings.index.dir!r}",
                "name one that is in no hidden folder, or set LURCHER_INDEX_DIR for a place elsewhere",
            )
        return str(inner)
    # One folder may serve many roots: each gets its own inside.
    return os.path.join(os.path.realpath(base), f"{root.name or 'root'}-{digest_root(root)}")


def digest_root(root: Root) -> str:
    return blake2b(os.fsencode(root.place), digest_size=6).hexdigest()

