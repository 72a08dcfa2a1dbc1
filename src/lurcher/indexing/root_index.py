"""The index of one root: opened, compared with the tree, brought up to date, read."""

from __future__ import annotations

import os
import time

from lurcher.config import Settings
from lurcher.errors import (
    BroadRoot,
    CorruptIndex,
    IndexError_,
    IndexLocked,
    ModelError,
    PathError,
    RootGone,
    Template,
)
from lurcher.indexing import CurrentGeneration, StoredIndex, View, expire_outdated
from lurcher.indexing.freshness import (
    UNCHECKED,
    BackgroundCheck,
    ChangeMonitor,
    Changes,
    check_tree,
    compare_listing,
    count_differing,
    count_stale,
    settle_signature,
)
from lurcher.runtime.process import exists, format_count, is_inside
from lurcher.sources import FilesSettings, Listing, Root, breadth, circumstances
from lurcher.storage import IndexFolder, digest_root, index_folder_of, open_snapshot
from lurcher.storage import manifest as manifests
from lurcher.storage.manifest import UNREADABLE, Manifest
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, Progress
from lurcher.vectors import BUILTIN, NONE, Model, find_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from lurcher.sources.decode import Skip, Text
    from lurcher.sources.listing import QuickWalk

STAT_CHECK = "glance"
"""The `Listing.method` of a tree whose files were only compared with the manifest, not listed."""
_CHECKS_BEFORE_MONITOR = 4
"""A process that checks a tree so often uses inotify from then on."""
_MAX_UPDATES = 3
_LONG_UPDATE_SECONDS = 0.5
"""After an update that took longer, the tree is checked again before it is called fresh."""


