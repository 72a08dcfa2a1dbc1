"""A first index that begins with the files of another one: that of another work tree of the repository, or of a clone.

A file whose path and content the other index has is not read into a new segment: its row is taken over, and the segment that
it is in gets a second name in the new folder. Segments are never changed, and the file system keeps one for as long as it has a
name, so neither index depends on the other from then on (docs/adr/008-linked-segments.md).
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from lurcher import config
from lurcher.errors import CorruptIndex, IndexError_, Template, UsageError
from lurcher.indexing.writer import MAX_LINKED_DEAD_SHARE
from lurcher.runtime.stdlib import blake2b
from lurcher.sources import Listing, Root, find_root
from lurcher.sources.decode import read_regular
from lurcher.sources.git.refs import other_work_trees
from lurcher.storage import index_folder_of
from lurcher.storage.manifest import NAME, NO_SEGMENT, FileRow, Manifest
from lurcher.storage.vectors import VectorSidecar, sidecar_files
from lurcher.types import Degraded, Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lurcher.config import Settings
    from lurcher.storage import IndexFolder
    from lurcher.storage.snapshot import Snapshot

_MAX_COMPARED = 4
"""Indexes that are compared with the tree; the newest ones, where there are more."""
_ATTEMPTS = 3
"""How often to begin again, where the other index was written or removed meanwhile."""
_SHOWN_EVERY = 512


Index = TypeVar("Index", bound="FilesIndex")


class FilesIndex(Protocol):
    """What there is to know of an index of files (`root_index.RootIndex`)."""

    root: Root
    settings: Settings
    store: IndexFolder
    index_dir: Path | None
    seed: Root | None

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...
    def beside(self: Index, root: Root, folder: str) -> Index: ...
    def has_index(self) -> bool: ...
    def identity(self) -> object: ...
    def read_from_disk(self) -> tuple[Manifest, Snapshot] | None: ...


class _Choice(NamedTuple):
    source: FilesIndex
    manifest: Manifest
    identity: object
    """Of the manifest file when it was chosen."""


def seed_manifest(
    index: FilesIndex, listing: Listing, checked_ns: int, progress: Progress, notes: list[Degraded]
) -> Manifest | None:
    """A manifest of the files that another index has; the rest is still to be read. None where no index is of use.

    The caller holds the lock of the new index. `checked_ns` is before the first stat of the listing. Why an index that is
    there could not be used is added to `notes`.
    """
    for attempt in range(_ATTEMPTS):
        problems: list[Degraded] = []
        choice = _choose(seeding_indexes(index), listing, problems)
        if choice is None:
            notes += problems
            return None
        rows = _matching_rows(index, listing, choice.manifest.rows, progress)
        try:
            return _take_over(index, choice, rows, listing, checked_ns)
        except CorruptIndex as problem:
            # A writer removes segments that it has replaced: then there is another manifest by now, or none.
            if attempt == _ATTEMPTS - 1 or choice.source.identity() == choice.identity:
                notes.append(_unusable(choice.source, problem.message))
                return None
        except OSError as error:
            index.store.fall_back_to_memory(error)
            return None
    raise AssertionError("the last attempt returns")


def seeding_indexes(index: Index) -> list[Index]:
    """The indexes that a first one may begin with: the one that was asked for, or those of other work trees, best first."""
    if index.seed is not None:
        return [index.beside(index.seed, index_folder_of(index.seed, config.load(index.seed.place)))]
    if index.index_dir is not None or not index.root.git:
        return []
    found = []
    for top, same_commit in other_work_trees(index.root.place):
        root = Root(top, True, "")
        folder = index_folder_of(root, index.settings) if not os.path.islink(os.path.join(top, ".lurcher")) else ""
        written = _time_written(folder) if folder else None
        if written is not None:
            found.append((not same_commit, -written, top, folder))
    return [index.beside(Root(top, True, ""), folder) for _, _, top, folder in sorted(found)[:_MAX_COMPARED]]


def _time_written(folder: str) -> int | None:
    """When an index of our own was last written; None if there is none: one that another user made is not believed."""
    try:
        status = os.lstat(folder)
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            return None
        return os.lstat(os.path.join(folder, NAME)).st_mtime_ns
    except OSError:
        return None


def set_seed(projects: Sequence[FilesIndex], path: str | Path) -> None:
    """Have the first index of a root begin with the one of the root around `path`; an error where there is none."""
    seed = find_root(path)
    if len(projects) != 1 or projects[0].root.place == seed.place:
        raise UsageError("an index begins with that of one other folder", "name one folder to index, and another one as seed")
    if projects[0].has_index():
        raise UsageError(f"{projects[0].root.place} has an index already", Template("remove it first: {index: clear}"))
    if _time_written(index_folder_of(seed, config.load(seed.place))) is None:
        raise UsageError(f"{seed.place} has no index to begin with", f"run: lurcher index {quote(seed.place)}")
    projects[0].seed = seed


def _unusable(source: FilesIndex, reason: str) -> Degraded:
    return Degraded("index", f"the index of {source.root.place} could not be shared, so every file was read: {reason}", "")


def _choose(sources: Sequence[FilesIndex], listing: Listing, problems: list[Degraded]) -> _Choice | None:
    """The index that has most of the files, by path and size; of equals the first."""
    best, most = None, 0
    for source in sources:
        identity = source.identity()
        try:
            found = source.read_from_disk()
        except IndexError_ as problem:
            problems.append(_unusable(source, problem.message))
            continue
        except OSError as error:
            problems.append(_unusable(source, f"it cannot be read: {error.strerror}"))
            continue
        if found is None or found[0].is_partial:
            continue
        manifest, rows = found[0], found[0].rows
        same = sum((row := rows.get(entry.path)) is not None and row.size == entry.size for entry in listing.entries)
        if same > most:
            best, most = _Choice(source, manifest, identity), same
    return best


def _matching_rows(
    index: FilesIndex, listing: Listing, known: Mapping[str, FileRow], progress: Progress
) -> dict[str, FileRow]:
    """The rows of files that have the same path and content here, with the stamps that they have here."""
    settings, base = index.settings.index, index.root.place
    rows = {}
    for number, entry in enumerate(listing.entries):
        if number % _SHOWN_EVERY == 0:
            progress("comparing files", number, len(listing.entries))
        row = known.get(entry.path)
        if row is None or row.size != entry.size or not any(row.digest):
            continue
        raw = read_regular(f"{base}/{entry.path}", settings.max_file_bytes, follow_symlinks=settings.follow_symlinks)
        if not isinstance(raw, str) and blake2b(raw, digest_size=16).digest() == row.digest:
            rows[entry.path] = FileRow(
                row.digest, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, row.segment, row.place
            )
    return rows


def _take_over(
    index: FilesIndex, choice: _Choice, rows: dict[str, FileRow], listing: Listing, checked_ns: int
) -> Manifest | None:
    """Link the segments that hold the rows; None where too little of them is of use."""
    manifest, other = choice.manifest, choice.source.store
    live = [0] * len(manifest.segments)
    for row in rows.values():
        if row.segment != NO_SEGMENT:
            live[row.segment] += 1
    kept = [number for number, count in enumerate(live) if count]
    counts = {number: int(other.container(manifest.segments[number]).meta["files"]) for number in kept}
    if not kept or sum(counts.values()) - sum(live) > MAX_LINKED_DEAD_SHARE * sum(live):
        return None
    names = [manifest.segments[number] for number in kept]
    vectors = {}
    for digest, sidecar in manifest.vectors.items():
        if files := {name: sidecar.files[name] for name in names if name in sidecar.files}:
            vectors[digest] = VectorSidecar(sidecar.about, sidecar.dims, files)
    index.store.link_from(other, [*names, *sidecar_files(vectors)])
    moved = {old: new for new, old in enumerate(kept)}
    rows = {
        path: row if row.segment == NO_SEGMENT else row._replace(segment=moved[row.segment]) for path, row in rows.items()
    }
    return Manifest(
        0, index.fingerprint, tuple(names), rows, listing.skipped, checked_ns, vectors=vectors, grammars=manifest.grammars,
        examples=listing.examples,
    )  # fmt: skip
