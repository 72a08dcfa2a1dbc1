"""Brings a project in a shared store up to date with the local index.

    lock → what is there → what is new is put beside it → pages → what is gone is marked → the new head → sweep

Readers see the old generation until the new head is there. A writer that is killed on the way leaves what the next one takes
over: files by their keys, which name their content, and pages by the page of contents, which is written before and after them.
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
from lurcher.indexing.generation import View
from lurcher.storage.manifest import NO_SEGMENT, Manifest
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.vectors import read_vectors
from lurcher.stores import record
from lurcher.stores.base import Head, Listed, Store, StoredFile
from lurcher.stores.export import Wanted, stored_files
from lurcher.stores.sparse import WEIGHTS
from lurcher.stores.sparse_model import learned, told_of
from lurcher.stores.vocabulary import (
    CONTENTS,
    SAMPLE,
    contents_page,
    digest_of,
    pages_of,
    read_json,
    sample_page,
    versions_of,
    words_of,
)
from lurcher.types import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.model import Model
    from lurcher.vectors.sparse import SparseEmbedder

_PAGES_AT_ONCE = 500
_ATTEMPTS = 3
_SAMPLED, _SAMPLED_OF_FILE = 256, 3
"""Units in the sample, and units of one file in it."""
_BELONGING = ("format", "version", "chunk_chars", "model")
"""What two machines must have in common to write the same project."""
_TOLD = {
    "format": "another format of the index", "version": "another version of lurcher", "record": "another format of records",
    "chunk_chars": "another index.chunk_chars", "model": "another model",
    "sparse": "another sparse model",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a run did."""

    head: Head
    put: int
    """Files that were sent; units of them."""
    units: int
    kept: int
    """Files that were there already."""
    retired: int
    changed: bool
    """Whether there is a new generation."""


def push(
    store: Store, project: str, view: View, model: Model, *, root: str, commit: str, rebuild: bool, seconds: float,
    progress: Progress, sparse: SparseEmbedder | None = None,
) -> Pushed:  # fmt: skip
    """What differs between the local index and a project in a store is sent there, and becomes visible all at once.

    `root` is what the project's folder is called, `commit` where it stands; `sparse` makes the vectors of words, if not we.
    """
    for attempt in range(_ATTEMPTS):
        try:
            with store.writing(project, seconds):
                return _Push(store, project, view, model, root, commit, rebuild, progress, sparse).run()
        except _Overtaken:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class _Overtaken(IndexLocked):
    """Somebody else published meanwhile, though we held the lock: it had run out."""


