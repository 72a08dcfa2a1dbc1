"""The folder of an index: segments and a manifest, one writer at a time, and memory where nothing can be written."""

from __future__ import annotations

import errno
import itertools
import math
import os
import time
from _weakref import ref
from functools import cached_property

from lurcher.config import PROJECT_FILE, PYPROJECT
from lurcher.errors import ConfigError, CorruptIndex, PathError, Template
from lurcher.runtime.process import exists, open_file
from lurcher.runtime.stdlib import blake2b, pattern
from lurcher.sources import INDEX_FOLDER
from lurcher.storage import manifest as manifests
from lurcher.storage.container import MAGIC, Container, file_stamp, is_same_but_relinked
from lurcher.storage.manifest import FILES_FORMAT, FOLDER_TAG, NO_SEGMENT, FileRows, Manifest, ManifestFormat, files_in_use
from lurcher.storage.segment import FILES, Schema, Segment, check_segment
from lurcher.storage.snapshot import Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from lurcher.config import Settings
    from lurcher.sources import Root
    from lurcher.storage.container import Stamp
    from lurcher.storage.container_writer import ContainerWriter
    from lurcher.storage.disk import IndexLock
    from lurcher.storage.manifest import AnyManifest
    from lurcher.storage.vectors import VectorSidecar

