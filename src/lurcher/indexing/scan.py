"""Exact search without an index: files that match a pattern are read and become a segment in memory.

Nobody should have to wait for an index to find exact text. Where much of the tree matches, an index is made instead: that is
no more work.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from lurcher.indexing import View
from lurcher.indexing.coverage import unreadable_notes
from lurcher.runtime.process import check_cancelled
from lurcher.sources import MOST_EXAMPLES
from lurcher.sources.decode import Skip, Text
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.manifest import UNREADABLE, Manifest
from lurcher.storage.segment import Segment
from lurcher.storage.segment_writer import encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lurcher.indexing.root_index import RootIndex

MAX_BYTES = 4_000_000
"""Bytes of matching files above which an index is made instead."""


class LinePattern(Protocol):
    def lines(self, data: bytes) -> Iterator[object]:
        """The matching lines of a text."""


def scan_without_index(index: RootIndex, pattern: LinePattern) -> View | None:
    """A view of the matching files of a root that has no index; None where it has one or should get one."""
    if index.has_index():
        return None
    from lurcher.indexing.build import build_segment  # loads the grammars, which most queries do not need

    settings = index.settings.index
    found: list[tuple[str, bytes]] = []
    size = 0
    digest = hashlib.blake2b(digest_size=12)
    listing = index.list_files()
    skipped = dict(listing.skipped)
    examples = dict(listing.examples)
    for entry in listing.entries:
        check_cancelled()
        outcome = index.read_text(entry.path)
        if isinstance(outcome, Skip) and outcome.reason == UNREADABLE:
            skipped[UNREADABLE] = skipped.get(UNREADABLE, 0) + 1
            examples[UNREADABLE] = (*examples.get(UNREADABLE, ()), entry.path)[:MOST_EXAMPLES]
        if not isinstance(outcome, Text) or next(pattern.lines(outcome.data), None) is None:
            continue
        size += len(outcome.data)
        if size > MAX_BYTES:
            return None
        found.append((entry.path, outcome.data))
        digest.update(f"{entry.path}\0{outcome.digest}\0".encode())
    container = Container(
        b"".join(encode_container(*encode_segment(build_segment(found, settings.chunk_chars)))), "files with the pattern"
    )
    empty = manifests.empty_manifest(index.fingerprint)
    manifest = Manifest(0, empty.fingerprint, (f"{digest.hexdigest()}.segment",), {}, skipped, 0, examples=examples)
    note = Degraded("index", "there is no index yet: the files were searched as they are", "")
    notes = unreadable_notes(manifest) if skipped.get(UNREADABLE) else ()
    return View(Snapshot([Segment(container)], 0), manifest, 0, (note, *notes))