class _Push:
    def __init__(
        self, store: Store, project: str, view: View, model: Model, root: str, commit: str, rebuild: bool, progress: Progress,
        sparse: SparseEmbedder | None,
    ) -> None:  # fmt: skip
        self._store, self._project, self._view, self._progress = store, project, view, progress
        self._root, self._commit, self._rebuild, self._sparse = root, commit, rebuild, sparse
        self._snapshot, self._manifest = view.snapshot, view.manifest
        self._dims = self._snapshot.cosines.dims
        self._model = model.digest if self._dims or not self._snapshot.unit_count else "none"
        self._textual = model.textual
        self._head = store.head(project)
        self._generation = (self._head.generation if self._head else 0) + 1
        self._made_with = {**made_with(self._manifest, self._model), **told_of(sparse)}
        self._print = fingerprint_of(self._made_with)
        if self._head is not None and self._head.fingerprint != self._print and not rebuild:
            raise _other_making(project, self._head, self._made_with)
        self._salt = str(self._generation) if rebuild or self._head is None else self._head.more.get("salt", "")

    def run(self) -> Pushed:
        wanted = self._wanted()
        listed = {item.key: item for item in self._store.listing(self._project)}
        missing = [key for key in wanted if key not in listed]
        self._take_over([listed[key] for key in wanted if key in listed])
        units = self._put(missing, wanted)
        gone = [item.key for item in listed.values() if item.key not in wanted and item.died is None]
        words = self._write_pages(wanted)
        new = self._new_head(wanted)
        unchanged = not missing and not gone and not words and not self._revived
        if self._head is not None and unchanged and self._same(self._head, new):
            if any(item.died is not None or item.born >= self._generation for item in listed.values()):
                self._store.sweep(self._project, self._head.generation)  # whoever wrote last did not come to it
            return Pushed(self._head, 0, 0, len(wanted), 0, False)
        if gone:
            self._store.retire(self._project, gone, self._generation)
        try:
            self._store.publish(self._project, new)
        except IndexLocked as error:
            raise _Overtaken(error.message, error.hint) from error
        self._store.sweep(self._project, self._generation)
        return Pushed(new, len(missing), units, len(wanted) - len(missing), len(gone), True)

    # -- files ------------------------------------------------------------------------------------------------------------

    def _wanted(self) -> dict[str, tuple[int, int, str]]:
        """Key → segment, place in it and digest of every live file."""
        found = {}
        for path, row in self._manifest.rows.items():
            if row.segment != NO_SEGMENT:
                digest = row.digest.hex()
                found[key_of(self._project, self._salt, path, digest, self._print)] = row.segment, row.place, digest
        return found

    _revived = False

    def _take_over(self, there: list[Listed]) -> None:
        """Files that are wanted and kept, but would not be seen in the new generation.

        What readers see now and a killed writer had marked stays born when it was: they must not lose it for a moment.
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

    def _put(self, missing: list[str], wanted: Mapping[str, tuple[int, int, str]]) -> int:
        """Sends files; how many units they have."""
        if not missing:
            return 0
        by_segment: dict[int, list[Wanted]] = {}
        for key in missing:
            segment, place, digest = wanted[key]
            by_segment.setdefault(segment, []).append(Wanted(place, key, digest))
        sizes = self._sizes(by_segment)
        meter = _Meter(sizes, self._progress)

        def files() -> Iterator[StoredFile]:
            for segment, items in sorted(by_segment.items()):
                yield from stored_files(self._snapshot.segments[segment], items, self._model)

        sent = files() if self._sparse is None else learned(files(), self._sparse)
        self._store.put(self._project, sent, self._generation, meter.done)
        meter.finish()
        return sum(sizes)

    def _sizes(self, by_segment: Mapping[int, list[Wanted]]) -> list[int]:
        """The units of each file, in the order in which files are sent."""
        found: list[int] = []
        for segment, items in sorted(by_segment.items()):
            units = self._snapshot.segments[segment].tables.files["units"]
            found += [int(units[item.place]) for item in sorted(items, key=lambda item: item.place)]
        return found

    # -- pages ------------------------------------------------------------------------------------------------------------

    def _words_stay(self, wanted: Iterable[str], contents: bytes | None) -> bool:
        """Whether files and pages are those of the head, so that there is no need to count words."""
        if self._head is None or self._head.more.get("keys") != _digest(wanted):
            return False
        return contents == self._store.pages(self._project, self._head.generation, [CONTENTS]).get(CONTENTS)

    def _write_pages(self, wanted: Iterable[str]) -> int:
        """Puts the pages that are not as they should be in the new generation; how many.

        Until all of them are there, the page of contents says of each only that nobody knows.
        """
        kept = self._store.pages(self._project, self._generation, [CONTENTS]).get(CONTENTS)
        if self._words_stay(wanted, kept):
            return 0
        known = read_json(kept)
        pages = dict(pages_of(words_of(self._snapshot), versions_of(self._snapshot)))
        if self._textual and self._dims:
            pages[SAMPLE] = self._sample()
        digests = {name: digest_of(data) for name, data in pages.items()}
        changed = sorted(name for name in known.keys() | digests.keys() if known.get(name) != digests.get(name))
        if not changed:
            return 0
        self._put_pages({CONTENTS: contents_page({**known, **digests, **dict.fromkeys(changed, "")})})
        for first in range(0, len(changed), _PAGES_AT_ONCE):
            self._progress("sending words to the store", first, len(changed))
            self._put_pages({name: pages.get(name, b"") for name in changed[first : first + _PAGES_AT_ONCE]})
        self._put_pages({CONTENTS: contents_page(digests)})
        return len(changed)

    def _sample(self) -> bytes:
        """Vectors of a few units of files that their keys choose, so that it stays the same while these do."""
        import numpy as np

        rows: list[NDArray[np.int8]] = []
        scales: list[NDArray[np.float32]] = []
        count = 0
        for _, (segment, place, _) in sorted(self._wanted().items()):
            container = self._snapshot.segments[segment].vectors
            vectors = read_vectors(container) if container is not None else None
            if vectors is None or count >= _SAMPLED:
                break
            row = self._snapshot.segments[segment].tables.files[place]
            first, last = int(row["unit"]), int(row["unit"]) + min(int(row["units"]), _SAMPLED_OF_FILE)
            rows.append(vectors.units[first:last])
            scales.append(vectors.unit_scales[first:last])
            count += last - first
        return sample_page(np.concatenate(rows), np.concatenate(scales)) if rows else b""

    def _put_pages(self, pages: Mapping[str, bytes]) -> None:
        self._store.put_pages(self._project, pages, self._generation)

    # -- head -------------------------------------------------------------------------------------------------------------

    def _new_head(self, wanted: Collection[str]) -> Head:
        snapshot = self._snapshot
        more = {
            **{f"length.{field}": str(_summed(snapshot, field)) for field in WEIGHTS},
            "keys": _digest(wanted),
            "languages": " ".join(snapshot.languages),
            "made_with": json.dumps(self._made_with, sort_keys=True),
            "model": self._model,
            "root": self._root,
            "salt": self._salt,
            **told_of(self._sparse),
        }
        now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
        return Head(self._generation, self._print, now, self._commit, len(wanted), snapshot.unit_count, self._dims, more)

    @staticmethod
    def _same(old: Head, new: Head) -> bool:
        """Whether a new head would say nothing new."""
        return (old.fingerprint, old.commit, old.files, old.units, old.dims, dict(old.more)) == (
            new.fingerprint, new.commit, new.files, new.units, new.dims, dict(new.more),
        )  # fmt: skip


def _digest(keys: Iterable[str]) -> str:
    return blake2b("".join(sorted(keys)).encode(), digest_size=12).hexdigest()


def _summed(snapshot: Snapshot, field: str) -> int:
    values, _ = snapshot.lengths(field)
    return int(values[snapshot.live_units].sum())


def made_with(manifest: Manifest, model: str) -> dict[str, Any]:
    """What an index was made with, as far as others must have it too."""
    own = {name: manifest.fingerprint.get(name) for name in _BELONGING}
    return {**own, "model": model, "record": record.FORMAT}


def fingerprint_of(made: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=12).hexdigest()


def key_of(project: str, salt: str, path: str, digest: str, print_: str) -> str:
    """The UUID of a file as it is."""
    named = json.dumps([project, salt, path, digest, print_]).encode()
    return str(UUID(bytes=blake2b(named, digest_size=16).digest(), version=5))  # made from a name, if by another hash


def _other_making(project: str, head: Head, ours: Mapping[str, Any]) -> StoreError:
    try:
        theirs = dict(json.loads(head.more.get("made_with", "{}")))
    except (ValueError, TypeError):
        theirs = {}
    differing = [told for name, told in _TOLD.items() if theirs.get(name) != ours.get(name)]
    return StoreError(
        f"the project {project} in the store was made with {' and '.join(differing) or 'other settings'}",
        Template("use what the others use, or replace all of it: {index: rebuild store=URL}"),
    )


class _Meter:
    """Turns files that are safe into units that are."""

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