_DATA_FILES = ("*.segment", "*.vectors", "*.outcomes", ".*.tmp")
SCIP_NAME = "scip"
"""The file with what a SCIP index says (`indexing/scip_edges.py`). It belongs to no generation."""
_TRANSIENT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors that may pass while a long-running process lives."""
_MAX_RETRY_SECONDS = 3600.0
_OWN_NAME = pattern(r"manifest|lock|history|libraries|scip|\.gitignore|[0-9a-f]{24}\.(?:segment|vectors|outcomes)|\..*\.tmp")
_counter = itertools.count()
TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is an index of lurcher; it can be removed.\n"


class IndexFolder:
    """The files of an index: in a folder, or in memory where the folder cannot be written."""

    def __init__(
        self, place: str, memory: dict[str, Container] | None = None, writable: bool = True, write_error: str = "",
        held_lock: IndexLock | None = None, root: Path | str | None = None, schema: Schema = FILES,
        format: ManifestFormat = FILES_FORMAT, within: IndexFolder | None = None, stamps: dict[str, Stamp] | None = None,
        _opened: dict[str, ref[Container]] | None = None, _retry_at: float = math.inf, _pause: float = 30.0,
    ) -> None:  # fmt: skip
        self.place = place
        """The path of the folder."""
        self.memory: dict[str, Container] = {} if memory is None else memory
        self.writable = writable
        self.write_error = write_error
        """Why nothing can be written; empty where it can."""
        self.held_lock = held_lock
        """The lock, while this process writes."""
        self.root = root
        """The root around the folder, if it lies in one; a missing root is not created."""
        self.schema = schema
        """What its segments hold."""
        self.format = format
        self.within = within
        """The index folder around it, which has to be marked as one first, or its content would count as foreign."""
        self.stamps: dict[str, Stamp] = {} if stamps is None else stamps
        """Stamps of files that this process wrote, or that a manifest has from their writer."""
        self._opened: dict[str, ref[Container]] = {} if _opened is None else _opened
        """Files that may still be mapped: the next generation shares most of them and need not map them again."""
        self._retry_at, self._pause = _retry_at, _pause

    @cached_property
    def folder(self) -> Path:
        from pathlib import Path

        return Path(self.place)

    def container(self, name: str) -> Container:
        if name in self.memory:
            return self.memory[name]
        return self._map_container(name, "segment")

    def open_file(self, name: str, kind: str) -> Container:
        """Open a file of another `kind` than segment."""
        if name in self.memory:
            return self.memory[name]
        return self._map_container(name, kind)

    def _map_container(self, name: str, kind: str) -> Container:
        place = os.path.join(self.place, name)
        reference = self._opened.get(name)
        known = None if reference is None else reference()
        if known is not None and known.is_file_at(place):
            return known
        container = Container.open(place, self.stamps.get(name))
        if kind == "segment":
            check_segment(container, self.schema)
        if name != f"{container.digest()}.{kind}":
            raise container.corrupt("its content belongs to another name")
        self._opened = {other: known for other, known in self._opened.items() if known() is not None}
        self._opened[name] = ref(container)
        return container

    def without_damaged(self, vectors: Mapping[str, VectorSidecar]) -> dict[str, VectorSidecar]:
        """The sidecars without damaged files."""
        from lurcher.storage.vectors import KIND, VectorSidecar, sidecar_files

        damaged = set()
        for name in sidecar_files(vectors):
            try:
                self.open_file(name, KIND).verify()
            except CorruptIndex:
                damaged.add(name)
        return {
            digest: VectorSidecar(
                sidecar.about, sidecar.dims, {key: name for key, name in sidecar.files.items() if name not in damaged}
            )
            for digest, sidecar in vectors.items()
        }

    def read(self, expected: Mapping[str, Any]) -> Any:
        """The manifest on disk; None where there is none, or the folder is not an index folder."""
        if not exists(os.path.join(self.place, FOLDER_TAG)):
            return None
        manifest = manifests.read_manifest(self.place, expected, self.format)
        if manifest is not None:
            self.stamps = {**self.stamps, **manifest.stamps}
        return manifest

    def put(self, fill: Callable[[ContainerWriter], str], kind: str = "segment") -> str:
        """Store what `fill` writes, a segment or another `kind` of file, under a name made from its content."""
        from lurcher.storage.container_writer import ContainerWriter

        if self.writable:
            from lurcher.storage import disk

            try:
                self.prepare()
                with disk.AtomicFile(self.folder, kind) as draft:
                    name = f"{fill(ContainerWriter(draft.write))}.{kind}"
                    stamp = file_stamp(os.lstat(draft.commit(name)))
                if stamp is not None:
                    self.stamps[name] = stamp
                return name
            except OSError as error:
                self.fall_back_to_memory(error)
        pieces: list[bytes | memoryview] = []
        name = f"{fill(ContainerWriter(pieces.append))}.{kind}"
        self.memory[name] = Container(b"".join(pieces), name)
        return name

    def link_from(self, other: IndexFolder, names: Iterable[str]) -> None:
        """Take over files of another index: they are never changed, so a link is as good as a copy. The caller holds the lock.

        CorruptIndex if one is damaged or gone, OSError if nothing can be written here.
        """
        from lurcher.storage import disk

        self.prepare()
        for name in sorted(names):
            file = other.open_file(name, name.rpartition(".")[2])
            if not file.trusted:
                file.verify()
            try:
                disk.link_file(other.folder / name, self.folder / name)
            except FileNotFoundError as error:
                raise file.corrupt("it was removed meanwhile") from error
            stamp = file_stamp(os.lstat(self.folder / name))
            if stamp is not None:
                self.stamps[name] = stamp
        disk.sync_folder(self.folder)

    def verify_relinked(self, name: str) -> Stamp | None:
        """The stamp of a file that has only a new change time, after reading every byte of it; None for any other file."""
        place = os.path.join(self.place, name)
        if name in self.memory or not is_same_but_relinked(self.stamps.get(name), file_stamp(os.lstat(place))):
            return None
        file = Container.open(place)
        file.verify()
        if name != f"{file.digest()}.{name.rpartition('.')[2]}":
            raise file.corrupt("its content belongs to another name")
        return file.stamp

    def is_linked(self, name: str) -> bool:
        """Whether another index has the file too, so that it takes no room of its own."""
        try:
            return name not in self.memory and os.lstat(os.path.join(self.place, name)).st_nlink > 1
        except OSError:
            return False

    def scratch_path(self) -> Path | None:
        """A path for a file that is needed during a build; None where nothing can be written."""
        return self.folder / f".scratch.{os.getpid()}-{next(_counter)}.tmp" if self.writable else None

    def commit(self, manifest: AnyManifest) -> None:
        """Make a manifest the current one, on disk if the folder is writable, and remove files that it does not name."""
        self.drop_unused(manifest)
        if self.writable and not self.memory:
            try:
                self.prepare()
                manifests.write_manifest(self.folder, manifest, self.stamps, self.format)
                self.remove_leftovers(manifest)
            except OSError as error:
                self.fall_back_to_memory(error)

    def drop_unused(self, manifest: AnyManifest) -> None:
        """Forget what a new generation does not name; readers keep what they have open."""
        named = files_in_use(manifest)
        self.memory = {name: container for name, container in self.memory.items() if name in named}
        self.stamps = {name: stamp for name, stamp in self.stamps.items() if name in named}

    def fall_back_to_memory(self, error: OSError) -> None:
        """Keep new files in memory from now on; for a while only, if the error may pass."""
        self.writable = False
        self.write_error = error.strerror or str(error)
        if error.errno in _TRANSIENT_ERRORS:
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _MAX_RETRY_SECONDS)
        else:
            self._retry_at = math.inf

    def retry_writes(self) -> bool:
        """Try the disk again, if it is time to. What was in memory only is dropped and has to be built again."""
        if self.writable or time.monotonic() < self._retry_at:
            return False
        self.writable, self.write_error = True, ""
        self.memory.clear()
        return True

    def prepare(self) -> None:
        """Create and tag the folder. One without our tag that holds other files is an error."""
        if self.root is not None and not os.path.isdir(self.root):
            raise OSError(errno.ENOENT, f"{self.root} is gone")
        if self.within is not None:
            self.within.prepare()
        from lurcher.storage import disk

        disk.make_folder(self.folder)
        names = os.listdir(self.folder)
        marked = FOLDER_TAG in names
        if not marked and not self._is_ours(names):
            raise OSError(errno.ENOTEMPTY, f"{self.folder} holds other files and is not an index folder")
        disk.restrict_folder(self.folder)
        disk.create_file(self.folder / FOLDER_TAG, TAG_TEXT)
        if not marked:
            disk.sync_folder(self.folder)  # files without the tag would be taken for foreign
        disk.create_file(self.folder / ".gitignore", "*\n")

    def _is_ours(self, names: list[str]) -> bool:
        """Whether a folder without our tag holds nothing but files that we would have written."""
        if manifests.NAME in names:
            # Do not follow a link or wait for a pipe.
            descriptor = open_file(self.folder / manifests.NAME)
            with open(descriptor, "rb") as handle:
                if handle.read(len(MAGIC)) != MAGIC:
                    return False
        return all(_OWN_NAME.fullmatch(name) for name in names)

    def find_leftovers(self, manifest: AnyManifest) -> list[Path]:
        """Files that the manifest does not name, and temporary ones."""
        found = (path for pattern in _DATA_FILES for path in self.folder.glob(pattern))
        used = files_in_use(manifest)
        return sorted(path for path in found if path.name not in used)

    def remove_leftovers(self, manifest: AnyManifest) -> None:
        """Remove leftover files. Readers keep what they have mapped."""
        from lurcher.storage import disk

        for path in self.find_leftovers(manifest):
            disk.remove_file(path)

    def clear(self) -> bool:
        """Remove the index, the manifest first; True if there was one. The caller holds the lock."""
        from lurcher.storage import disk

        self.memory.clear()
        found = disk.remove_file(self.folder / manifests.NAME, must=True)
        if found:
            disk.sync_folder(self.folder)  # after a power cut, the manifest must not be back without its segments
        disk.remove_file(self.folder / SCIP_NAME)
        return any([disk.remove_file(path) for path in self.find_leftovers(self.format.empty({}))]) or found

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """Hold the writer's lock; the system frees it when the process dies."""
        from contextlib import contextmanager  # slow to import, and most queries write nothing

        return contextmanager(self._hold_lock)(seconds)

    def _hold_lock(self, seconds: float) -> Iterator[None]:
        from lurcher.storage import disk

        try:
            self.prepare()
            lock = disk.IndexLock.acquire(self.folder / disk.LOCK_NAME, seconds)
        except OSError as error:
            self.fall_back_to_memory(error)
            yield
            return
        self.held_lock = lock
        try:
            yield
        finally:
            self.held_lock = None
            lock.release()


