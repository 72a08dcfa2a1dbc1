"""Brings a project in a shared store up to date with the local index.

    lock → listing → put new files → put pages → mark removed files → publish the new head → sweep

Readers see the old generation until the new head is published. A writer that is killed leaves what the next one adopts: files
by their keys, which name their content, and pages by the contents page, which is written before and after them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lurcher.errors import IndexLocked, StoreError, Template
from lurcher.indexing import View
from lurcher.lanes.lexical import FIELD_WEIGHTS
from lurcher.storage.manifest import NO_SEGMENT, Manifest
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.vectors import read_vectors
from lurcher.stores import overlaps, records
from lurcher.stores.base import Head, Listed, Store, StoredFile
from lurcher.stores.export import ExportItem, export_files
from lurcher.stores.files import CODE, FORMAT, HISTORY, LocalPart, write_files
from lurcher.stores.query import embed_files, head_entry
from lurcher.stores.vocabulary import (
    CONTENTS,
    SAMPLE,
    count_terms,
    decode_json,
    encode_contents,
    encode_pages,
    encode_sample,
    newest_versions,
    page_digest,
)
from lurcher.types import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage import IndexFolder
    from lurcher.vectors import Model
    from lurcher.vectors.service import SparseEmbedder

_PAGE_BATCH = 500
_ATTEMPTS = 3
_SAMPLED, _SAMPLED_OF_FILE = 256, 3
"""Units in the sample of vectors, and how many of one file."""
_SHARED_INPUTS = ("format", "version", "chunk_chars", "model")
"""What must be equal on all machines that write the same project."""
_DIFFERENCES = {
    "format": "another format of the index", "version": "another version of lurcher", "record": "another format of records",
    "chunk_chars": "another index.chunk_chars", "model": "another model",
    "sparse": "another sparse model",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What was changed in the store."""

    head: Head
    put: int
    """Files that were sent; `units` are theirs."""
    units: int
    kept: int
    """Files that were stored already."""
    retired: int
    changed: bool
    """Whether a new generation was published."""


def sync_project(
    store: Store, project: str, view: View, model: Model, *, root: str, commit: str, rebuild: bool, seconds: float,
    progress: Progress, folder: IndexFolder, history: LocalPart | None = None, sparse: SparseEmbedder | None = None,
) -> SyncResult:  # fmt: skip
    """Send the differences between the local index and a project in a store; they become visible all at once.

    `root` is the name of the project's folder, `commit` that of its tree; `folder` has the files of its index, `history` is
    the index of its commits; `sparse` makes sparse vectors in place of terms.
    """
    for attempt in range(_ATTEMPTS):
        try:
            with store.writing(project, seconds):
                return _Sync(store, project, view, model, root, commit, rebuild, progress, folder, history, sparse).run()
        except _Overtaken:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class _Overtaken(IndexLocked):
    """Another writer published meanwhile, because our lock had expired."""


