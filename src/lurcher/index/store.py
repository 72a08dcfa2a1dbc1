"""Where an index lives: segments and a manifest in a folder, one writer at a time, and memory where nothing can be written."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import CorruptIndex, IndexLocked
from lurcher.index import disk
from lurcher.index import manifest as manifests
from lurcher.index.container import MAGIC, Container, digest_of, pack_sections
from lurcher.index.disk import write_atomically
from lurcher.index.manifest import MARK, NO_SEGMENT, Manifest
from lurcher.index.reader import Segment, Snapshot
from lurcher.index.segment import SegmentData, check_shape, encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_SWEPT = ("*.segment", ".*.segment.*.tmp", ".manifest.*.tmp")
_OWN_NAME = re.compile(r"manifest|lock|\.gitignore|[0-9a-f]{24}\.segment|\..*\.tmp")
_MARK_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is an index of lurcher; it can be removed.\n"


@dataclass
class Store:
    """Where segments live: a folder, and memory for what the folder will not take."""

    folder: Path
    memory: dict[str, Container] = field(default_factory=dict)
    writable: bool = True
    problem: str = ""
    """Why nothing can be written, once that is known."""

    def container(self, name: str) -> Container:
        if name in self.memory:
            return self.memory[name]
        container = check_shape(Container.open(self.folder / name))
        if name != f"{container.digest()}.segment":
            raise container.corrupt("it holds what belongs under another name")
        return container

    def read(self, expected: Mapping[str, Any]) -> Manifest | None:
        """The manifest on disk; None where there is none of ours."""
        return manifests.read(self.folder, expected) if (self.folder / MARK).exists() else None

    def put(self, data: SegmentData) -> str:
        """Store a segment under the name that its content gives it."""
        pieces = pack_sections(*encode(data))
        name = f"{digest_of(pieces)}.segment"
        if self.writable:
            try:
                self.prepare()
                write_atomically(self.folder / name, pieces)
                return name
            except OSError as error:
                self.give_up(error)
        self.memory[name] = Container(b"".join(pieces), name)
        return name

    def commit(self, manifest: Manifest) -> None:
        if self.writable and not self.memory:
            try:
                self.prepare()
                manifests.write(self.folder, manifest)
                self.sweep(manifest)
            except OSError as error:
                self.give_up(error)

    def give_up(self, error: OSError) -> None:
        self.writable = False
        self.problem = error.strerror or str(error)

    def prepare(self) -> None:
        """Make the folder ours. One that holds other things and does not bear our mark is left alone."""
        disk.make_folder(self.folder)
        names = os.listdir(self.folder)
        if MARK not in names:
            if not self._is_ours(names):
                raise OSError(errno.ENOTEMPTY, f"{self.folder} holds other files and is not an index folder")
            disk.create(self.folder / MARK, _MARK_TEXT)
            disk.sync_folder(self.folder)  # what is found here without the mark would be taken for someone else's
        if ".gitignore" not in names:
            disk.create(self.folder / ".gitignore", "*\n")

    def _is_ours(self, names: list[str]) -> bool:
        """Whether a folder without our mark holds nothing but what we put there, if anything."""
        if manifests.NAME in names:
            with open(self.folder / manifests.NAME, "rb") as handle:
                if handle.read(len(MAGIC)) != MAGIC:
                    return False
        return all(_OWN_NAME.fullmatch(name) for name in names)

    def leftovers(self, manifest: Manifest) -> list[Path]:
        """Segments that no manifest names, and what a killed writer left."""
        found = (path for pattern in _SWEPT for path in self.folder.glob(pattern))
        return sorted(path for path in found if path.name not in manifest.segments)

    def sweep(self, manifest: Manifest) -> None:
        """Remove what is left over. Readers keep what they have mapped."""
        for path in self.leftovers(manifest):
            disk.remove(path)

    def clear(self) -> bool:
        """Remove the index, the manifest first; True if there was one."""
        found = disk.remove(self.folder / manifests.NAME, must=True)
        if found:
            disk.sync_folder(self.folder)  # a manifest must not come back without its segments
        return any([disk.remove(path) for path in self.leftovers(manifests.empty({}))]) or found

    @contextlib.contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        """One writer at a time; the system frees the lock of a process that dies."""
        try:
            self.prepare()
            disk.step("lock", self.folder / "lock")
            descriptor = _open_lock(self.folder / "lock")
        except OSError as error:
            self.give_up(error)
            yield
            return
        try:
            _acquire(descriptor, seconds)
            yield
        finally:
            os.close(descriptor)


def _open_lock(path: Path) -> int:
    """The lock file, whatever it holds. One that may only be read can be locked as well as any other."""
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            return os.open(path, os.O_RDWR | flags, 0o666)
        except PermissionError:
            return os.open(path, os.O_RDONLY | flags, 0o666)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ELOOP, errno.EMLINK):
            raise OSError(error.errno, f"{path} is not a file") from error
        raise


def _acquire(descriptor: int, seconds: float) -> None:
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise IndexLocked("another process is writing the index", "wait for it, or raise index.lock_seconds") from error
            time.sleep(0.02)
        except OSError:  # a file system without locks, as some network ones are
            return


def live_places(manifest: Manifest) -> list[list[int]]:
    """For each segment the rows of its file table that are live."""
    live: list[list[int]] = [[] for _ in manifest.segments]
    for row in manifest.rows.values():
        if row.segment != NO_SEGMENT:
            live[row.segment].append(row.place)
    return live


def live_mask(count: int, places: Sequence[int]) -> NDArray[np.bool_] | None:
    """Which of `count` files are live; None where all are."""
    if len(places) == count:
        return None
    import numpy as np

    mask = np.zeros(count, bool)
    mask[list(places)] = True
    return mask


def open_segments(store: Store, manifest: Manifest, prefix: str = "") -> list[Segment]:
    """The manifest's segments, mapped, each with its live files."""
    live = live_places(manifest)
    segments = []
    for name, places in zip(manifest.segments, live, strict=True):
        container = store.container(name)
        count = int(container.meta["files"])
        if places and max(places) >= count:
            raise CorruptIndex(f"the manifest does not fit {name}", "run: lurcher index --rebuild")
        segments.append(Segment(container, live_mask(count, places), prefix))
    return segments


def snapshot(store: Store, manifest: Manifest) -> Snapshot:
    order = [(row.segment, row.place) for row in manifest.rows.values() if row.segment != NO_SEGMENT]
    return Snapshot(open_segments(store, manifest), manifest.generation, order)