def live_rows_by_segment(manifest: Manifest) -> list[list[int]]:
    """For each segment the live rows of its file table."""
    rows = manifest.rows
    if isinstance(rows, FileRows):
        segments, places = rows.locations
        return [places[segments == number].tolist() for number in range(len(manifest.segments))]
    live: list[list[int]] = [[] for _ in manifest.segments]
    for row in rows.values():
        if row.segment != NO_SEGMENT:
            live[row.segment].append(row.place)
    return live


def live_mask(count: int, places: Sequence[int]) -> NDArray[np.bool_] | None:
    """A mask of `count` files, True for live ones; None where all are."""
    if len(places) == count:
        return None
    from lurcher.runtime.kernel import np

    mask = np.zeros(count, bool)
    mask[list(places)] = True
    return mask


def open_segments(store: IndexFolder, manifest: Manifest, model: str = "") -> list[Segment]:
    """The segments of a manifest, mapped, each with its live files and its vectors of the model with that digest, if any."""
    live = live_rows_by_segment(manifest)
    segments = []
    for name, places in zip(manifest.segments, live, strict=True):
        container = store.container(name)
        count = int(container.meta["files"])
        if places and max(places) >= count:
            raise CorruptIndex(f"the manifest does not fit {name}", Template("{run index: rebuild}"))
        segments.append(Segment(container, live_mask(count, places)))
        segments[-1].vectors = find_vectors(store, name, container, manifest.vectors, model)
    return segments


