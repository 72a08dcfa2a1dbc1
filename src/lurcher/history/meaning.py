"""Vectors of commits by the model in use, where a history index has none or not all.

A term table makes those of commits and hunks anew from the terms that are kept. A provider embeds commits: what they say and
which files they touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lurcher.embedding.text import TextModel
from lurcher.errors import IndexLocked, LurcherError
from lurcher.history.build import COMMIT_WEIGHTS, HUNK_WEIGHTS, vectors_of
from lurcher.history.manifest import PastManifest
from lurcher.history.parts import PastSegment
from lurcher.history.segment import encode_vectors, owners_in
from lurcher.history.views import header_of
from lurcher.index.apart import PAST_GROUPS, Apart
from lurcher.index.container import Builder, Container
from lurcher.index.described import Described
from lurcher.index.embedding import complete
from lurcher.index.restated import copy, postings_of, terms_of
from lurcher.index.segment import string_at
from lurcher.index.upkeep import lack_in, lack_told, limits, refusal, worth
from lurcher.types import Degraded, Progress

if TYPE_CHECKING:
    from lurcher.embedding.table import Table
    from lurcher.history.project import PastProject

HINT = "run: lurcher index --history"
MOST_PATHS = 20
"""Paths of a commit that are embedded."""


def vectors_in(
    past: PastProject, manifest: PastManifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
) -> PastManifest:
    """The index as it is then. What still lacks vectors is told of, and why."""
    model = past.model
    if isinstance(model, TextModel):
        segments = past.on_view(manifest).segments
        lacking, total = lack_in(segments, PAST_GROUPS)
        problem: LurcherError | None = None
        if lacking and refresh and (not limited or worth(model, lacking, segments, manifest.vectors)):
            try:
                with past.store.lock(0 if limited else past.settings.index.lock_seconds):
                    manifest, problem = _complete(past, model, past.current(), progress, notes, limited)
            except IndexLocked as busy:
                problem = busy
            lacking, total = lack_in(past.on_view(manifest).segments, PAST_GROUPS)
        notes += lack_told(lacking, total, problem, HINT)
        return manifest
    if not refresh:
        return manifest  # whoever asks for meaning is told
    try:
        with past.store.lock(past.settings.index.lock_seconds):
            manifest = _restated(past, past.current(), progress)
        notes.append(Degraded("history", "its vectors were of another model; they were made anew", ""))
    except IndexLocked as busy:
        notes.append(Degraded("dense", f"the history index has vectors of another model; {busy.message}", busy.hint))
    return manifest


def _restated(past: PastProject, manifest: PastManifest, progress: Progress) -> PastManifest:
    """The same segments with vectors by the table in use."""
    table = past.model.table
    assert table is not None
    names = []
    for number, name in enumerate(manifest.segments):
        progress("embedding history", number, len(manifest.segments))
        container = past.store.container(name)
        if container.meta.get("model") != table.digest:
            name = past.store.put(partial(_restate, container, table))
        names.append(name)
    newer = replace(
        manifest, generation=manifest.generation + 1, segments=tuple(names), fingerprint=past.fingerprint, vectors={}
    )
    past.keep(newer)
    return newer


def _restate(container: Container, table: Table, out: Builder) -> str:
    postings = postings_of(container, (*COMMIT_WEIGHTS, *HUNK_WEIGHTS), owners_in)
    sizes = int(container.meta["commits"]), int(container.meta["hunks"])
    sections = encode_vectors(vectors_of(terms_of(container), postings, sizes, table))
    return copy(container, sections, {"dims": table.dims, "model": table.digest}, out)


def _complete(
    past: PastProject, model: TextModel, manifest: PastManifest, progress: Progress, notes: list[Degraded], limited: bool
) -> tuple[PastManifest, LurcherError | None]:
    live = dict(zip(manifest.segments, manifest.live, strict=True))
    latest = manifest

    def describe(name: str, container: Container) -> list[Described]:
        segment = PastSegment(container, live[name])
        return [Described(PAST_GROUPS[0], len(segment.commits), live[name], partial(_text, segment))]

    def commit(vectors: Mapping[str, Apart]) -> None:
        nonlocal latest
        latest = replace(latest, generation=latest.generation + 1, fingerprint=past.fingerprint, vectors=vectors)
        past.keep(latest)

    done = complete(
        past.store, manifest.segments, manifest.vectors, model, PAST_GROUPS, describe, commit, progress,
        **limits(model, limited),
    )  # fmt: skip
    if done.refused and not done.problem:
        notes.append(refusal(done.refused))
    return latest, model.failed(done.problem) if done.problem is not None else None


def _text(segment: PastSegment, commit: int) -> str:
    """What a commit says, and which files it touches."""
    row, strings = segment.commits[commit], segment.strings(commit)
    header = header_of(b"", 0, 0, strings)
    first, count = int(row["change"]), int(row["changes"])
    offsets = segment.changes["path"][first : first + min(count, MOST_PATHS)].tolist()
    paths = [string_at(strings, offset) for offset in offsets]
    return "\n".join(part for part in (header.subject, header.body, "\n".join(paths)) if part)