class _Sync:
    def __init__(
        self, store: Store, project: str, view: View, model: Model, root: str, commit: str, rebuild: bool, progress: Progress,
        folder: IndexFolder, history: LocalPart | None, sparse: SparseEmbedder | None,
    ) -> None:  # fmt: skip
        self._store, self._project, self._progress = store, project, progress
        self._root, self._commit, self._rebuild, self._sparse = root, commit, rebuild, sparse
        self._folder, self._history = folder, history
        self._snapshot, self._manifest = view.snapshot, view.manifest
        self._dims = self._snapshot.cosines.dims
        self._model = model.digest if self._dims or not self._snapshot.unit_count else "none"
        self._textual = model.textual
        self._head = store.head(project)
        self._generation = (self._head.generation if self._head else 0) + 1
        self._inputs = {**build_inputs(self._manifest, self._model), **head_entry(sparse)}
        self._fingerprint = hash_inputs(self._inputs)
        if self._head is not None and self._head.fingerprint != self._fingerprint and not rebuild:
            raise _incompatible_error(project, self._head, self._inputs)
        self._salt = str(self._generation) if rebuild or self._head is None else self._head.more.get("salt", "")

    def run(self) -> SyncResult:
        local_files = self._local_files()
        listed = {item.key: item for item in self._store.listing(self._project)}
        missing = [key for key in local_files if key not in listed]
        self._adopt([listed[key] for key in local_files if key in listed])
        units = self._send_files(missing, local_files)
        gone = [item.key for item in listed.values() if item.key not in local_files and item.died is None]
        pages_written = self._write_pages(local_files) + self._write_index(local_files)
        new = self._new_head(local_files)
        unchanged = not missing and not gone and not pages_written and not self._revived
        if self._head is not None and unchanged and self._is_same_head(self._head, new):
            if any(item.died is not None or item.born >= self._generation for item in listed.values()):
                self._store.sweep(self._project, self._head.generation)  # the last writer was stopped before this
            return SyncResult(self._head, 0, 0, len(local_files), 0, False)
        if gone:
            self._store.retire(self._project, gone, self._generation)
        try:
            self._store.publish(self._project, new)
        except IndexLocked as error:
            raise _Overtaken(error.message, error.hint) from error
        self._store.sweep(self._project, self._generation)
        return SyncResult(new, len(missing), units, len(local_files) - len(missing), len(gone), True)

    # -- files ------------------------------------------------------------------------------------------------------------

    def _local_files(self) -> dict[str, tuple[int, int, str]]:
        """Key → segment, number in it and digest of every live file."""
        found = {}
        for path, row in self._manifest.rows.items():
            if row.segment != NO_SEGMENT:
                digest = row.digest.hex()
                key = file_key(self._project, self._salt, path, digest, self._fingerprint)
                found[key] = row.segment, row.place, digest
        return found

    _revived = False

    def _adopt(self, there: list[Listed]) -> None:
        """Adopt stored files that would not be visible in the new generation.

        A visible file that a killed writer had marked keeps its `born`: readers must not lose it for a moment.
        """
        again: dict[int, list[str]] = {}
        for item in there:
            if item.died is not None and item.born < self._generation <= item.died:
                again.setdefault(item.born, []).append(item.key)
            elif item.died is not None or item.born > self._generation:
                again.setdefault(self._generation, []).append(item.key)
            if item.born >= self._generation:
                self._revived = True
        for born, keys in sorted(again.items()):
            self._store.adopt(self._project, keys, born)
            self._revived = True

    def _send_files(self, missing: list[str], local_files: Mapping[str, tuple[int, int, str]]) -> int:
        """Send files; returns the number of their units."""
        if not missing:
            return 0
        by_segment: dict[int, list[ExportItem]] = {}
        for key in missing:
            segment, place, digest = local_files[key]
            by_segment.setdefault(segment, []).append(ExportItem(place, key, digest))
        sizes = self._sizes(by_segment)
        meter = _ProgressMeter(sizes, self._progress)

        def files() -> Iterator[StoredFile]:
            for segment, items in sorted(by_segment.items()):
                yield from export_files(self._snapshot.segments[segment], items, self._model)

        sent = files() if self._sparse is None else embed_files(files(), self._sparse)
        self._store.put(self._project, sent, self._generation, meter.done)
        meter.finish()
        return sum(sizes)

    def _sizes(self, by_segment: Mapping[int, list[ExportItem]]) -> list[int]:
        """The number of units of each file, in the order of sending."""
        found: list[int] = []
        for segment, items in sorted(by_segment.items()):
            units = self._snapshot.segments[segment].tables.files["units"]
            found += [int(units[item.place]) for item in sorted(items, key=lambda item: item.place)]
        return found

    # -- pages ------------------------------------------------------------------------------------------------------------

    def _pages_unchanged(self, local_files: Iterable[str], contents: bytes | None) -> bool:
        """Whether files and pages are those of the head, so that terms need not be counted."""
        if self._head is None or self._head.more.get("keys") != _digest(local_files):
            return False
        if self._head.more.get(overlaps.HEAD_KEY) != overlaps.FORMAT:
            return False
        return contents == self._store.pages(self._project, self._head.generation, [CONTENTS]).get(CONTENTS)

    def _write_pages(self, local_files: Iterable[str]) -> int:
        """Put the pages that differ in the new generation; returns how many.

        Until all of them are stored, the contents page lists the changed ones without a digest.
        """
        stored = self._store.pages(self._project, self._generation, [CONTENTS]).get(CONTENTS)
        if self._pages_unchanged(local_files, stored):
            return 0
        known = decode_json(stored)
        words, shared = count_terms(self._snapshot)
        pages = dict(encode_pages(words, newest_versions(self._snapshot), shared))
        if self._textual and self._dims:
            pages[SAMPLE] = self._sample()
        digests = {name: page_digest(data) for name, data in pages.items()}
        changed = sorted(name for name in known.keys() | digests.keys() if known.get(name) != digests.get(name))
        if not changed:
            return 0
        self._put_pages({CONTENTS: encode_contents({**known, **digests, **dict.fromkeys(changed, "")})})
        for first in range(0, len(changed), _PAGE_BATCH):
            self._progress("sending terms to the store", first, len(changed))
            self._put_pages({name: pages.get(name, b"") for name in changed[first : first + _PAGE_BATCH]})
        self._put_pages({CONTENTS: encode_contents(digests)})
        return len(changed)

    def _sample(self) -> bytes:
        """Vectors of a few units. Their files are chosen by key, so that the sample stays the same while they do."""
        import numpy as np

        rows: list[NDArray[np.int8]] = []
        scales: list[NDArray[np.float32]] = []
        count = 0
        for _, (segment, place, _) in sorted(self._local_files().items()):
            container = self._snapshot.segments[segment].vectors
            vectors = read_vectors(container) if container is not None else None
            if vectors is None or count >= _SAMPLED:
                break
            row = self._snapshot.segments[segment].tables.files[place]
            first, last = int(row["unit"]), int(row["unit"]) + min(int(row["units"]), _SAMPLED_OF_FILE)
            rows.append(vectors.units[first:last])
            scales.append(vectors.unit_scales[first:last])
            count += last - first
        return encode_sample(np.concatenate(rows), np.concatenate(scales)) if rows else b""

    def _put_pages(self, pages: Mapping[str, bytes]) -> None:
        self._store.put_pages(self._project, pages, self._generation)

    # -- the files of the index -------------------------------------------------------------------------------------------

    def _write_index(self, local_files: Iterable[str]) -> int:
        """Put the files of the index that differ; returns how many pages."""
        opened = dict(zip(self._manifest.segments, (one.container for one in self._snapshot.segments), strict=True))
        parts = {CODE: LocalPart(f"{self._fingerprint} {_digest(local_files)}", self._manifest, self._folder, opened)}
        if self._history is not None:
            parts[HISTORY] = self._history
        return write_files(self._store, self._project, self._generation, parts, self._progress, rebuild=self._rebuild)

    # -- head -------------------------------------------------------------------------------------------------------------

    def _new_head(self, local_files: Collection[str]) -> Head:
        snapshot = self._snapshot
        more = {
            **{f"length.{field}": str(_total_length(snapshot, field)) for field in FIELD_WEIGHTS},
            "keys": _digest(local_files),
            "commits": self._commit_count(),
            "index_files": str(FORMAT),
            "languages": " ".join(snapshot.languages),
            "made_with": json.dumps(self._inputs, sort_keys=True),
            "model": self._model,
            "root": self._root,
            "salt": self._salt,
            overlaps.HEAD_KEY: overlaps.FORMAT,
            **head_entry(self._sparse),
        }
        now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
        return Head(
            self._generation, self._fingerprint, now, self._commit, len(local_files), snapshot.unit_count, self._dims, more
        )  # fmt: skip

    def _commit_count(self) -> str:
        """How many commits are indexed; without an index of them here, those in the store stay."""
        if self._history is not None:
            return str(self._history.manifest.commits)
        return self._head.more.get("commits", "") if self._head is not None and not self._rebuild else ""

    @staticmethod
    def _is_same_head(old: Head, new: Head) -> bool:
        """Whether two heads differ in nothing but generation and time."""
        return (old.fingerprint, old.commit, old.files, old.units, old.dims, dict(old.more)) == (
            new.fingerprint, new.commit, new.files, new.units, new.dims, dict(new.more),
        )  # fmt: skip


