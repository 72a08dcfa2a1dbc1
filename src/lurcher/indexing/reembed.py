"""Gives an index vectors of the model in use, where it has none or not all: by the term table, or by a provider.

With a term table, a segment is copied with other vectors; nothing is parsed or counted again, and the result has the bytes of a
segment that was built with that table. Vectors of providers go into sidecars (embed.py). Serves indexes of files and of
commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from lurcher.config import Settings
from lurcher.errors import IndexLocked, LurcherError, Template
from lurcher.indexing.embed import EmbeddingRun, TextGroup, describe_segment
from lurcher.runtime.process import format_count
from lurcher.storage import live_mask, live_rows_by_segment
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.manifest import Manifest
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, FILES, Segment, read_table
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.tables import VectorGroup
from lurcher.storage.vectors import VectorSidecar, encode_vectors
from lurcher.terms.count import Postings
from lurcher.types import Degraded, Progress
from lurcher.vectors.text_model import TextModel

if TYPE_CHECKING:
    from lurcher.vectors.table import Table


_PIECE = 1 << 20
_TERM_FAMILIES = tuple(family for family in FAMILIES if family not in DEFINITION_FIELDS)

Sections = Mapping[str, tuple[str, "bytes | memoryview"]]


def reembed_segment(container: Container, table: Table, out: ContainerWriter) -> str:
    """Write a segment of files with vectors by `table`; returns its digest."""
    from lurcher.vectors.static import embed

    data = SegmentData(
        {name: read_table(container, name) for name in FILES.tables}, read_terms(container),
        read_postings(container, _TERM_FAMILIES, FILES.count_owners), {"strings": bytes(container.section("strings"))}, [],
        list(container.meta["languages"]),
    )  # fmt: skip
    sections, dims = encode_vectors(embed(data, table), FILES.vectors)
    return copy_container(container, sections, {"dims": dims, "model": table.digest}, out)


def copy_container(container: Container, sections: Sections, meta: Mapping[str, Any], out: ContainerWriter) -> str:
    """Copy a container with other `sections`, which are neighbours, and other entries of `meta`; returns its digest."""
    written = False
    for name, kind in container.sections():
        if name in sections:
            # All of them here: empty sections share a position, so their order is unknown.
            for other, content in sections.items() if not written else ():
                out.add(other, *content)
            written = True
            continue
        out.begin(name, kind)
        size = container.length(name)
        for start in range(0, size, _PIECE):
            out.write(container.section(name, start, min(start + _PIECE, size)))
        out.end()
        if kind == PACKED:
            container.release_pages()
    return out.finish({**container.meta, **meta})


def read_terms(container: Container) -> list[str]:
    blob, found, start = bytes(container.section("terms")), [], 0
    try:
        for end in container.array("term_ends", "<u4").tolist():
            found.append(blob[start:end].decode("utf-8", "surrogatepass"))
            start = end
    except UnicodeDecodeError as error:
        raise container.corrupt("a term is not text") from error
    return found


def read_postings(
    container: Container, families: tuple[str, ...], owners: Callable[[Container, str], int]
) -> dict[str, Postings]:
    """All postings of some families."""
    found = {}
    for family in families:
        lists = open_lists(container, family)
        found[family] = read_lists(container, family, lists, 0, len(lists.terms), owners(container, family))
    return found


M = TypeVar("M")


class VectorManifest(Protocol):
    """What manifests of files and of commits have in common."""

    @property
    def generation(self) -> int: ...
    @property
    def segments(self) -> tuple[str, ...]: ...
    @property
    def vectors(self) -> Mapping[str, VectorSidecar]: ...
    def replace(self: M, **changes: Any) -> M: ...


AnyManifest = TypeVar("AnyManifest", bound=VectorManifest)


class OpenedSegments(Protocol):
    @property
    def segments(self) -> Sequence[Any]: ...


class VectorOwner(Protocol[AnyManifest]):
    """An index of files or of commits."""

    store: Any
    model: Any
    settings: Settings

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...
    def current_manifest(self) -> AnyManifest: ...
    def commit(self, manifest: AnyManifest) -> None: ...
    def open_snapshot(self, manifest: AnyManifest) -> OpenedSegments: ...


@dataclass(frozen=True, slots=True)
class VectorKind(Generic[AnyManifest]):
    """How vectors of files differ from those of commits."""

    stage: str
    called: str
    doing: str
    hint: str
    groups: tuple[VectorGroup, ...]
    reembed: Callable[[Container, Table, ContainerWriter], str]
    """Writes a segment with vectors by a table; returns its digest."""
    describe: Callable[[AnyManifest], Callable[[str, Container], list[TextGroup]]]
    """Manifest → name and container of a segment → texts for a provider."""


def update_vectors(
    holder: VectorOwner[AnyManifest], kind: VectorKind[AnyManifest], manifest: AnyManifest, progress: Progress,
    notes: list[Degraded], refresh: bool, limited: bool,
) -> AnyManifest:  # fmt: skip
    """Make missing vectors; returns the manifest after that. What is still missing is added to `notes`."""
    if isinstance(holder.model, TextModel):
        return _embed(holder, kind, holder.model, manifest, progress, notes, refresh, limited)
    if not refresh:
        return manifest  # the dense lane reports it
    try:
        with holder.store.lock(holder.settings.index.lock_seconds):
            manifest = _reembed_all(holder, kind, holder.current_manifest(), progress)
        notes.append(Degraded(kind.stage, "its vectors were of another model; they were made anew", ""))
    except IndexLocked as busy:
        notes.append(Degraded("dense", f"{kind.called} has vectors of another model; {busy.message}", busy.hint))
    return manifest


def _reembed_all(
    holder: VectorOwner[AnyManifest], kind: VectorKind[AnyManifest], manifest: AnyManifest, progress: Progress
) -> AnyManifest:
    """Copies of all segments with vectors by the table in use."""
    table = holder.model.table
    names = []
    for number, name in enumerate(manifest.segments):
        progress(kind.doing, number, len(manifest.segments))
        container = holder.store.container(name)
        if container.meta.get("model") != table.digest:
            name = holder.store.put(partial(kind.reembed, container, table))
        names.append(name)
    progress(kind.doing, len(names), len(names))
    newer = manifest.replace(
        generation=manifest.generation + 1, segments=tuple(names), fingerprint=holder.fingerprint, vectors={}
    )
    holder.commit(newer)
    return newer


def _embed(
    holder: VectorOwner[AnyManifest], kind: VectorKind[AnyManifest], model: TextModel, manifest: AnyManifest,
    progress: Progress, notes: list[Degraded], refresh: bool, limited: bool,
) -> AnyManifest:  # fmt: skip
    segments = holder.open_snapshot(manifest).segments
    lacking, total = count_missing(segments, kind.groups)
    problem: LurcherError | None = None
    if lacking and refresh and (not limited or is_worth_embedding(model, lacking, segments, manifest.vectors)):
        try:
            with holder.store.lock(0 if limited else holder.settings.index.lock_seconds):
                manifest, problem = _embed_and_commit(holder, kind, model, holder.current_manifest(), progress, notes, limited)
        except IndexLocked as busy:
            problem = busy
        lacking, total = count_missing(holder.open_snapshot(manifest).segments, kind.groups)
    notes += missing_vectors_notes(lacking, total, problem, kind.hint)
    return manifest


def _embed_and_commit(
    holder: VectorOwner[AnyManifest], kind: VectorKind[AnyManifest], model: TextModel, manifest: AnyManifest,
    progress: Progress, notes: list[Degraded], limited: bool,
) -> tuple[AnyManifest, LurcherError | None]:  # fmt: skip
    latest = manifest

    def commit(vectors: Mapping[str, VectorSidecar]) -> None:
        nonlocal latest
        latest = latest.replace(generation=latest.generation + 1, fingerprint=holder.fingerprint, vectors=vectors)
        holder.commit(latest)

    # While a query waits for an answer, only few are made.
    seconds, most = (model.settings.query_seconds, model.settings.refresh_units) if limited else (None, -1)
    run = EmbeddingRun(
        holder.store, manifest.segments, manifest.vectors, model, kind.groups, kind.describe(manifest), commit, progress,
        seconds,
    )  # fmt: skip
    done = run.run(most)
    if done.refused and not done.problem:
        notes.append(refused_note(done.refused))
    return latest, model.record_failure(done.problem) if done.problem is not None else None


def _describe_files(manifest: Manifest) -> Callable[[str, Container], list[TextGroup]]:
    places = dict(zip(manifest.segments, live_rows_by_segment(manifest), strict=True))
    return lambda name, container: describe_segment(container, live_mask(int(container.meta["files"]), places[name]))


FILE_VECTORS: VectorKind[Manifest] = VectorKind(
    "index", "the index", "embedding", "run: lurcher index", FILES.vectors, reembed_segment, _describe_files
)


def is_worth_embedding(
    model: TextModel, lacking: int, segments: Sequence[Segment], vectors: Mapping[str, VectorSidecar]
) -> bool:
    """Whether to make missing vectors during a query: they are few, or copies of known ones."""
    most = model.settings.refresh_units
    if most < 0 or lacking <= most:
        return True
    return model.digest in vectors and any(segment.vectors is None for segment in segments)


def missing_vectors_notes(lacking: int, total: int, problem: LurcherError | None, command: str) -> list[Degraded]:
    if not lacking:
        return []
    why = f": {problem.message}" if problem is not None else ""
    hint = command if problem is None or not problem.hint else Template("{*}; then {*}", problem.hint, command)
    return [Degraded("dense", f"{lacking:,} of {total:,} texts have no vectors yet{why}", hint)]


def refused_note(count: int) -> Degraded:
    reason = f"the server refused {format_count(count, 'text')}: there are no vectors of {'it' if count == 1 else 'them'}"
    return Degraded("dense", reason, "lower embedding.tokens, or use a model that reads more")


def count_missing(segments: Sequence[Segment], groups: tuple[VectorGroup, ...]) -> tuple[int, int]:
    """The number of rows without vectors, and of rows that should have one."""
    import numpy as np

    lacking = total = 0
    for segment in segments:
        for group in groups:
            count, live = int(segment.meta[group.owners]), segment.live
            if live is not None and group.owners == "units":
                live = live[segment.units["file"]]
            needed = np.ones(count, bool) if live is None else live
            total += int(needed.sum())
            if segment.vectors is None:
                lacking += int(needed.sum())
            else:
                lacking += int(np.count_nonzero(needed & (segment.vectors.array(group.scales, "<f4") == 0)))
    return lacking, total
