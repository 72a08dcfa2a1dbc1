"""Vectors of commits by the model in use, where a history index has none or not all.

A term table makes those of commits and hunks anew from the terms that are kept. A provider embeds commits: what they say and
which files they touch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lurcher.corpora.history.build import COMMIT_WEIGHTS, HUNK_WEIGHTS, vectors_of
from lurcher.corpora.history.manifest import PastManifest
from lurcher.corpora.history.segment import PastSegment, encode_vectors, owners_in
from lurcher.corpora.history.views import header_of
from lurcher.errors import Template
from lurcher.indexing.embed import TextGroup
from lurcher.indexing.reembed import VectorKind, copy_container, read_postings, read_terms
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.segment import decode_string
from lurcher.storage.sidecar import HISTORY_GROUPS

if TYPE_CHECKING:
    from lurcher.vectors.table import Table

MOST_PATHS = 20
"""Paths of a commit that are embedded."""


def _restate(container: Container, table: Table, out: ContainerWriter) -> str:
    postings = read_postings(container, (*COMMIT_WEIGHTS, *HUNK_WEIGHTS), owners_in)
    sizes = int(container.meta["commits"]), int(container.meta["hunks"])
    sections = encode_vectors(vectors_of(read_terms(container), postings, sizes, table))
    return copy_container(container, sections, {"dims": table.dims, "model": table.digest}, out)


def _texts_of(manifest: PastManifest) -> Callable[[str, Container], list[TextGroup]]:
    live = dict(zip(manifest.segments, manifest.live, strict=True))

    def texts(name: str, container: Container) -> list[TextGroup]:
        segment = PastSegment(container, live[name])
        return [TextGroup(HISTORY_GROUPS[0], len(segment.commits), live[name], partial(_text, segment))]

    return texts


def _text(segment: PastSegment, commit: int) -> str:
    """What a commit says, and which files it touches."""
    row, strings = segment.commits[commit], segment.strings(commit)
    header = header_of(b"", 0, 0, strings)
    first, count = int(row["change"]), int(row["changes"])
    offsets = segment.changes["path"][first : first + min(count, MOST_PATHS)].tolist()
    paths = [decode_string(strings, offset) for offset in offsets]
    return "\n".join(part for part in (header.subject, header.body, "\n".join(paths)) if part)


COMMITS: VectorKind[PastManifest] = VectorKind(
    "history", "the history index", "embedding history", Template("{run index: history}"), HISTORY_GROUPS, _restate, _texts_of
)