def _digest(keys: Iterable[str]) -> str:
    return blake2b("".join(sorted(keys)).encode(), digest_size=12).hexdigest()


def _total_length(snapshot: Snapshot, field: str) -> int:
    values, _ = snapshot.lengths(field)
    return int(values[snapshot.live_units].sum())


def build_inputs(manifest: Manifest, model: str) -> dict[str, Any]:
    """What an index was built with, as far as other machines must use the same."""
    own = {name: manifest.fingerprint.get(name) for name in _SHARED_INPUTS}
    return {**own, "model": model, "record": records.RECORD_FORMAT}


def hash_inputs(made: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=12).hexdigest()


def file_key(project: str, salt: str, path: str, digest: str, fingerprint: str) -> str:
    """The UUID of a file with this content."""
    named = json.dumps([project, salt, path, digest, fingerprint]).encode()
    return str(UUID(bytes=blake2b(named, digest_size=16).digest(), version=5))  # version 5: from a name, here by BLAKE2


def _incompatible_error(project: str, head: Head, ours: Mapping[str, Any]) -> StoreError:
    try:
        theirs = dict(json.loads(head.more.get("made_with", "{}")))
    except (ValueError, TypeError):
        theirs = {}
    differing = [difference for name, difference in _DIFFERENCES.items() if theirs.get(name) != ours.get(name)]
    return StoreError(
        f"the project {project} in the store was written with {' and '.join(differing) or 'other settings'}",
        Template("use the same as the other writers, or replace all of it: {index: rebuild store=URL}"),
    )


class _ProgressMeter:
    """Reports progress in units, from the number of files stored."""

    def __init__(self, sizes: list[int], progress: Progress) -> None:
        self._sizes, self._progress = sizes, progress
        self._files = self._units = 0
        self._total = sum(sizes)
        progress("sending units to the store", 0, self._total)

    def done(self, files: int) -> None:
        following = min(self._files + files, len(self._sizes))
        self._units += sum(self._sizes[self._files : following])
        self._files = following
        self._progress("sending units to the store", self._units, self._total)

    def finish(self) -> None:
        self._progress("sending units to the store", self._total, self._total)
