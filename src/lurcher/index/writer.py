"""Brings an index up to date: reads what changed, builds a segment of it, and swaps the manifest.

    listing ──► changes ──► texts ──► shards ──► segment ──► manifest (the commit) ──► sweep

Work is proportional to the change. Nothing that exists is touched before the new manifest is in place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.errors import CorruptIndex, IndexLocked
from lurcher.index import manifest as manifests
from lurcher.index.build import build
from lurcher.index.container import Container, pack_sections, write_atomically
from lurcher.index.freshness import Changes, racy
from lurcher.index.manifest import NO_SEGMENT, SKIP_REASONS, Manifest, Row
from lurcher.index.reader import Segment, Snapshot
from lurcher.index.segment import SegmentData, check_shape, decode, encode, merge
from lurcher.sources.decode import Skip, read_text
from lurcher.sources.files import Entry, Listing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, of how many)."""

SHARD_BYTES = 2_000_000
PARALLEL_BYTES = 3_000_000
"""Below this a child process costs more than it saves."""
MAX_SEGMENTS = 8
MAX_DEAD_SHARE = 0.5


@dataclass
class Store:
    """Where segments live: a folder, and memory for what the folder will not take."""

    folder: Path
    memory: dict[str, Container] = field(default_factory=dict)
    writable: bool = True
    problem: str = ""
    """Why nothing can be written, once that is known."""

    def container(self, name: str) -> Container:
        return self.memory.get(name) or check_shape(Container.open(self.folder / name))

    def put(self, data: SegmentData) -> str:
        """Store a segment under a name made from its content."""
        pieces = pack_sections(*encode(data))
        digest = hashlib.blake2b(digest_size=12)
        for piece in pieces:
            digest.update(piece)
        name = f"{digest.hexdigest()}.segment"
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
        self.folder.mkdir(parents=True, exist_ok=True)
        # A link could come with the repository and lead anywhere: nothing is written through one.
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(self.folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with open(descriptor, "w") as handle:
                handle.write("*\n")

    def sweep(self, manifest: Manifest) -> None:
        """Remove segments that no manifest names, and what a killed writer left. Readers keep what they have mapped."""
        for path in (*self.folder.glob("*.segment"), *self.folder.glob(".*.tmp")):
            if path.name not in manifest.segments:
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextlib.contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        """One writer at a time; the system frees the lock of a process that dies."""
        try:
            self.prepare()
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self.give_up(error)
            yield
            return
        try:
            _acquire(descriptor, seconds)
            yield
        finally:
            os.close(descriptor)


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


def update(
    store: Store,
    root: Path,
    current: Manifest,
    listing: Listing,
    changes: Changes,
    *,
    generation: int,
    chunk_chars: int,
    max_file_bytes: int,
    follow_symlinks: bool,
    workers: int,
    progress: Progress,
) -> Manifest:
    """The generation after `generation`. Where nothing but time stamps changed, the segments stay as they are."""
    checked = time.time_ns()
    rows = dict(current.rows)
    for path in changes.gone:
        del rows[path]
    texts: list[tuple[str, bytes]] = []
    new: dict[str, tuple[Entry, bytes]] = {}
    touched = dropped = False
    total = len(changes.suspects)
    for done, entry in enumerate(changes.suspects):
        if done % 256 == 0:
            progress("reading", done, total)
        outcome = read_text(root / entry.path, max_file_bytes, follow_symlinks=follow_symlinks)
        old = rows.get(entry.path)
        digest = bytes.fromhex(outcome.digest) if outcome.digest else bytes(16)
        if old is not None and old.digest == digest and outcome.digest:
            fresh = old._replace(size=entry.size, mtime_ns=entry.mtime_ns, ctime_ns=entry.ctime_ns, inode=entry.inode)
            touched = touched or fresh != old or racy(old.mtime_ns, current.checked_ns)
            rows[entry.path] = fresh
        elif isinstance(outcome, Skip):
            if outcome.reason == "vanished":
                rows.pop(entry.path, None)
                continue
            reason = outcome.reason if outcome.reason in SKIP_REASONS else "other"
            rows[entry.path] = Row(
                digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, NO_SEGMENT, SKIP_REASONS.index(reason)
            )
            touched = True
            dropped = dropped or (old is not None and old.segment != NO_SEGMENT)
        else:
            texts.append((entry.path, outcome.data))
            new[entry.path] = (entry, digest)
    progress("reading", total, total)
    if not texts and not changes.gone and not touched and current.generation:
        return current
    segments = list(current.segments)
    if texts:
        data = _build(texts, chunk_chars, workers, progress)
        segments.append(store.put(data))
        for place, (path, _) in enumerate(texts):
            entry, digest = new[path]
            rows[path] = Row(digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, len(segments) - 1, place)
    content_changed = bool(texts or changes.gone or dropped or rows.keys() != current.rows.keys())
    manifest = Manifest(
        generation + 1 if content_changed or not current.generation else generation,
        current.fingerprint, tuple(segments), rows, listing.skipped, checked,
    )  # fmt: skip
    manifest = _compact(store, _sorted(manifest))
    store.commit(manifest)
    return manifest


def _build(texts: list[tuple[str, bytes]], chunk_chars: int, workers: int, progress: Progress) -> SegmentData:
    texts.sort()
    size = sum(len(text) for _, text in texts)
    shards: list[list[tuple[str, bytes]]] = [[]]
    filled = 0
    for item in texts:
        if filled + len(item[1]) > SHARD_BYTES and shards[-1]:
            shards.append([])
            filled = 0
        shards[-1].append(item)
        filled += len(item[1])
    if len(shards) == 1:
        progress("indexing", 0, len(texts))
        data = build(shards[0], chunk_chars)
        progress("indexing", len(texts), len(texts))
        return data
    from lurcher.index.worker import build_shards

    finished = 0

    def advance(files: int) -> None:
        nonlocal finished
        finished += files
        progress("indexing", finished, len(texts))

    count = workers or (os.cpu_count() or 1 if size >= PARALLEL_BYTES else 1)
    parts = build_shards(shards, chunk_chars, count, advance)
    return merge(parts, [None] * len(parts))


def _live(manifest: Manifest) -> list[list[int]]:
    """For each segment the rows of its file table that are live."""
    live: list[list[int]] = [[] for _ in manifest.segments]
    for row in manifest.rows.values():
        if row.segment != NO_SEGMENT:
            live[row.segment].append(row.place)
    return live


def _mask(count: int, places: Sequence[int]) -> NDArray[np.bool_] | None:
    import numpy as np

    if len(places) == count:
        return None
    mask = np.zeros(count, bool)
    mask[list(places)] = True
    return mask


def _compact(store: Store, manifest: Manifest) -> Manifest:
    """Drop dead segments, and merge when there are many or when much of them is dead."""
    live = _live(manifest)
    containers = [store.container(name) for name in manifest.segments]
    counts = [int(container.meta["files"]) for container in containers]
    keep = [i for i, places in enumerate(live) if places]
    dead = sum(counts[i] - len(live[i]) for i in keep)
    merging: list[int] = []
    if dead > MAX_DEAD_SHARE * max(sum(len(live[i]) for i in keep), 1):
        merging = keep
    elif len(keep) > MAX_SEGMENTS:
        largest = max(keep, key=lambda i: (counts[i], -i))
        merging = [i for i in keep if i != largest]
        if sum(len(live[i]) for i in merging) * 4 > counts[largest]:
            merging = keep
    if not merging:
        if len(keep) == len(manifest.segments):
            return manifest
        moved = {old: new for new, old in enumerate(keep)}
        rows = {
            path: row if row.segment == NO_SEGMENT else row._replace(segment=moved[row.segment])
            for path, row in manifest.rows.items()
        }
        return _with(manifest, tuple(manifest.segments[i] for i in keep), rows)
    data = merge([decode(containers[i]) for i in merging], [_mask(counts[i], live[i]) for i in merging])
    rest = [i for i in keep if i not in merging]
    names = (*(manifest.segments[i] for i in rest), store.put(data))
    moved = {old: new for new, old in enumerate(rest)}
    merged = set(merging)
    places = {path: place for place, path in enumerate(sorted(p for p, r in manifest.rows.items() if r.segment in merged))}
    rows = {}
    for path, row in manifest.rows.items():
        if row.segment in merged:
            row = row._replace(segment=len(rest), place=places[path])
        elif row.segment != NO_SEGMENT:
            row = row._replace(segment=moved[row.segment])
        rows[path] = row
    return _with(manifest, names, rows)


def _sorted(manifest: Manifest) -> Manifest:
    """Rows in path order, as a manifest read from disk has them."""
    return _with(manifest, manifest.segments, {path: manifest.rows[path] for path in sorted(manifest.rows)})


def _with(manifest: Manifest, segments: tuple[str, ...], rows: dict[str, Row]) -> Manifest:
    return Manifest(manifest.generation, manifest.fingerprint, segments, rows, manifest.skipped, manifest.checked_ns)


def open_segments(store: Store, manifest: Manifest, prefix: str = "") -> list[Segment]:
    """The manifest's segments, mapped, each with its live files."""
    live = _live(manifest)
    segments = []
    for name, places in zip(manifest.segments, live, strict=True):
        container = store.container(name)
        count = int(container.meta["files"])
        if places and max(places) >= count:
            raise CorruptIndex(f"the manifest does not fit {name}", "run: lurcher index --rebuild")
        segments.append(Segment(container, _mask(count, places), prefix))
    return segments


def snapshot(store: Store, manifest: Manifest) -> Snapshot:
    order = [(row.segment, row.place) for row in manifest.rows.values() if row.segment != NO_SEGMENT]
    return Snapshot(open_segments(store, manifest), manifest.generation, order)
