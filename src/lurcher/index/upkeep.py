"""Vectors of the model in use, where an index has none or not all: made anew by a term table, or embedded by a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from lurcher.embedding.text import TextModel
from lurcher.errors import IndexLocked, LurcherError
from lurcher.index.apart import VECTOR_GROUPS, Apart, Group
from lurcher.index.container import Container
from lurcher.index.described import Described, described
from lurcher.index.embedding import complete
from lurcher.index.manifest import Manifest
from lurcher.index.reader import Segment
from lurcher.index.restated import restate
from lurcher.index.store import live_mask, live_places
from lurcher.types import Degraded, Progress

if TYPE_CHECKING:
    from lurcher.index.project import Project

HINT = "run: lurcher index"


def vectors_in(
    project: Project, manifest: Manifest, progress: Progress, notes: list[Degraded], refresh: bool, limited: bool
) -> Manifest:
    """The index as it is then. What still lacks vectors is told of, and why."""
    if isinstance(project.model, TextModel):
        return _embedded(project, project.model, manifest, progress, notes, refresh, limited)
    if not refresh:
        return manifest  # the lane says so
    try:
        with project.store.lock(project.settings.index.lock_seconds if manifest.generation else 0):
            manifest = _restated(project, project.current(), progress)
        notes.append(Degraded("index", "its vectors were of another model; they were made anew", ""))
    except IndexLocked as busy:
        notes.append(Degraded("dense", f"the index has vectors of another model; {busy.message}", busy.hint))
    return manifest


def _restated(project: Project, manifest: Manifest, progress: Progress) -> Manifest:
    """The same segments with vectors by the table in use."""
    table = project.model.table
    assert table is not None
    names = []
    for number, name in enumerate(manifest.segments):
        progress("embedding", number, len(manifest.segments))
        container = project.store.container(name)
        if container.meta.get("model") != table.digest:
            name = project.store.put(partial(restate, container, table))
        names.append(name)
    progress("embedding", len(names), len(names))
    newer = replace(
        manifest, generation=manifest.generation + 1, segments=tuple(names), fingerprint=project.fingerprint, vectors={}
    )
    project.keep(newer)
    return newer


def _embedded(
    project: Project,
    model: TextModel,
    manifest: Manifest,
    progress: Progress,
    notes: list[Degraded],
    refresh: bool,
    limited: bool,
) -> Manifest:
    segments = project.on_view(manifest).segments
    lacking, total = lack_in(segments, VECTOR_GROUPS)
    problem: LurcherError | None = None
    if lacking and refresh and (not limited or worth(model, lacking, segments, manifest.vectors)):
        try:
            with project.store.lock(0 if limited else project.settings.index.lock_seconds):
                manifest, problem = _complete(project, model, project.current(), progress, notes, limited)
        except IndexLocked as busy:
            problem = busy
        lacking, total = lack_in(project.on_view(manifest).segments, VECTOR_GROUPS)
    notes += lack_told(lacking, total, problem, HINT)
    return manifest


def _complete(
    project: Project, model: TextModel, manifest: Manifest, progress: Progress, notes: list[Degraded], limited: bool
) -> tuple[Manifest, LurcherError | None]:
    places = dict(zip(manifest.segments, live_places(manifest), strict=True))
    latest = manifest

    def describe(name: str, container: Container) -> list[Described]:
        return described(container, live_mask(int(container.meta["files"]), places[name]))

    def commit(vectors: Mapping[str, Apart]) -> None:
        nonlocal latest
        latest = replace(latest, generation=latest.generation + 1, fingerprint=project.fingerprint, vectors=vectors)
        project.keep(latest)

    done = complete(
        project.store, manifest.segments, manifest.vectors, model, VECTOR_GROUPS, describe, commit, progress,
        **limits(model, limited),
    )  # fmt: skip
    if done.refused and not done.problem:
        notes.append(refusal(done.refused))
    return latest, model.failed(done.problem) if done.problem is not None else None


class Limits(TypedDict):
    seconds: float | None
    most: int


def limits(model: TextModel, limited: bool) -> Limits:
    """What may be embedded while somebody waits for an answer, and while nobody does."""
    settings = model.settings
    return Limits(seconds=settings.query_seconds if limited else None, most=settings.refresh_units if limited else -1)


def worth(model: TextModel, lacking: int, segments: Sequence[Segment], vectors: Mapping[str, Apart]) -> bool:
    """Whether anything can be done about missing vectors while somebody waits: they are few, or known from elsewhere."""
    most = model.settings.refresh_units
    if most < 0 or lacking <= most:
        return True
    return model.digest in vectors and any(segment.vectors is None for segment in segments)


def lack_told(lacking: int, total: int, problem: LurcherError | None, command: str) -> list[Degraded]:
    if not lacking:
        return []
    why = f": {problem.message}" if problem is not None else ""
    hint = command if problem is None or not problem.hint else f"{problem.hint}; then {command}"
    return [Degraded("dense", f"{lacking:,} of {total:,} texts have no vectors yet{why}", hint)]


def refusal(count: int) -> Degraded:
    told = f"{count:,} texts were refused by the server and have no vectors"
    return Degraded("dense", told, "lower embedding.tokens, or use a model that reads more")


def lack_in(segments: Sequence[Segment], groups: tuple[Group, ...]) -> tuple[int, int]:
    """How many rows have no vectors yet, and how many there should be."""
    import numpy as np

    lacking = total = 0
    for segment in segments:
        for group in groups:
            count, live = int(segment.meta[group.owners]), segment.live
            if live is not None and group.owners == "units":
                live = live[segment.units["file"]]
            wanted = np.ones(count, bool) if live is None else live
            total += int(wanted.sum())
            if segment.vectors is None:
                lacking += int(wanted.sum())
            else:
                lacking += int(np.count_nonzero(wanted & (segment.vectors.array(group.scales, "<f4") == 0)))
    return lacking, total
