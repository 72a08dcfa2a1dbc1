"""From a source to a new generation of the index: build, update, watch.

This module has the generation that a process has open, and the one on disk: reading, replacing, noticing other writers.
"""

from __future__ import annotations

import os
from _thread import RLock

from lurcher.errors import CorruptIndex, IndexError_, IndexLocked, OutdatedIndex
from lurcher.languages import outdated
from lurcher.runtime.stdlib import Generic, TypeVar
from lurcher.storage import IndexFolder
from lurcher.storage import manifest as manifests
from lurcher.storage.container import is_same_but_relinked
from lurcher.types import Degraded, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from lurcher.config import Settings
    from lurcher.storage.manifest import Manifest
    from lurcher.storage.segment import Segment
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Progress
    from lurcher.vectors import Model

    class SnapshotLike(Protocol):
        @property
        def segments(self) -> Sequence[Segment]: ...
    Identity = tuple[int, int, int]
    """Inode, modification time and size of a manifest file: another one means another generation."""


AnyManifest = TypeVar("AnyManifest", bound="manifests.AnyManifest")
AnySnapshot = TypeVar("AnySnapshot", bound="SnapshotLike")
_MAX_READS = 5


class View(Record):
    """A generation to answer from, and how it compares with the tree right now."""

    __slots__ = ("snapshot", "manifest", "stale_paths", "degraded", "checked", "shared")

    def __init__(
        self, snapshot: Snapshot, manifest: Manifest, stale_paths: int, degraded: tuple[Degraded, ...], checked: bool = True,
        shared: dict[str, dict[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.snapshot, self.manifest, self.stale_paths, self.degraded = snapshot, manifest, stale_paths, degraded
        self.checked = checked
        """Whether the tree was compared with the index at all."""
        self.shared: dict[str, dict[str, Any]] = {} if shared is None else shared
        """Of a project in a shared store, what answers say about it."""


class CurrentGeneration(Generic[AnyManifest, AnySnapshot]):
    """The open generation of one index. Not thread-safe: its owner holds a lock."""

    def __init__(
        self, folder: IndexFolder, fingerprint: Callable[[], Mapping[str, Any]], model_digest: Callable[[], str],
        open_snapshot: Callable[[IndexFolder, AnyManifest, str], AnySnapshot],
        revise: Callable[[AnyManifest, AnySnapshot], AnyManifest] | None = None,
    ) -> None:  # fmt: skip
        """`revise` may change a manifest that was read from disk, according to what its segments hold."""
        self._folder, self._fingerprint, self._model_digest = folder, fingerprint, model_digest
        self._open, self._revise = open_snapshot, revise
        self._opened: tuple[AnyManifest, AnySnapshot] | None = None
        self._identity: Identity | None = None

    def manifest(self, notes: list[Degraded]) -> AnyManifest:
        """The manifest on disk, or in memory where nothing can be written; an empty one where there is none that fits.

        Why one does not fit is added to `notes`.
        """
        if self._opened is not None and (not self._folder.writable or not self.was_replaced()):
            return self._opened[0]
        try:
            identity, opened = self._read()
        except (OutdatedIndex, CorruptIndex) as problem:
            notes.append(Degraded(self._folder.format.stage, f"{problem.message}; it was rebuilt", ""))
            identity, opened = self.disk_identity(), None
        except OSError as error:
            raise IndexError_(
                f"the {self._folder.format.called} in {self._folder.folder} cannot be read: {error.strerror}",
                "check its permissions, or set LURCHER_INDEX_DIR to another folder",
            ) from error
        self._identity = identity
        if opened is None:
            empty: AnyManifest = self._folder.format.empty(self._fingerprint())
            return empty
        if self._opened is None or self._opened[0] != opened[0]:
            self._opened = opened
        return self._opened[0]

    def snapshot(self, manifest: AnyManifest) -> AnySnapshot:
        """The segments of a manifest, opened; that generation is the current one from then on."""
        if self._opened is None or self._opened[0] is not manifest:
            self._opened = (manifest, self._open(self._folder, manifest, self._model_digest()))
        return self._opened[1]

    def replace_manifest(self, old: AnyManifest, new: AnyManifest) -> None:
        """Go on with a manifest that names the same segments."""
        self._opened = (new, self.snapshot(old))

    def commit(self, manifest: AnyManifest) -> None:
        """Make a manifest the index, on disk if that is possible. The caller holds the writer's lock."""
        self._folder.commit(manifest)
        self.adopt(manifest)

    def adopt(self, manifest: AnyManifest) -> None:
        """Take a manifest that was just written as the current one."""
        self._identity = self.disk_identity()
        self._opened = (manifest, self._open(self._folder, manifest, self._model_digest()))

    def write_manifest(self, old: AnyManifest, new: AnyManifest) -> bool:
        """Write a manifest that names the same segments, unless another process has written since. Under the lock."""
        if not self._folder.writable or self.was_replaced():
            return False
        manifests.write_manifest(self._folder.folder, new, self._folder.stamps, self._folder.format)
        self._identity = self.disk_identity()
        return True

    def forget(self) -> None:
        """Read from disk again the next time."""
        self._opened = self._identity = None

    def read_from_disk(self) -> tuple[AnyManifest, AnySnapshot] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._read()[1]

    def _read(self) -> tuple[Identity | None, tuple[AnyManifest, AnySnapshot] | None]:
        """The index on disk with the identity of its manifest.

        A writer removes segments that its new manifest no longer names. A reader that was about to open one of them finds the
        new manifest in place and reads that.
        """
        for attempt in range(_MAX_READS):
            identity = self.disk_identity()
            try:
                manifest = self._folder.read(self._fingerprint())
                if manifest is None:
                    return identity, None
                opened = self._open(self._folder, manifest, self._model_digest())
                return identity, (manifest if self._revise is None else self._revise(manifest, opened), opened)
            except CorruptIndex:
                if attempt == _MAX_READS - 1 or identity == self.disk_identity():
                    raise
        raise AssertionError("the last attempt returns or raises")

    def disk_identity(self) -> Identity | None:
        try:
            status = os.stat(os.path.join(self._folder.place, manifests.NAME))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def was_replaced(self) -> bool:
        """Whether another process has written the index since we read it."""
        return self._identity != self.disk_identity()

    def number_on_disk(self) -> int:
        """The generation on disk; 0 where there is none that can be read."""
        try:
            manifest = self._folder.read(self._fingerprint())
        except (IndexError_, OSError):
            return 0
        return manifest.generation if manifest else 0

    def is_trusted(self) -> bool:
        """Whether every file in use is as it was written here, or by the writer of the manifest."""
        return self._opened is None or all(segment.is_trusted for segment in self._opened[1].segments)

    def was_relinked(self) -> bool:
        """Whether a file in use has a new change time and is as it was otherwise: another index has linked or removed it."""
        if self._opened is None:
            return False
        segments, stamps = self._opened[1].segments, self._folder.stamps
        files = [file for segment in segments for file in (segment.container, segment.vectors) if file is not None]
        return any(not file.trusted and is_same_but_relinked(stamps.get(file.name), file.stamp) for file in files)

    def renew_stamps(self) -> None:
        """Read every byte of such files, and trust them again if all are right. The caller holds the writer's lock."""
        if self._opened is None or not self._folder.writable or self.was_replaced():
            return
        manifest = self._opened[0]
        names = sorted(manifests.files_in_use(manifest))
        renewed = {name: stamp for name in names if (stamp := self._folder.verify_relinked(name)) is not None}
        if renewed:
            self._folder.stamps.update(renewed)
            self.write_manifest(manifest, manifest)
            self.adopt(manifest)


class StoredIndex(Generic[AnyManifest, AnySnapshot]):
    """An index in a folder, of whatever schema: its current generation, repair and removal. Subclasses bring it up to date."""

    settings: Settings
    model: Model

    def __init__(self, store: IndexFolder, generation: CurrentGeneration[AnyManifest, AnySnapshot]) -> None:
        self.store = store
        self._lock = RLock()
        self._generation = generation

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What must match for an index on disk to be used."""
        raise NotImplementedError

    def rebuild(self, progress: Progress) -> Any:
        """Build a new index from scratch; the old one serves readers meanwhile."""
        raise NotImplementedError

    def forget(self) -> None:
        """Read everything from disk again the next time."""
        self._generation.forget()

    def commit(self, manifest: AnyManifest) -> None:
        """Make a manifest the index. The caller holds the writer's lock."""
        self._generation.commit(manifest)

    def open_snapshot(self, manifest: AnyManifest) -> AnySnapshot:
        """The segments of a manifest, opened."""
        return self._generation.snapshot(manifest)

    def current_manifest(self) -> AnyManifest:
        """The manifest as it is now. The caller holds the writer's lock."""
        return self._generation.manifest([])

    def read_from_disk(self) -> tuple[AnyManifest, AnySnapshot] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._generation.read_from_disk()

    def identity(self) -> Identity | None:
        """A value that changes whenever the index is written; None if there is none on disk."""
        return self._generation.disk_identity()

    def is_trusted(self) -> bool:
        """Whether every file of the index in use is as it was written here, or by the writer of the manifest."""
        return self._generation.is_trusted()

    def repair(self, progress: Progress) -> bool:
        """Check every byte on disk and rebuild what is damaged; False where nothing is."""
        with self._lock:
            self.forget()
            try:
                opened = self._generation.read_from_disk()
                if opened is None:
                    return False
                for segment in opened[1].segments:
                    segment.container.verify()  # nothing is trusted from then on
                    for name in segment.schema.tables:
                        segment.table(name)
                return self._drop_damaged_vectors(opened[0]) or self._repair_further(*opened)
            except (OutdatedIndex, CorruptIndex):
                self.rebuild(progress)
                return True

    def _drop_damaged_vectors(self, manifest: AnyManifest) -> bool:
        """Drop damaged vectors, which are made again later; False where none are damaged."""
        vectors = self.store.without_damaged(manifest.vectors)
        if vectors == manifest.vectors:
            return False
        with self.store.lock(self.settings.index.lock_seconds):
            self.commit(manifest.replace(generation=manifest.generation + 1, vectors=vectors))
        return True

    def _repair_further(self, manifest: AnyManifest, snapshot: AnySnapshot) -> bool:
        """Repair files besides segments and sidecars; False where none are damaged."""
        return False

    def _renew_stamps(self) -> None:
        """Trust files again that another index has linked or removed. That only saves time, so errors are ignored."""
        from contextlib import suppress

        before = self.store.writable, self.store.write_error
        with suppress(IndexLocked, CorruptIndex, OSError), self.store.lock(0):
            self._generation.renew_stamps()
        self.store.writable, self.store.write_error = before

    def _remove_leftovers(self, manifest: AnyManifest) -> None:
        """Remove what a killed writer left, where no commit has done that."""
        if self.store.writable and self.store.find_leftovers(manifest):
            from contextlib import suppress

            with suppress(IndexLocked), self.store.lock(0):
                # Another process may have written meanwhile.
                current = self._generation.manifest([])
                if current.generation:
                    self.store.remove_leftovers(current)

    def clear(self) -> bool:
        """Remove the index. True if there was one."""
        with self._lock:
            self.forget()
            if not (self.store.folder / manifests.FOLDER_TAG).exists():
                return False
            try:
                with self.store.lock(self.settings.index.lock_seconds):
                    return self.store.clear()
            except OSError as error:
                raise IndexError_(
                    f"the {self.store.format.called} in {self.store.folder} cannot be removed: {error.strerror}",
                    "check the folder's permissions",
                ) from error


def expire_outdated(manifest: Manifest, snapshot: Snapshot) -> Manifest:
    """The manifest without files that were parsed by an older grammar than the installed one: they are read again."""
    languages = outdated(manifest.grammars)
    if not languages:
        return manifest
    from lurcher.indexing.coverage import expire_languages

    return expire_languages(manifest, snapshot.segments, languages)
