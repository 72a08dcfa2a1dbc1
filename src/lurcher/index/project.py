"""One root and its index: opened, compared with the tree, brought up to date, read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher import config
from lurcher.config import Settings
from lurcher.embedding.model import model_of
from lurcher.errors import ConfigError, CorruptIndex, IndexError_, IndexLocked, ModelError, OutdatedIndex, PathError
from lurcher.index import manifest as manifests
from lurcher.index.freshness import Changes, compare
from lurcher.index.manifest import Manifest
from lurcher.index.reader import Snapshot
from lurcher.index.store import Store, snapshot
from lurcher.sources.files import FilesSettings, Listing, list_files
from lurcher.sources.roots import INDEX_FOLDER, Root
from lurcher.types import Degraded, Progress

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class View:
    """A generation to answer from, and how it relates to the tree right now."""

    snapshot: Snapshot
    manifest: Manifest
    stale_paths: int
    degraded: tuple[Degraded, ...]
    checked: bool = True
    """Whether the tree was compared with the index at all."""


class Project:
    """Thread-safe: one lock around the life cycle, immutable views outside of it."""

    def __init__(self, root: Root, settings: Settings, index_dir: Path | None = None) -> None:
        self.root = root
        self.settings = settings
        self.model = model_of(settings, root.path)
        folder = index_dir or _index_folder(root, settings)
        if folder.exists() and not folder.is_dir():
            raise PathError(f"the index folder {folder} is a file", "remove it, or set LURCHER_INDEX_DIR to a folder")
        self.store = Store(folder)
        self._lock = threading.RLock()
        self._view: tuple[Manifest, Snapshot] | None = None
        self._identity: tuple[int, int, int] | None = None

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What an index must have in common with us to be used.

        One inside of the tree is good only in the very folder that it was made in: a repository may come with an index
        that shows other text than its files have, and only the folder's number in the file system cannot be forged.
        """
        place: int | str = 0
        if not self.store.folder.is_relative_to(self.root.path):
            place = root_digest(self.root)
        else:
            with contextlib.suppress(OSError):
                place = self.store.folder.stat().st_ino
        return {**manifests.fingerprint(self.settings.index.chunk_chars, self.model.digest), "place": place}

    def view(self, progress: Progress, *, refresh: bool = True, limited: bool = True, check: bool = True) -> View:
        """The current generation, after indexing what changed, if that is little enough or `limited` is false.

        Without `check` the tree is not looked at, where there is an index to answer from.
        """
        with self._lock:
            notes: list[Degraded] = []
            manifest = self._current(notes)
            if not check and manifest.generation:
                notes.append(Degraded("freshness", "the tree was not compared with the index", ""))
                return View(self._open(manifest), manifest, 0, tuple(notes), checked=False)
            listing = self.list_files()
            changes = compare(manifest, listing)
            # Files whose time stamp is merely not to be trusted yet are read again, however many: that happens once.
            few = not limited or self.stale_in(manifest, changes) <= self.settings.index.refresh_limit
            if changes and (manifest.generation == 0 or (refresh and few)):
                try:
                    manifest = self._update(manifest, listing, changes, progress)
                    changes = Changes((), ())
                except IndexLocked as locked:
                    if manifest.generation == 0:
                        raise
                    notes.append(Degraded("freshness", locked.message, locked.hint))
            if not limited:
                self._tidy(manifest)
            stale = self.stale_in(manifest, changes) if changes else 0
            if stale:
                notes.append(Degraded("freshness", f"{stale} files changed since the index was made", "run: lurcher index"))
            if self.store.problem:
                notes.append(
                    Degraded(
                        "index",
                        f"the index is kept in memory only: {self.store.problem}",
                        "set LURCHER_INDEX_DIR to a folder that can be written",
                    )  # fmt: skip
                )
            return View(self._open(manifest), manifest, stale, tuple(notes))

    def rebuild(self, progress: Progress) -> View:
        """A new index from nothing; the old one serves readers until the new one is whole."""
        with self._lock:
            empty = manifests.empty(self.fingerprint)
            with self.store.lock(self.settings.index.lock_seconds):
                listing = self.list_files()
                manifest = self._write(empty, listing, compare(empty, listing), progress, self._generation_on_disk())
            return View(self._open(manifest), manifest, 0, ())

    def clear(self) -> bool:
        """Remove the index. True if there was one."""
        with self._lock:
            self._view = None
            self._identity = None
            if not (self.store.folder / manifests.MARK).exists():
                return False
            try:
                with self.store.lock(self.settings.index.lock_seconds):
                    return self.store.clear()
            except OSError as error:
                raise IndexError_(
                    f"the index in {self.store.folder} cannot be removed: {error.strerror}", "check the folder's permissions"
                ) from error

    def list_files(self) -> Listing:
        settings = self.settings.index
        return list_files(
            self.root, FilesSettings(max_file_bytes=settings.max_file_bytes, follow_symlinks=settings.follow_symlinks)
        )

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
            return manifests.empty(self.fingerprint)
        if self._view is None or self._view[0] != opened[0]:
            self._view = opened
        return self._view[0]

    def on_disk(self) -> tuple[Manifest, Snapshot] | None:
        """The index as it is on disk, opened; None where there is none."""
        return self._read()[1]

    def _read(self) -> tuple[tuple[int, int, int] | None, tuple[Manifest, Snapshot] | None]:
        """The index on disk with the identity of its manifest.

        A writer removes segments that its new manifest no longer names; a reader that was about to map one of them finds
        the new manifest in place and takes that.
        """
        for attempt in range(_ATTEMPTS):
            identity = self._disk_identity()
            try:
                manifest = self.store.read(self.fingerprint)
                return identity, None if manifest is None else (manifest, snapshot(self.store, manifest))
            except CorruptIndex:
                if attempt == _ATTEMPTS - 1 or identity == self._disk_identity():
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _disk_identity(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self.store.folder / manifests.NAME)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _generation_on_disk(self) -> int:
        try:
            manifest = self.store.read(self.fingerprint)
        except (IndexError_, OSError):
            return 0
        return manifest.generation if manifest else 0

    def _update(self, seen: Manifest, listing: Listing, changes: Changes, progress: Progress) -> Manifest:
        with self.store.lock(self.settings.index.lock_seconds):
            # Another process may have written while we waited: start from what is there now, and from the tree as it is now.
            manifest = self._current([])
            if manifest is not seen and manifest.generation:
                listing = self.list_files()
                changes = compare(manifest, listing)
                if not changes:
                    return manifest
            return self._write(manifest, listing, changes, progress, manifest.generation)

    def _write(self, current: Manifest, listing: Listing, changes: Changes, progress: Progress, generation: int) -> Manifest:
        # Writing needs the grammars and all that chunking brings; most queries do not write.
        from lurcher.index.writer import update

        settings = self.settings.index

        def write() -> Manifest:
            return update(
                self.store, self.root.path, current, listing, changes, fingerprint=self.fingerprint, generation=generation,
                chunk_chars=settings.chunk_chars, table=self.model.table, max_file_bytes=settings.max_file_bytes,
                follow_symlinks=settings.follow_symlinks, workers=settings.workers, progress=progress,
            )  # fmt: skip

        try:
            manifest = write()
        except ModelError as problem:
            # A model file is checked as it is read: without it there is an index still, just without vectors.
            self.model = self.model.broken(problem)
            manifest = write()
        self._identity = self._disk_identity()
        self._view = (manifest, snapshot(self.store, manifest))
        return manifest

    def _tidy(self, manifest: Manifest) -> None:
        """Remove what a killed writer left, where there was nothing to write that would have swept it away."""
        if self.store.writable and self.store.leftovers(manifest):
            with contextlib.suppress(IndexLocked), self.store.lock(0):
                # Another process may have written meanwhile: what is there now decides.
                current = self._current([])
                if current.generation:
                    self.store.sweep(current)

    def _open(self, manifest: Manifest) -> Snapshot:
        if self._view is None or self._view[0] is not manifest:
            self._view = (manifest, snapshot(self.store, manifest))
        return self._view[1]

    def stale_in(self, manifest: Manifest, changes: Changes) -> int:
        """Changes that are not merely a young time stamp, which cannot be trusted yet."""
        differing = 0
        for entry in changes.suspects:
            row = manifest.rows.get(entry.path)
            if row is None or row[1:5] != entry[1:5]:
                differing += 1
        return differing + len(changes.gone)


def _index_folder(root: Root, settings: Settings) -> Path:
    if not settings.index.dir:
        folder = root.path / INDEX_FOLDER
        if folder.is_symlink():
            raise PathError(f"the index folder {folder} is a link", "remove it, or set LURCHER_INDEX_DIR")
        return folder
    base = Path(settings.index.dir).expanduser()
    origin = settings.origins.get("index.dir")
    if origin in (config.PROJECT_FILE, "pyproject.toml"):
        # A repository's own file must not make us write elsewhere, nor over its files.
        folder = root.path / base
        if not folder.name.startswith(INDEX_FOLDER) or not _within(folder, root.path):
            raise ConfigError(
                f"{origin}: index.dir must be a folder of the project named {INDEX_FOLDER}…, not {settings.index.dir!r}",
                "set LURCHER_INDEX_DIR for a place elsewhere",
            )
        return folder
    # One folder may serve many roots: each gets its own inside.
    return base.resolve() / f"{root.path.name or 'root'}-{root_digest(root)}"


def root_digest(root: Root) -> str:
    return hashlib.blake2b(os.fsencode(root.path), digest_size=6).hexdigest()


def _within(folder: Path, root: Path) -> bool:
    return folder.resolve().is_relative_to(root)