def find_vectors(
    store: IndexFolder, name: str, segment: Container, vectors: Mapping[str, VectorSidecar], model: str
) -> Container | None:
    """The container with a segment's vectors of the model with that digest: the segment itself, or a sidecar."""
    if model and segment.meta.get("model") == model:
        return segment
    sidecar = vectors.get(model)
    if sidecar is None or name not in sidecar.files:
        return None
    from lurcher.storage.vectors import KIND, check_sidecar

    try:
        return check_sidecar(store.open_file(sidecar.files[name], KIND), segment, model, store.schema.provided)
    except (CorruptIndex, OSError):
        return None  # it is made again with the next vectors


def open_snapshot(store: IndexFolder, manifest: Manifest, model: str = "") -> Snapshot:
    several = len(manifest.segments) > 1  # a single segment is in path order
    order = [(row.segment, row.place) for row in manifest.rows.values() if row.segment != NO_SEGMENT] if several else ()
    return Snapshot(open_segments(store, manifest, model), manifest.generation, order)


def index_folder_of(root: Root, settings: Settings) -> str:
    """The folder for the index of a root, as the settings say."""
    if not settings.index.dir:
        folder = os.path.join(root.place, INDEX_FOLDER)
        if os.path.islink(folder):
            raise PathError(f"the index folder {folder} is a link", "remove it, or set LURCHER_INDEX_DIR")
        return folder
    base = os.path.expanduser(settings.index.dir)
    origin = settings.origins.get("index.dir")
    if origin in (PROJECT_FILE, PYPROJECT):
        # The settings of a repository must not make us write outside of it, over its files, or into hidden folders of git
        # and other tools.
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
    # One folder may serve many roots: each gets a folder inside.
    return os.path.join(os.path.realpath(base), f"{root.name or 'root'}-{digest_root(root)}")


def digest_root(root: Root) -> str:
    return blake2b(os.fsencode(root.place), digest_size=6).hexdigest()