class RootIndex(StoredIndex[Manifest, Snapshot]):
    """The index of one root. Thread-safe: one lock around its life cycle; views are immutable."""

    def __init__(self, root: Root, settings: Settings, index_dir: Path | None = None, model: Model | None = None) -> None:
        self.root = root
        self.settings = settings
        self.model = select_model(settings, root.place) if model is None else model
        self.index_dir = index_dir
        """The folder for the index, if the caller chose one; it goes before the settings."""
        self.seed: Root | None = None
        """The root whose index a first one begins with; None: that of another work tree of the repository, if there is one."""
        folder = index_folder_of(root, settings) if index_dir is None else str(index_dir)
        if exists(folder) and not os.path.isdir(folder):
            raise PathError(f"the index folder {folder} is a file", "remove it, or set LURCHER_INDEX_DIR to a folder")
        store = IndexFolder(folder, root=root.place if is_inside(folder, root.place) else None)
        super().__init__(
            store,
            CurrentGeneration(store, lambda: self.fingerprint, lambda: self.model.digest, open_snapshot, expire_outdated),
        )
        self._last: tuple[int, tuple[bool, bool, bool, bool], View] | None = None
        self.monitor: ChangeMonitor | None = None
        """Tells whether the tree changed, so that not every query has to check it; None where that is not available."""
        self._checks = 0
        self._unchanged_view: tuple[bool, View] | None = None
        """Whether vectors were needed, and the view that the last check found; kept while `monitor` can vouch for it."""
        self._cached_notes: tuple[Manifest, tuple[Degraded, ...]] | None = None
        """A manifest and its `_persistent_notes`."""
        self._prefetched: tuple[View, BackgroundCheck] | None = None
        """The next result of `optimistic_view`, started by `prefetch_check`."""

    def beside(self, root: Root, folder: str) -> RootIndex:
        """The index of another root in a folder, with the settings of this one: what it was made with has to fit them."""
        from pathlib import Path

        return RootIndex(root, self.settings, Path(folder), self.model)

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What must match for an index on disk to be used.

        An index inside the tree is valid only in the very folder that it was made in: a repository may come with an index
        that shows other text than its files have, and the inode of the folder is what it cannot forge.
        """
        place: int | str
        if not is_inside(self.store.place, self.root.place):
            place = digest_root(self.root)
        else:
            try:
                place = os.stat(self.store.place).st_ino
            except OSError:
                place = 0
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
        """The current generation, after indexing what changed, unless that is too much and the view is `limited`.

        Without `check` the tree is not compared with the index, if there is one. Without `needs_vectors` missing vectors are
        not made.
        """
        called = time.monotonic_ns()
        request = (refresh, limited, check, needs_vectors)
        with self._lock:
            # A caller that waited for a check which began after its call can use what that check found.
            if self._last is not None and self._last[0] >= called and self._last[1] == request:
                return self._last[2]
            # Without `check` the view says nothing about the tree, whatever earlier checks found.
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
                view = self._refresh_view(progress, *request)
            except CorruptIndex:
                # Open files are gone from disk, as after a checkout of a tree that holds its index: read everything again.
                self._generation.forget()
                view = self._refresh_view(progress, *request)
            self._last = (began, request, view)
            steady = view.checked and not view.stale_paths and view.degraded == self._persistent_notes(view.manifest)
            if self.monitor is not None and steady:
                self._unchanged_view = (needs_vectors, view)
                self.monitor.finish_check(view.manifest, circumstances(self.root, listing_settings(self.settings)))
            return view

    def optimistic_view(self, needs_vectors: bool) -> tuple[View, BackgroundCheck] | None:
        """The view that is right if nothing changed, and the running check that decides; None where that is not possible.

        Most queries find the tree unchanged, so they are answered while the files are checked in the background.
        """
        with self._lock:
            prefetched, self._prefetched = self._prefetched, None
            if prefetched is not None:
                return prefetched if not needs_vectors or self._has_vectors(prefetched[0].manifest) else None
            if self.monitor is None:
                self._count_check()
            if self.monitor is not None or not self.store.writable:
                return None
            notes: list[Degraded] = []
            manifest = self._generation.manifest(notes)
            if notes or not manifest.generation or manifest.is_partial or (needs_vectors and not self._has_vectors(manifest)):
                return None
            if self._generation.was_relinked():
                return None  # the other way renews the stamps
            settings = listing_settings(self.settings)
            about = circumstances(self.root, settings)
            check = BackgroundCheck.start(manifest, self.root.place, about, settings.max_file_bytes)
            if check is None:
                return None
            return (View(self._generation.snapshot(manifest), manifest, 0, self._all_notes(manifest)), check)

    def _count_check(self) -> None:
        """Use inotify, where possible, once this process has checked the tree several times."""
        self._checks += 1
        if self._checks == _CHECKS_BEFORE_MONITOR and self.monitor is None:
            from lurcher.indexing.inotify import InotifyMonitor

            try:
                self.monitor = InotifyMonitor(self.root.path)
            except OSError:
                self.monitor = None

    def close(self) -> None:
        """Free the system's watches."""
        with self._lock:
            if self.monitor is not None:
                self.monitor.close()

    def prefetch_check(self) -> None:
        """Start checking the tree for a query that is about to come; errors are left to the query."""
        with self._lock:
            try:
                self._prefetched = self.optimistic_view(needs_vectors=False)
            except (IndexError_, OSError):
                self._prefetched = None

    def is_unchanged(self) -> bool:
        """Whether the tree and its index are known to be as the last check found them, without checking again."""
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
            self._generation.forget()
        manifest = self._generation.manifest(notes)
        if not check and manifest.generation:
            if manifest.is_partial:
                from lurcher.indexing.coverage import partial_index_note

                notes.append(partial_index_note(manifest))
            notes.append(UNCHECKED)
            return View(
                self._generation.snapshot(manifest), manifest, 0, (*notes, *self._persistent_notes(manifest)), checked=False
            )
        if not manifest.generation:
            self.check_breadth()
            self._prepare_folder()
        locked: Degraded | None = None
        for _ in range(_MAX_UPDATES):
            listing, changes = self._compare(manifest)
            # An empty tree gets its first generation too, or every query would try to build one again.
            if not changes and manifest.generation and not (refresh and manifest.is_partial):
                manifest = self._with_listing_counts(manifest, listing)
                if refresh:
                    manifest = self._save_signature(manifest, listing)
                break
            if manifest.generation and not (refresh and self._is_small_change(manifest, changes, limited)):
                break
            began = time.monotonic()
            try:
                manifest = self._update(manifest, listing, changes, progress, self._read_deadline(manifest, limited), notes)
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
        if refresh and self._generation.was_relinked():
            self._renew_stamps()
        if not limited:
            self._remove_leftovers(manifest)
        if needs_vectors:
            manifest = self._with_vectors(manifest, progress, notes, refresh, limited)
        if manifest.is_partial:
            from lurcher.indexing.coverage import find_waiting, partial_index_note

            waiting = find_waiting(manifest, changes)
            notes += [locked] if locked else []
            return View(
                self._generation.snapshot(manifest),
                manifest,
                len(waiting),
                (*notes, partial_index_note(manifest, waiting), *self._all_notes(manifest)),
            )
        behind = self.count_stale(manifest, changes) if changes else 0
        if behind:
            notes += [locked] if locked else []
            reason = f"{format_count(behind, 'file')} changed since the index was made"
            notes.append(Degraded("freshness", reason, "run: lurcher index"))
        return View(self._generation.snapshot(manifest), manifest, behind, (*notes, *self._all_notes(manifest)))

    def _with_listing_counts(self, manifest: Manifest, listing: Listing) -> Manifest:
        """The manifest with the current numbers of files left out unread; these alone make no new generation."""
        if listing.method == STAT_CHECK or manifest.is_partial:
            return manifest
        if (listing.skipped, listing.examples) == (manifest.skipped, manifest.examples):
            return manifest
        newer = manifest.replace(skipped=listing.skipped, examples=listing.examples)
        self._generation.replace_manifest(manifest, newer)
        return newer

    def _persistent_notes(self, manifest: Manifest) -> tuple[Degraded, ...]:
        """Notes that hold as long as the tree does not change."""
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
        """Whether to index the changes during a query. Files that are suspect only because their stamp is too young do not
        count: they are read again once, however many."""
        limit = self.settings.index.refresh_limit
        return not limited or manifest.is_partial or limit < 0 or count_differing(manifest, changes) <= limit

    def _read_deadline(self, manifest: Manifest, limited: bool) -> float | None:
        """When a first build for a query stops starting on further files, on the monotonic clock."""
        seconds = self.settings.index.first_answer_seconds
        if not limited or not seconds or (manifest.generation and not manifest.is_partial):
            return None
        from lurcher.indexing.writer import READ_SHARE

        return time.monotonic() + READ_SHARE * seconds

    def _prepare_folder(self) -> None:
        """Make the index folder before the tree is checked, since that changes the folder around it."""
        self._check_root()
        try:
            self.store.prepare()
        except OSError as error:
            self.store.fall_back_to_memory(error)

    def _check_root(self) -> None:
        """Raise if the root is gone: an empty answer would be wrong, and the root may come back."""
        if not os.path.isdir(self.root.place):
            raise RootGone(f"{self.root.place} is gone", "queries are answered again once it is back")

    def can_write(self) -> bool:
        """Whether there is a place for the index on disk."""
        self.check_breadth()
        with self._lock:
            self._prepare_folder()
            return self.store.writable

    def rebuild(self, progress: Progress) -> View:
        """A new index from scratch; the old one serves readers until the new one is complete."""
        with self._lock:
            self._unchanged_view = None
            self.check_breadth()
            empty = manifests.empty_manifest(self.fingerprint)
            with self.store.lock(self.settings.index.lock_seconds):
                listing = self.list_files()
                manifest = self._write(
                    empty, listing, compare_listing(empty, listing), progress, self._generation.number_on_disk()
                )
            notes: list[Degraded] = []
            manifest = self._with_vectors(manifest, progress, notes, refresh=True, limited=False)
            return View(self._generation.snapshot(manifest), manifest, 0, (*notes, *self._all_notes(manifest)))

    def forget(self) -> None:
        super().forget()
        self._last = self._unchanged_view = None

    def check_breadth(self) -> None:
        """Raise instead of indexing a home folder or a whole disk, unless the user has allowed that."""
        what = breadth(self.root)
        if what and not is_allowed(self.settings, "broad") and self._generation.disk_identity() is None:
            from shlex import quote as quoted

            raise BroadRoot(
                f"{self.root.place} is {what}, and has no index yet",
                Template("name a folder in it; or, to index all of it: {index: yes *}", quoted(self.root.place)),
            )

    def list_files(self) -> Listing:
        self._check_root()
        self.check_breadth()
        from lurcher.sources.listing import list_files

        listing = list_files(self.root, listing_settings(self.settings))
        if listing.signature is not None and is_inside(self.store.place, self.root.place):
            own = self.store.place[len(self.root.place) :].lstrip("/")
            listing = listing.replace(signature=listing.signature.without(own))
        return listing

    def begin_walk(self) -> QuickWalk:
        """A walk of the tree in steps, for a first answer before there is an index."""
        self._check_root()
        self.check_breadth()
        from lurcher.sources.listing import QuickWalk

        return QuickWalk(self.root.place, listing_settings(self.settings))

    def _list_while_loading(self) -> Listing:
        """List the tree in a forked child, where possible, while this process loads the modules for a first build."""
        from lurcher.runtime.parallel import ForkedCall, can_fork

        try:
            call = ForkedCall(self.list_files) if can_fork() else None
        except OSError:
            call = None
        from lurcher.indexing.writer import preload_modules

        preload_modules(self.model.digest != "")
        return (call.result() if call is not None else None) or self.list_files()

    def _compare(self, manifest: Manifest) -> tuple[Listing, Changes]:
        """The tree and how it differs from the manifest: by checking the known files if that is enough, else by listing."""
        began = time.time_ns()
        settings = listing_settings(self.settings)
        about, signature = circumstances(self.root, settings), manifest.signature
        changes = check_tree(manifest, self.root.place, about, settings.max_file_bytes)
        if changes is None and signature is not None:
            signature = signature.reindexed(self.root.place, about, began)
            if signature is not None:
                assumed = manifest.replace(signature=signature.replace(settled=True))
                changes = check_tree(assumed, self.root.place, about, settings.max_file_bytes)
        if changes is None:
            listing = self.list_files() if manifest.generation else self._list_while_loading()
            return listing, compare_listing(manifest, listing)
        # The changes are known, so nobody needs the entries.
        return Listing([], dict(manifest.skipped), STAT_CHECK, began, signature, examples=dict(manifest.examples)), changes

    def _save_signature(self, manifest: Manifest, listing: Listing) -> Manifest:
        """Write the tree's signature for the next check. That only saves time, so errors are ignored."""
        signature, known = listing.signature, manifest.signature
        if signature is None or signature is known:
            return manifest
        signature = settle_signature(signature, known, listing.started_ns + self._clock_lag())
        if signature is None or (known is not None and not signature.settled and known.same_marks(signature)):
            return manifest
        if not signature.settled and listing.method == STAT_CHECK:
            return manifest  # the old signature allows a quick check the next time too; this one would need a listing
        newer = manifest.replace(signature=signature)
        before = self.store.writable, self.store.write_error
        try:
            if self.store.writable:
                with self.store.lock(0):
                    if not self._generation.write_manifest(manifest, newer):
                        return manifest
        except (IndexLocked, OSError):
            return manifest
        finally:
            self.store.writable, self.store.write_error = before
        self._generation.replace_manifest(manifest, newer)
        return newer

    def _clock_lag(self) -> int:
        """How far the clock of the index folder's file system is behind ours, in nanoseconds, negative or 0."""
        from lurcher.storage import disk

        stamp = disk.touch_file(self.store.folder / disk.LOCK_NAME) if self.store.writable else None
        return 0 if stamp is None else min(0, stamp - time.time_ns())

    def has_index(self) -> bool:
        """Whether there is a complete index, on disk or in memory."""
        with self._lock:
            try:
                manifest = self._generation.manifest([])
                return manifest.generation > 0 and not manifest.is_partial
            except IndexError_:
                return False

    def was_replaced(self) -> bool:
        """Whether another process has written the index since we read it."""
        return self._generation.was_replaced()

    def _update(
        self, seen: Manifest, listing: Listing, changes: Changes, progress: Progress, until: float | None,
        notes: list[Degraded],
    ) -> Manifest:  # fmt: skip
        # Where only the age of time stamps is in question, there is no need to wait for another writer.
        waiting = not seen.generation or count_differing(seen, changes)
        with self.store.lock(self.settings.index.lock_seconds if waiting else 0):
            # Another process may have written or cleared the index while we waited: start from the index and tree of now.
            manifest = self._generation.manifest([])
            if manifest is not seen and (manifest.generation or seen.generation):
                listing, changes = self._compare(manifest)
                if not changes and manifest.generation and not manifest.is_partial:
                    return manifest
            if not manifest.generation and self.store.writable:
                from lurcher.indexing.seed import seed_manifest

                seeded = seed_manifest(self, listing, listing.started_ns + self._clock_lag(), progress, notes)
                if seeded is not None:
                    manifest, changes = seeded, compare_listing(seeded, listing)
            return self._write(manifest, listing, changes, progress, manifest.generation, until)

    def _write(
        self, current: Manifest, listing: Listing, changes: Changes, progress: Progress, generation: int,
        until: float | None = None,
    ) -> Manifest:  # fmt: skip
        # Loads the grammars and the chunking modules; most queries do not write.
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
            # A model file is verified while it is read. Without it the index just has no vectors.
            self.model = self.model.with_problem(problem)
            manifest = write()
        self._generation.adopt(manifest)
        return manifest

    def _with_vectors(
        self, manifest: Manifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
    ) -> Manifest:
        """The manifest after missing vectors of the model in use were made."""
        if self._has_vectors(manifest):
            return manifest
        from lurcher.indexing.reembed import FILE_VECTORS, update_vectors

        return update_vectors(self, FILE_VECTORS, manifest, progress, notes, refresh, limited)

    def _has_vectors(self, manifest: Manifest) -> bool:
        """Whether no vectors are missing, or none can be made."""
        segments = self._generation.snapshot(manifest).segments
        if not segments or self.model.problem is not None or (self.model.table is None and not self.model.textual):
            return True
        return not self.model.textual and all(segment.vectors is not None for segment in segments)

    def count_stale(self, manifest: Manifest, changes: Changes) -> int:
        """How many files differ from what the index has."""
        return count_stale(manifest, changes, self.read_text)

    def read_text(self, path: str) -> Text | Skip:
        """A file as it is now, or why it is not indexed; `path` comes from a listing."""
        from lurcher.sources.decode import read_text

        index = self.settings.index
        place = os.path.join(self.root.place, path)
        secrets = is_allowed(self.settings, "secrets")
        return read_text(place, index.max_file_bytes, follow_symlinks=index.follow_symlinks, secrets=secrets)


def listing_settings(settings: Settings) -> FilesSettings:
    index = settings.index
    secrets = is_allowed(settings, "secrets")
    return FilesSettings(index.max_file_bytes, index.follow_symlinks, index.submodules, secrets=secrets)


def is_allowed(settings: Settings, name: str) -> bool:
    """Whether `index.<name>`, which relaxes a protection, is on. Only the user's own settings may turn it on."""
    if getattr(settings.index, name):
        from lurcher.config.trust import user_setting

        return bool(user_setting(settings, f"index.{name}"))
    return False


def select_model(settings: Settings, root: Path | str) -> Model:
    """The model that the settings name for the project at `root`: a term table, or a provider's model."""
    if settings.dense.model == NONE or settings.embedding.provider == BUILTIN:
        return find_table(settings, root)
    from pathlib import Path

    from lurcher.vectors.text_model import TextModel

    return TextModel(settings, Path(root))
