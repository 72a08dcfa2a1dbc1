"""Writes a generation: reads what changed, builds a segment of it, and replaces the manifest.

    listing ──► changes ──► shards of text ──► parts ──► segment ──► manifest (the commit) ──► removal of old files

Work is proportional to the change, and memory to a few shards. No existing file is touched before the new manifest is in place.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.indexing.build import InputFiles, ReadResult, TreeReader, build_segment, read_inputs
from lurcher.indexing.freshness import Changes, is_stamp_trusted, settle_signature
from lurcher.languages.detect import detect
from lurcher.languages.grammar import merged
from lurcher.runtime.kernel import trim_heap
from lurcher.runtime.process import GC_PAUSED
from lurcher.sources import Entry, Listing
from lurcher.sources.decode import Skip, Text
from lurcher.sources.roles import DATA, EXAMPLE, LEGACY, SETUP, TEST, VENDORED, roles
from lurcher.storage import IndexFolder, live_mask, live_rows_by_segment
from lurcher.storage.container import Container
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS, WAITING, FileRow, Manifest
from lurcher.storage.merge import merge_segments
from lurcher.storage.segment_writer import write_segment
from lurcher.types import Progress

if TYPE_CHECKING:
    from lurcher.vectors.table import Table

SHARD_BYTES = 2_000_000
MIN_SHARD_BYTES = 150_000
SHARD_SHARE = 4
"""A shard is at most this part of the remaining bytes, so that the last shards are small and all processes end together."""
PARALLEL_BYTES = 3_000_000
"""Bytes below which a worker costs more than it saves."""
MAX_WORKERS = 3
"""The default limit: each worker takes more than 100 MB of memory."""
_MIN_LANGUAGE_SHARE = 100
"""Grammars of languages with less than one part in this many of the bytes are not loaded ahead."""
READ_SHARE = 0.8
"""The part of `index.first_answer_seconds` in which a first build starts on further files; the rest is for the files it has
started on, and for the answer."""
_SMALL_BYTES, _LARGE_BYTES = 16_000, 64_000
"""Small files come first in a first build, so that its first generation has many files from all over the tree."""
MAX_SEGMENTS = 8
MAX_DEAD_SHARE = 0.5
"""Dead rows for each live one, above which segments are merged."""
MAX_LINKED_DEAD_SHARE = 2.0
"""The same where some segments are linked: more would slow queries down more than they save."""
MAX_GROWTH, MAX_LINKED_GROWTH = 0.25, 1.0
"""Rows of other segments for each row of the largest one, above which that one is merged too; and where it is linked."""


def write_generation(
    store: IndexFolder,
    root: Path,
    current: Manifest,
    listing: Listing,
    changes: Changes,
    *,
    fingerprint: Mapping[str, Any],
    generation: int,
    checked_ns: int,
    chunk_chars: int,
    table: Table | None,
    max_file_bytes: int,
    follow_symlinks: bool,
    secrets: bool,
    workers: int,
    progress: Progress,
    until: float | None = None,
) -> Manifest:
    """Write the generation after `generation`. If only time stamps changed, the segments stay as they are.

    `fingerprint` is that of new segments. `checked_ns` is before the first stat of any file: what changes from then on, even
    while it is read, gets a time stamp that is not trusted or differs from that in `listing`. After `until`, on the monotonic
    clock, no further files are started; they wait for the next update.
    """
    tree = TreeReader(str(root), max_file_bytes, follow_symlinks, secrets)
    changed = _ChangedFiles(tree, current, changes, checked_ns, progress, until)
    maker = _SegmentMaker(store, chunk_chars, table, workers, changed)
    name = maker.segment()
    rows = changed.rows
    waiting, was_partial = changed.waiting, current.is_partial
    if name is None and not changes.gone and not changed.rows_changed and current.generation and not was_partial:
        return current
    segments = list(current.segments)
    if name is not None:
        segments.append(name)
        for place, (entry, digest) in enumerate(sorted(changed.new, key=lambda new: new[0].path)):
            rows[entry.path] = FileRow(
                digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, len(segments) - 1, place
            )
    content_changed = bool(name or changes.gone or changed.text_dropped or rows.keys() != current.rows.keys())
    manifest = Manifest(
        generation + 1 if content_changed or not current.generation else generation,
        fingerprint if name or not current.generation else current.fingerprint, tuple(segments), rows,
        {**listing.skipped, WAITING: waiting} if waiting else listing.skipped, checked_ns, frozenset(changed.settled),
        # A signature would not tell that files are waiting.
        None if waiting else settle_signature(listing.signature, current.signature, checked_ns), current.vectors,
        merged(current.grammars, store.container(name).meta["languages"]) if name else current.grammars,
        examples=listing.examples,
    )  # fmt: skip
    manifest = _compact(store, _sort_rows(manifest), whole=was_partial and not waiting)
    store.commit(manifest)
    return manifest


def preload_modules(embeds: bool) -> None:
    """Import the modules that a first build needs, while something else is waited for."""
    modules = ["numpy", "lz4.block", "lurcher.indexing.workers", *["lurcher.vectors.static"] * embeds]
    for name in modules:
        import_module(name)


class _ChangedFiles:
    """Reads files that may have changed, in path order or by priority, and yields new texts in shards."""

    def __init__(
        self,
        tree: TreeReader,
        current: Manifest,
        changes: Changes,
        checked_ns: int,
        progress: Progress,
        until: float | None,
    ) -> None:
        self._current, self._until = current, until
        self.tree = tree
        in_order = until is None
        self._suspects = sorted(changes.suspects) if in_order else by_priority(changes.suspects, current.rows)
        self.waiting = 0
        """Files that there was no time for."""
        self._checked_ns = checked_ns
        self._in_order = in_order
        self._shard_offsets: dict[str, int] = {}
        """Bytes of text before each shard, by its first path, assuming that every text is as long as its file."""
        self._excess_bytes = 0
        """By how many bytes the texts read so far are longer than their files."""
        self._unread: dict[str, Entry] = {}
        """Files that a builder is going to read."""
        self._progress = progress
        self._done = 0
        self.rows = dict(current.rows)
        for path in changes.gone:
            del self.rows[path]
        self.new: list[tuple[Entry, bytes]] = []
        """Files with new text, and its digest."""
        self.settled = set(current.settled)
        self.rows_changed = self.text_dropped = False

    @property
    def size(self) -> int:
        """Total bytes to read."""
        return sum(entry.size for entry in self._suspects)

    def load_grammars(self) -> None:
        """Load the grammars that most files need, so that forked workers share them."""
        from lurcher.chunking.code import load_grammar

        sizes: dict[str, int] = {}
        for entry in self._suspects:
            extension = entry.path.rpartition(".")[2]
            sizes[extension] = sizes.get(extension, 0) + entry.size
        least = sum(sizes.values()) // _MIN_LANGUAGE_SHARE
        for extension in sorted(extension for extension, size in sizes.items() if size >= least):
            load_grammar(detect(f"x.{extension}", b""))

    def count_done(self, files: int) -> None:
        """Count finished files."""
        self._done += files
        self._progress("indexing", self._done, len(self._suspects))

    def text_offset(self, files: InputFiles) -> int | None:
        """The offset of the texts of a shard in the whole, if unread files are as long as expected; None if unordered."""
        return self._shard_offsets.pop(files[0][0]) + self._excess_bytes if self._in_order else None

    def shards(self) -> Iterator[InputFiles]:
        self._progress("indexing", 0, len(self._suspects))
        shard: InputFiles = []
        filled, before, left = 0, 0, self.size
        most = _shard_bytes(left)
        for number, entry in enumerate(self._suspects):
            # Every update adds something, however little time there is, or a first build would never end.
            late = self._until is not None and time.monotonic() > self._until
            if late and self.new:
                self.waiting = len(self._suspects) - number
                break
            left -= entry.size
            # A file with a row may be unchanged, so it is read here; a new file is left to the builder.
            at_once = late or entry.path in self.rows
            text = self._read(entry) if at_once else None
            if at_once and text is None:
                self._done += 1
                if self._done % 256 == 0:
                    self.count_done(0)
                continue
            size = entry.size if text is None else len(text)
            if shard and filled + size > most:
                yield sorted(shard, key=_path)
                before += filled
                shard, filled = [], 0
                most = _shard_bytes(left)
            if not at_once:
                self._unread[entry.path] = entry
            if not shard:
                self._shard_offsets[entry.path] = before
            shard.append((entry.path, text))
            filled += size if size <= self.tree.max_file_bytes else 0
        if shard:
            yield sorted(shard, key=_path)

    def _read(self, entry: Entry) -> bytes | None:
        """The text of a file, if it is new."""
        outcome = self.tree.read(entry.path)
        reason = outcome.reason if isinstance(outcome, Skip) else ""
        return outcome.data if self._record(entry, reason, outcome.digest) and isinstance(outcome, Text) else None

    def note_results(self, seen: list[ReadResult]) -> None:
        """Record the results of files that a builder has read."""
        for path, reason, digest, size in seen:
            entry = self._unread.pop(path)
            self._excess_bytes += size - (entry.size if entry.size <= self.tree.max_file_bytes else 0)
            self._record(entry, reason, digest)

    def _record(self, entry: Entry, reason: str, found: str | None) -> bool:
        """Record the state of a file, with the reason if it is left out; True if it has a new text."""
        self.settled.discard(entry.path)
        old = self.rows.get(entry.path)
        digest = bytes.fromhex(found) if found else bytes(16)
        if old is not None and old.digest == digest and found:
            same = old._replace(size=entry.size, mtime_ns=entry.mtime_ns, ctime_ns=entry.ctime_ns, inode=entry.inode)
            self._keep_row(entry, old, same)
            return False
        if not reason:
            self.new.append((entry, digest))
            return True
        if reason == "vanished":
            self.rows_changed = self.rows.pop(entry.path, None) is not None or self.rows_changed
            return False
        reason = reason if reason in SKIP_REASONS else "other"
        stamps = entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode
        self._keep_row(entry, old, FileRow(digest, *stamps, NO_SEGMENT, SKIP_REASONS.index(reason)))
        self.text_dropped = self.text_dropped or (old is not None and old.segment != NO_SEGMENT)
        return False

    def _keep_row(self, entry: Entry, old: FileRow | None, row: FileRow) -> None:
        """Keep a file that needs no new segment, and record whether its time stamp can be trusted from now on."""
        belief = False if old is None else is_stamp_trusted(old, entry, self._current.checked_ns, self._checked_ns)
        self.rows_changed = self.rows_changed or row != old or belief is not False
        self.rows[entry.path] = row
        if belief is None:
            self.settled.add(entry.path)


def by_priority(entries: Iterable[Entry], known: Collection[str]) -> list[Entry]:
    """The order of a first build that may be cut short: files that the index has, then sources, then tests and documents,
    then vendored files and data; within each group small files before large ones."""

    def rank(entry: Entry) -> tuple[bool, int, int, str]:
        found = roles(entry.path)
        group = 2 if found & (VENDORED | DATA) else 1 if found & (TEST | EXAMPLE | LEGACY | SETUP) else 0
        return entry.path not in known, group, (entry.size > _SMALL_BYTES) + (entry.size > _LARGE_BYTES), entry.path

    return sorted(entries, key=rank)


def _path(file: tuple[str, bytes | None]) -> str:
    return file[0]


def _shard_bytes(left: int) -> int:
    """The size of the next shard: the last ones are small, so that all processes end at about the same time."""
    return min(SHARD_BYTES, max(left // SHARD_SHARE, min(MIN_SHARD_BYTES, SHARD_BYTES)))


class _SegmentMaker:
    """Makes one segment of the new texts: at once if they are few, else in parts that are merged."""

    def __init__(self, store: IndexFolder, chunk_chars: int, table: Table | None, workers: int, changed: _ChangedFiles) -> None:
        self._store, self._chunk_chars, self._table, self._workers = store, chunk_chars, table, workers
        self._changed = changed

    def segment(self) -> str | None:
        """The name of the segment; None where no text is new."""
        # A build makes millions of small objects and no cycles; collecting would take a tenth of the time.
        with GC_PAUSED:
            return self._segment()

    def _segment(self) -> str | None:
        shards = self._changed.shards()
        first = next(shards, None)
        if first is None:
            return None
        second = next(shards, None)
        if second is None:
            texts, seen = read_inputs(first, self._changed.tree)
            self._changed.note_results(seen)
            name = None
            if texts:
                data = build_segment(texts, self._chunk_chars, self._table, self._plain(first), self._begin)
                name = self._store.put(lambda out: write_segment(data, out))
            self._changed.count_done(len(first))
            return name
        following = itertools.chain((first, second), shards)
        del first, second  # so that they are freed once they are built
        parts = self._parts((shard, self._plain(shard)) for shard in following)
        trim_heap()
        if not parts:
            return None
        name = self._store.put(lambda out: merge_segments(parts, [None] * len(parts), out))
        trim_heap()
        return name

    def _parts(self, shards: Iterator[tuple[InputFiles, frozenset[str]]]) -> list[Container]:
        from lurcher.indexing.workers import WorkerPool

        pool = WorkerPool(
            self._chunk_chars, self._table, self._store.scratch_path, self._store.fall_back_to_memory, self._changed.count_done,
            self._begin, self._changed.tree, self._changed.note_results, self._changed.text_offset,
        )  # fmt: skip
        few = self._changed.size < PARALLEL_BYTES
        workers = self._workers or (1 if few else min(os.cpu_count() or 1, MAX_WORKERS))
        return pool.build(shards, workers, self._changed.load_grammars)

    def _begin(self, path: str) -> None:
        """Record the file that is parsed now; "" for none."""
        if self._store.held_lock is not None:
            self._store.held_lock.note_parsing(path)

    def _plain(self, shard: InputFiles) -> frozenset[str]:
        """The file at which the last writer died, if it is in this shard and crashes a worker too."""
        suspect = self._store.held_lock.suspect if self._store.held_lock is not None else ""
        file = next((item for item in shard if item[0] == suspect), None) if suspect else None
        if file is None:
            return frozenset()
        from lurcher.indexing.workers import Job, find_crashing_files

        return find_crashing_files(Job([file], self._chunk_chars, None, frozenset(), None, self._changed.tree))


def _find_linked(store: IndexFolder, manifest: Manifest, numbers: Iterable[int]) -> set[int]:
    """The segments that other indexes have too."""
    return {number for number in numbers if store.is_linked(manifest.segments[number])}


def _choose_merging(keep: list[int], counts: list[int], live: list[int], linked: set[int], *, whole: bool) -> list[int]:
    """The segments to merge, if any. What other indexes have too takes no room, and a merge would take some: it waits."""
    own = [i for i in keep if i not in linked]
    for chosen, share in ((keep, MAX_LINKED_DEAD_SHARE if linked else MAX_DEAD_SHARE), (own, MAX_DEAD_SHARE)):
        alive = sum(live[i] for i in chosen)
        if sum(counts[i] for i in chosen) - alive > share * max(alive, 1):
            return chosen
    if whole and len(own) > 1:
        return own
    if len(keep) <= MAX_SEGMENTS:
        return []
    largest = max(keep, key=lambda i: (counts[i], -i))
    rest = [i for i in keep if i != largest]
    growth = MAX_LINKED_GROWTH if largest in linked else MAX_GROWTH
    return keep if sum(live[i] for i in rest) > growth * counts[largest] else rest


def _compact(store: IndexFolder, manifest: Manifest, *, whole: bool) -> Manifest:
    """Drop dead segments; merge if there are many, if much is dead, or if a first build is now complete (`whole`)."""
    live = live_rows_by_segment(manifest)
    containers = [store.container(name) for name in manifest.segments]
    counts = [int(container.meta["files"]) for container in containers]
    keep = [i for i, places in enumerate(live) if places]
    merging = _choose_merging(keep, counts, [len(places) for places in live], _find_linked(store, manifest, keep), whole=whole)
    if not merging:
        if len(keep) == len(manifest.segments):
            return manifest
        moved = {old: new for new, old in enumerate(keep)}
        rows = {
            path: row if row.segment == NO_SEGMENT else row._replace(segment=moved[row.segment])
            for path, row in manifest.rows.items()
        }
        return _replace(manifest, tuple(manifest.segments[i] for i in keep), rows)
    masks = [live_mask(counts[i], live[i]) for i in merging]
    name = store.put(lambda out: merge_segments([containers[i] for i in merging], masks, out))
    rest = [i for i in keep if i not in merging]
    names = (*(manifest.segments[i] for i in rest), name)
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
    return _replace(manifest, names, rows)


def _sort_rows(manifest: Manifest) -> Manifest:
    """The manifest with rows in path order, as one read from disk has them."""
    return _replace(manifest, manifest.segments, {path: manifest.rows[path] for path in sorted(manifest.rows)})


def _replace(manifest: Manifest, segments: tuple[str, ...], rows: dict[str, FileRow]) -> Manifest:
    return manifest.replace(segments=segments, rows=rows)
