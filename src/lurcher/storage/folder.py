"""Where an index lives: segments and a manifest in a folder, one writer at a time, and memory where nothing can be written."""

from __future__ import annotations

import errno
import itertools
import math
import os
import time
from _weakref import ref

from lurcher.errors import CorruptIndex, Template
from lurcher.runtime.light import TYPE_CHECKING, Protocol, cached_property, dataclass, field, pattern
from lurcher.runtime.paths import exists
from lurcher.storage import manifest as manifests
from lurcher.storage.container import MAGIC, Container, stamp_of
from lurcher.storage.manifest import MARK, NO_SEGMENT, Manifest, Rows
from lurcher.storage.segment import check_shape
from lurcher.storage.segment_reader import Segment
from lurcher.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.container import Stamp
    from lurcher.storage.container_writer import Builder
    from lurcher.storage.lock import Lock
    from lurcher.storage.sidecar import Apart, Group

_SWEPT = ("*.segment", "*.vectors", ".*.tmp")
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Reasons that a long-running process may outlive."""
_LONGEST_PAUSE = 3600.0
_OWN_NAME = pattern(r"manifest|lock|history|libraries|\.gitignore|[0-9a-f]{24}\.(?:segment|vectors|outcomes)|\..*\.tmp")
_numbers = itertools.count()
MARK_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is an index of lurcher; it can be removed.\n"


class Naming(Protocol):
    """What says which segments are in use, and which files of vectors."""

    @property
    def segments(self) -> tuple[str, ...]: ...

    @property
    def vectors(self) -> Mapping[str, Apart]: ...


@dataclass
class Store:
    """Where segments live: a folder, and memory for what the folder will not take."""

    place: str
    """The folder."""
    memory: dict[str, Container] = field(default_factory=dict)
    writable: bool = True
    problem: str = ""
    """Why nothing can be written, once that is known."""
    held: Lock | None = None
    """The lock, while we write."""
    root: Path | str | None = None
    """The tree around the folder, if it lies in one: that is not made anew when it is gone."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Those of files that were written here, or that a manifest has from whoever wrote them."""
    _opened: dict[str, ref[Container]] = field(default_factory=dict)
    """Files that somebody may still have mapped: the next generation has most of them too, and need not map them again."""
    _retry_at: float = math.inf
    _pause: float = 30.0

    @cached_property
    def folder(self) -> Path:
        from pathlib import Path

        return Path(self.place)

    def container(self, name: str) -> Container:
        if name in self.memory:
            return self.memory[name]
        return self._mapped(name, "segment")

    def other(self, name: str, kind: str) -> Container:
        """The file of that name, which is of `kind` and no segment."""
        if name in self.memory:
            return self.memory[name]
        return self._mapped(name, kind)

    def _mapped(self, name: str, kind: str) -> Container:
        place = os.path.join(self.place, name)
        kept = self._opened.get(name)
        known = None if kept is None else kept()
        if known is not None and known.is_at(place):
            return known
        container = Container.open(place, self.stamps.get(name))
        if kind == "segment":
            self.checked(container)
        if name != f"{container.digest()}.{kind}":
            raise container.corrupt("it holds what belongs under another name")
        self._opened = {other: kept for other, kept in self._opened.items() if kept() is not None}
        self._opened[name] = ref(container)
        return container

    def sound(self, vectors: Mapping[str, Apart]) -> dict[str, Apart]:
        """The same without files of vectors that are damaged."""
        from lurcher.storage.sidecar import KIND, Apart, names_in

        damaged = set()
        for name in names_in(vectors):
            try:
                self.other(name, KIND).verify()
            except CorruptIndex:
                damaged.add(name)
        return {
            digest: Apart(apart.about, apart.dims, {key: name for key, name in apart.files.items() if name not in damaged})
            for digest, apart in vectors.items()
        }

    def checked(self, container: Container) -> Container:
        """The container, if it is a segment."""
        return check_shape(container)

    def read(self, expected: Mapping[str, Any]) -> Manifest | None:
        """The manifest on disk; None where there is none of ours."""
        manifest = manifests.read(self.place, expected) if exists(os.path.join(self.place, MARK)) else None
        if manifest is not None:
            self.stamps = {**self.stamps, **manifest.stamps}
        return manifest

    def put(self, fill: Callable[[Builder], str], kind: str = "segment") -> str:
        """Store the segment that `fill` writes, or what else `kind` says, under a name made from its content."""
        from lurcher.storage.container_writer import Builder

        if self.writable:
            from lurcher.storage import disk

            try:
                self.prepare()
                with disk.Draft(self.folder, kind) as draft:
                    name = f"{fill(Builder(draft.write))}.{kind}"
                    stamp = stamp_of(os.lstat(draft.keep(name)))
                if stamp is not None:
                    self.stamps[name] = stamp
                return name
            except OSError as error:
                self.give_up(error)
        pieces: list[bytes | memoryview] = []
        name = f"{fill(Builder(pieces.append))}.{kind}"
        self.memory[name] = Container(b"".join(pieces), name)
        return name

    def scratch(self) -> Path | None:
        """A name for a file that is needed while a segment is made; None where nothing can be written."""
        return self.folder / f".scratch.{os.getpid()}-{next(_numbers)}.tmp" if self.writable else None

    def commit(self, manifest: Manifest) -> None:
        self.forget_others(manifest)
        if self.writable and not self.memory:
            try:
                self.prepare()
                manifests.write(self.folder, manifest, self.stamps)
                self.sweep(manifest)
            except OSError as error:
                self.give_up(error)

    def forget_others(self, manifest: Naming) -> None:
        """Let go of what a new generation does not name: its readers have what they read from."""
        named = self.named_by(manifest)
        self.memory = {name: container for name, container in self.memory.items() if name in named}
        self.stamps = {name: stamp for name, stamp in self.stamps.items() if name in named}

    def give_up(self, error: OSError) -> None:
        """Stay in memory from now on; for a while only, if the reason may pass."""
        self.writable = False
        self.problem = error.strerror or str(error)
        if error.errno in _PASSING:
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        else:
            self._retry_at = math.inf

    def take_heart(self) -> bool:
        """Try the disk again, if it is time to; what was in memory only is forgotten then, and has to be made again."""
        if self.writable or time.monotonic() < self._retry_at:
            return False
        self.writable, self.problem = True, ""
        self.memory.clear()
        return True

    def prepare(self) -> None:
        """Make the folder ours. One that holds other things and does not bear our mark is left alone."""
        if self.root is not None and not os.path.isdir(self.root):
            raise OSError(errno.ENOENT, f"{self.root} is gone")
        from lurcher.storage import disk

        disk.make_folder(self.folder)
        names = os.listdir(self.folder)
        marked = MARK in names
        if not marked and not self._is_ours(names):
            raise OSError(errno.ENOTEMPTY, f"{self.folder} holds other files and is not an index folder")
        disk.close_folder(self.folder)
        disk.create(self.folder / MARK, MARK_TEXT)
        if not marked:
            disk.sync_folder(self.folder)  # what is found here without the mark would be taken for someone else's
        disk.create(self.folder / ".gitignore", "*\n")

    def _is_ours(self, names: list[str]) -> bool:
        """Whether a folder without our mark holds nothing but what we put there, if anything."""
        if manifests.NAME in names:
            # Neither a link nor a pipe is followed or waited for.
            descriptor = os.open(self.folder / manifests.NAME, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(descriptor, "rb") as handle:
                if handle.read(len(MAGIC)) != MAGIC:
                    return False
        return all(_OWN_NAME.fullmatch(name) for name in names)

    def named_by(self, manifest: Naming) -> set[str]:
        """The files that a generation is made of."""
        from lurcher.storage.sidecar import names_in

        return {*manifest.segments, *names_in(manifest.vectors)}

    def leftovers(self, manifest: Naming) -> list[Path]:
        """Segments and vectors that no manifest names, and what a killed writer left."""
        found = (path for pattern in _SWEPT for path in self.folder.glob(pattern))
        kept = self.named_by(manifest)
        return sorted(path for path in found if path.name not in kept)

    def sweep(self, manifest: Naming) -> None:
        """Remove what is left over. Readers keep what they have mapped."""
        from lurcher.storage import disk

        for path in self.leftovers(manifest):
            disk.remove(path)

    def clear(self) -> bool:
        """Remove the index, the manifest first; True if there was one. The caller holds the lock."""
        from lurcher.storage import disk

        self.memory.clear()
        found = disk.remove(self.folder / manifests.NAME, must=True)
        if found:
            disk.sync_folder(self.folder)  # a manifest must not come back without its segments
        return any([disk.remove(path) for path in self.leftovers(manifests.empty({}))]) or found

    def lock(self, seconds: float) -> AbstractContextManager[None]:
        """One writer at a time; the system frees the lock of a process that dies."""
        from contextlib import contextmanager  # most queries write nothing

        return contextmanager(self._locked)(seconds)

    def _locked(self, seconds: float) -> Iterator[None]:
        from lurcher.storage import lock as locks

        try:
            self.prepare()
            lock = locks.Lock.take(self.folder / locks.NAME, seconds)
        except OSError as error:
            self.give_up(error)
            yield
            return
        self.held = lock
        try:
            yield
        finally:
            self.held = None
            lock.release()


def live_places(manifest: Manifest) -> list[list[int]]:
    """For each segment the rows of its file table that are live."""
    rows = manifest.rows
    if isinstance(rows, Rows):
        segments, places = rows.where
        return [places[segments == number].tolist() for number in range(len(manifest.segments))]
    live: list[list[int]] = [[] for _ in manifest.segments]
    for row in rows.values():
        if row.segment != NO_SEGMENT:
            live[row.segment].append(row.place)
    return live


def live_mask(count: int, places: Sequence[int]) -> NDArray[np.bool_] | None:
    """Which of `count` files are live; None where all are."""
    if len(places) == count:
        return None
    from lurcher.runtime.arrays import np

    mask = np.zeros(count, bool)
    mask[list(places)] = True
    return mask


def open_segments(store: Store, manifest: Manifest, model: str = "") -> list[Segment]:
    """The manifest's segments, mapped, each with its live files, and with vectors by the model of that digest if it has any."""
    live = live_places(manifest)
    segments = []
    for name, places in zip(manifest.segments, live, strict=True):
        container = store.container(name)
        count = int(container.meta["files"])
        if places and max(places) >= count:
            raise CorruptIndex(f"the manifest does not fit {name}", Template("{run index: rebuild}"))
        segments.append(Segment(container, live_mask(count, places)))
        segments[-1].vectors = vectors_by(store, name, container, manifest.vectors, model)
    return segments


def vectors_by(
    store: Store, name: str, segment: Container, vectors: Mapping[str, Apart], model: str,
    groups: tuple[Group, ...] | None = None,
) -> Container | None:
    """What holds a segment's vectors by the model of that digest: the segment itself, or a file apart from it."""
    if model and segment.meta.get("model") == model:
        return segment
    apart = vectors.get(model)
    if apart is None or name not in apart.files:
        return None
    from lurcher.storage.sidecar import KIND, VECTOR_GROUPS, check_apart

    try:
        return check_apart(store.other(apart.files[name], KIND), segment, model, groups or VECTOR_GROUPS)
    except (CorruptIndex, OSError):
        return None  # it is made again, when vectors are


def snapshot(store: Store, manifest: Manifest, model: str = "") -> Snapshot:
    several = len(manifest.segments) > 1  # one segment is in path order by itself
    order = [(row.segment, row.place) for row in manifest.rows.values() if row.segment != NO_SEGMENT] if several else ()
    return Snapshot(open_segments(store, manifest, model), manifest.generation, order)
