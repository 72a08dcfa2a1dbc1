"""The generation of an index that a process has open, and the one on disk: reading, replacing, noticing other writers."""

from __future__ import annotations

import os

from lurcher.errors import CorruptIndex, IndexError_, OutdatedIndex
from lurcher.languages.installed import outdated
from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.storage import manifest as manifests
from lurcher.storage.folder import IndexFolder, open_snapshot
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from lurcher.storage.manifest import Manifest
    from lurcher.storage.snapshot import Snapshot

    Identity = tuple[int, int, int]
    """Inode, modification time and size of a manifest file: another one means another generation."""

_MAX_READS = 5


@dataclass(frozen=True, slots=True)
class View:
    """A generation to answer from, and how it compares with the tree right now."""

    snapshot: Snapshot
    manifest: Manifest
    stale_paths: int
    degraded: tuple[Degraded, ...]
    checked: bool = True
    """Whether the tree was compared with the index at all."""


class CurrentGeneration:
    """The open generation of one index. Not thread-safe: its owner holds a lock."""

    def __init__(
        self, folder: IndexFolder, fingerprint: Callable[[], Mapping[str, Any]], model_digest: Callable[[], str]
    ) -> None:
        self._folder, self._fingerprint, self._model_digest = folder, fingerprint, model_digest
        self._opened: tuple[Manifest, Snapshot] | None = None
        self._identity: Identity | None = None

    def manifest(self, notes: list[Degraded]) -> Manifest:
        """The manifest on disk, or in memory where nothing can be written; an empty one where there is none that fits.

        Why one does not fit is added to `notes`.
        """
        if self._opened is not None and (not self._folder.writable or not self.was_replaced()):
            return self._opened[0]
        try:
            identity, opened = self._read()
        except (OutdatedIndex, CorruptIndex) as problem:
            notes.append(Degraded("index", f"{problem.message}; it was rebuilt", ""))
            identity, opened = self.disk_identity(), None
        except OSError as error:
            raise IndexError_(
                f"the index in {self._folder.folder} cannot be read: {error.strerror}",
                "check its permissions, or set LURCHER_INDEX_DIR to another folder",
            ) from error
        self._identity = identity
        if opened is None:
            return manifests.empty_manifest(self._fingerprint())
        if self._opened is None or self._opened[0] != opened[0]:
            self._opened = opened
        return self._opened[0]

    def snapshot(self, manifest: Manifest) -> Snapshot:
        """The segments of a manifest, opened; that generation is the current one from then on."""
        if self._opened is None or self._opened[0] is not manifest:
            self._opened = (manifest, open_snapshot(self._folder, manifest, self._model_digest()))
        return self._opened[1]

    def replace_manifest(self, old: Manifest, new: Manifest) -> None:
        """Go on with a manifest that names the same segments."""
        self._opened = (new, self.snapshot(old))

    def commit(self, manifest: Manifest) -> None:
        """Make a manifest the index, on disk if that is possible. The caller holds the writer's lock."""
        self._folder.commit(manifest)
        self.adopt(manifest)

    def adopt(self, manifest: Manifest) -> None:
        """Take a manifest that was just written as the current one."""
        self._identity = self.disk_identity()
        self._opened = (manifest, open_snapshot(self._folder, manifest, self._model_digest()))

    def write_manifest(self, old: Manifest, new: Manifest) -> bool:
        """Write a manifest that names the same segments, unless another process has written since. Under the lock."""
        if not self._folder.writable or self.was_replaced():
            return False
        manifests.write_manifest(self._folder.folder, new, self._folder.stamps)
        self._identity = self.disk_identity()
        return True

    def forget(self) -> None:
        """Read from disk again the next time."""
        self._opened = self._identity = None

    def read_from_disk(self) -> tuple[Manifest, Snapshot] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._read()[1]

    def _read(self) -> tuple[Identity | None, tuple[Manifest, Snapshot] | None]:
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
                opened = open_snapshot(self._folder, manifest, self._model_digest())
                languages = outdated(manifest.grammars)
                if languages:
                    from lurcher.indexing.coverage import expire_languages

                    manifest = expire_languages(manifest, opened.segments, languages)
                return identity, (manifest, opened)
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
        """Whether every file in use is as it was written here, or by whoever wrote the manifest."""
        return self._opened is None or all(segment.is_trusted for segment in self._opened[1].segments)
