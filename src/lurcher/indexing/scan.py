"""An answer without an index: the files that hold a pattern are read, and only those become a segment, in memory.

To look for exact text nobody should have to wait for an index. Where much of the tree matches, making one is no more work.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lurcher.indexing.coverage import unreadable_note
from lurcher.indexing.root_index import View
from lurcher.runtime.cancel import check
from lurcher.sources.decode import Skip, Text
from lurcher.sources.files import MOST_EXAMPLES
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import pack_sections
from lurcher.storage.manifest import UNREADABLE, Manifest
from lurcher.storage.segment_reader import Segment
from lurcher.storage.segment_writer import encode
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded

if TYPE_CHECKING:
    from lurcher.indexing.root_index import Project
    from lurcher.query.text_pattern import Pattern

MOST_BYTES = 4_000_000
"""Text of matching files up to which no index is made."""


def passing_view(project: Project, pattern: Pattern) -> View | None:
    """The matching files of a root that has no index; None where it has one, or where making one is the better way."""
    if project.has_index():
        return None
    from lurcher.indexing.build import build  # brings the grammars, which most queries do without

    settings = project.settings.index
    found: list[tuple[str, bytes]] = []
    size = 0
    digest = hashlib.blake2b(digest_size=12)
    listing = project.list_files()
    skipped = dict(listing.skipped)
    examples = dict(listing.examples)
    for entry in listing.entries:
        check()
        outcome = project.read_text(entry.path)
        if isinstance(outcome, Skip) and outcome.reason == UNREADABLE:
            skipped[UNREADABLE] = skipped.get(UNREADABLE, 0) + 1
            examples[UNREADABLE] = (*examples.get(UNREADABLE, ()), entry.path)[:MOST_EXAMPLES]
        if not isinstance(outcome, Text) or next(pattern.lines(outcome.data), None) is None:
            continue
        size += len(outcome.data)
        if size > MOST_BYTES:
            return None
        found.append((entry.path, outcome.data))
        digest.update(f"{entry.path}\0{outcome.digest}\0".encode())
    container = Container(b"".join(pack_sections(*encode(build(found, settings.chunk_chars)))), "files with the pattern")
    empty = manifests.empty(project.fingerprint)
    manifest = Manifest(0, empty.fingerprint, (f"{digest.hexdigest()}.segment",), {}, skipped, 0, examples=examples)
    note = Degraded("index", "there is no index yet: the files were searched as they are", "")
    told = unreadable_note(manifest) if skipped.get(UNREADABLE) else ()
    return View(Snapshot([Segment(container)], 0), manifest, 0, (note, *told))
