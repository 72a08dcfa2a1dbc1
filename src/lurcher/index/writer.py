"""Brings an index up to date: reads what changed, builds a segment of it, and swaps the manifest.

    listing ──► changes ──► texts ──► shards ──► segment ──► manifest (the commit) ──► sweep

Work is proportional to the change. Nothing that exists is touched before the new manifest is in place.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.index.build import build
from lurcher.index.freshness import Changes, believed, settle
from lurcher.index.manifest import NO_SEGMENT, SKIP_REASONS, Manifest, Row
from lurcher.index.segment import SegmentData, decode, merge
from lurcher.index.store import Store, live_mask, live_places
from lurcher.sources.decode import Skip, read_text
from lurcher.sources.files import Entry, Listing
from lurcher.types import Progress

if TYPE_CHECKING:
    from lurcher.embedding.table import Table

SHARD_BYTES = 2_000_000
PARALLEL_BYTES = 3_000_000
"""Below this a child process costs more than it saves."""
MAX_SEGMENTS = 8
MAX_DEAD_SHARE = 0.5


def update(
    store: Store,
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
    workers: int,
    progress: Progress,
) -> Manifest:
    """The generation after `generation`. Where nothing but time stamps changed, the segments stay as they are.

    `fingerprint` says what new segments are made with; it is the index's own but where the model is out of reach.
    `checked_ns` is before the first look at any file: whatever changes from then on, even while it is read, gets a time
    stamp that is not believed or is another one than that in `listing`.
    """
    settled = set(current.settled)
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
        settled.discard(entry.path)
        outcome = read_text(root / entry.path, max_file_bytes, follow_symlinks=follow_symlinks)
        old = rows.get(entry.path)
        digest = bytes.fromhex(outcome.digest) if outcome.digest else bytes(16)
        if old is not None and old.digest == digest and outcome.digest:
            fresh = old._replace(size=entry.size, mtime_ns=entry.mtime_ns, ctime_ns=entry.ctime_ns, inode=entry.inode)
            belief = believed(old, entry, current.checked_ns, checked_ns)
            touched = touched or fresh != old or belief is not False
            rows[entry.path] = fresh
            if belief is None:
                settled.add(entry.path)
        elif isinstance(outcome, Skip):
            if outcome.reason == "vanished":
                touched = rows.pop(entry.path, None) is not None or touched
                continue
            reason = outcome.reason if outcome.reason in SKIP_REASONS else "other"
            rows[entry.path] = Row(
                digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, NO_SEGMENT, SKIP_REASONS.index(reason)
            )
            belief = False if old is None else believed(old, entry, current.checked_ns, checked_ns)
            touched = touched or rows[entry.path] != old or belief is not False
            if belief is None:
                settled.add(entry.path)
            dropped = dropped or (old is not None and old.segment != NO_SEGMENT)
        else:
            texts.append((entry.path, outcome.data))
            new[entry.path] = (entry, digest)
    progress("reading", total, total)
    if not texts and not changes.gone and not touched and current.generation:
        return current
    segments = list(current.segments)
    if texts:
        data = _build(texts, chunk_chars, table, workers, progress)
        segments.append(store.put(data))
        for place, (path, _) in enumerate(texts):
            entry, digest = new[path]
            rows[path] = Row(digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, len(segments) - 1, place)
    content_changed = bool(texts or changes.gone or dropped or rows.keys() != current.rows.keys())
    manifest = Manifest(
        generation + 1 if content_changed or not current.generation else generation,
        fingerprint if texts else current.fingerprint, tuple(segments), rows, listing.skipped, checked_ns,
        frozenset(settled), settle(listing.standing, current.standing, checked_ns),
    )  # fmt: skip
    manifest = _compact(store, _sorted(manifest))
    store.commit(manifest)
    return manifest


def _build(
    texts: list[tuple[str, bytes]], chunk_chars: int, table: Table | None, workers: int, progress: Progress
) -> SegmentData:
    """Building makes millions of small objects and no cycles: looking for cycles would cost a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _build_segment(texts, chunk_chars, table, workers, progress)
    finally:
        if enabled:
            gc.enable()


def _build_segment(
    texts: list[tuple[str, bytes]], chunk_chars: int, table: Table | None, workers: int, progress: Progress
) -> SegmentData:
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
        data = build(shards[0], chunk_chars, table)
        progress("indexing", len(texts), len(texts))
        return data
    from lurcher.index.worker import build_shards

    finished = 0

    def advance(files: int) -> None:
        nonlocal finished
        finished += files
        progress("indexing", finished, len(texts))

    count = workers or (os.cpu_count() or 1 if size >= PARALLEL_BYTES else 1)
    parts = build_shards(shards, chunk_chars, count, advance, table)
    return merge(parts, [None] * len(parts))


def _compact(store: Store, manifest: Manifest) -> Manifest:
    """Drop dead segments, and merge when there are many or when much of them is dead."""
    live = live_places(manifest)
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
    data = merge([decode(containers[i]) for i in merging], [live_mask(counts[i], live[i]) for i in merging])
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
    return replace(manifest, segments=segments, rows=rows)
