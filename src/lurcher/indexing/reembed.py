"""A segment with vectors of another term table: all else is copied as it is, nothing is parsed or counted again.

The result has the bytes of a segment that was built with that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypedDict, TypeVar

from lurcher.config import Settings
from lurcher.errors import IndexLocked, LurcherError, Template
from lurcher.indexing.embed import Described, complete, described
from lurcher.runtime.plural import counted
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import Builder
from lurcher.storage.folder import live_mask, live_places
from lurcher.storage.manifest import Manifest
from lurcher.storage.postings import lists_of, read_range
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, IMPORT, definitions_of, files_of, owners_in, units_of
from lurcher.storage.segment_reader import Segment
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.sidecar import VECTOR_GROUPS, Apart, Group
from lurcher.storage.vectors import encode_vectors
from lurcher.terms.count import Postings
from lurcher.types import Degraded, Progress
from lurcher.vectors.text_model import TextModel

if TYPE_CHECKING:
    from lurcher.vectors.table import Table


_PIECE = 1 << 20
_COUNTED = tuple(family for family in FAMILIES if family not in DEFINITION_FIELDS)

Sections = Mapping[str, tuple[str, "bytes | memoryview"]]


def restate(container: Container, table: Table, out: Builder) -> str:
    """Write a segment of files with vectors by `table`; its digest."""
    from lurcher.vectors.static import embed

    data = SegmentData(
        files_of(container), units_of(container), definitions_of(container), container.table("imports", IMPORT), b"",
        terms_of(container), postings_of(container, _COUNTED, owners_in), b"", bytes(container.section("strings")),
        list(container.meta["languages"]), [],
    )  # fmt: skip
    sections, dims = encode_vectors(embed(data, table))
    return copy(container, sections, {"dims": dims, "model": table.digest}, out)


def copy(container: Container, sections: Sections, meta: Mapping[str, Any], out: Builder) -> str:
    """Write what a container holds, with other `sections`, which lie together, and other entries of `meta`; its digest."""
    written = False
    for name, kind in container.sections():
        if name in sections:
            # Of empty ones nobody can tell which came first.
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
            container.forget()
    return out.finish({**container.meta, **meta})


def terms_of(container: Container) -> list[str]:
    blob, found, start = bytes(container.section("terms")), [], 0
    try:
        for end in container.array("term_ends", "<u4").tolist():
            found.append(blob[start:end].decode("utf-8", "surrogatepass"))
            start = end
    except UnicodeDecodeError as error:
        raise container.corrupt("a term is not text") from error
    return found


def postings_of(
    container: Container, families: tuple[str, ...], owners: Callable[[Container, str], int]
) -> dict[str, Postings]:
    """Some families of postings, whole."""
    found = {}
    for family in families:
        lists = lists_of(container, family)
        found[family] = read_range(container, family, lists, 0, len(lists.terms), owners(container, family))
    return found

# ----------------------------------------------------------------------------------------------------------------------
# Vectors of the model in use, where an index has none or not all: made anew by a term table, or embedded by a provider.


class Kept(Protocol):
    """What a manifest of any index says of its vectors."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def generation(self) -> int: ...
    @property
    def segments(self) -> tuple[str, ...]: ...
    @property
    def vectors(self) -> Mapping[str, Apart]: ...


Manifested = TypeVar("Manifested", bound=Kept)


class Opened(Protocol):
    @property
    def segments(self) -> Sequence[Any]: ...


class Holder(Protocol[Manifested]):
    """Who has an index: of files, or of commits."""

    store: Any
    model: Any
    settings: Settings

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...
    def current(self) -> Manifested: ...
    def keep(self, manifest: Manifested) -> None: ...
    def on_view(self, manifest: Manifested) -> Opened: ...


@dataclass(frozen=True, slots=True)
class Kind(Generic[Manifested]):
    """What sets the vectors of one index apart from those of another."""

    stage: str
    called: str
    doing: str
    hint: str
    groups: tuple[Group, ...]
    restate: Callable[[Container, Table, Builder], str]
    """A segment with vectors by a table; its name."""
    describe: Callable[[Manifested], Callable[[str, Container], list[Described]]]
    """The texts of a segment that a provider embeds."""


def vectors_in(
    holder: Holder[Manifested], kind: Kind[Manifested], manifest: Manifested, progress: Progress, notes: list[Degraded],
    refresh: bool, limited: bool,
) -> Manifested:  # fmt: skip
    """The index as it is then. What still lacks vectors is told of, and why."""
    if isinstance(holder.model, TextModel):
        return _embedded(holder, kind, holder.model, manifest, progress, notes, refresh, limited)
    if not refresh:
        return manifest  # whoever asks for meaning is told
    try:
        with holder.store.lock(holder.settings.index.lock_seconds):
            manifest = _restated(holder, kind, holder.current(), progress)
        notes.append(Degraded(kind.stage, "its vectors were of another model; they were made anew", ""))
    except IndexLocked as busy:
        notes.append(Degraded("dense", f"{kind.called} has vectors of another model; {busy.message}", busy.hint))
    return manifest


def _restated(holder: Holder[Manifested], kind: Kind[Manifested], manifest: Manifested, progress: Progress) -> Manifested:
    """The same segments with vectors by the table in use."""
    table = holder.model.table
    names = []
    for number, name in enumerate(manifest.segments):
        progress(kind.doing, number, len(manifest.segments))
        container = holder.store.container(name)
        if container.meta.get("model") != table.digest:
            name = holder.store.put(partial(kind.restate, container, table))
        names.append(name)
    progress(kind.doing, len(names), len(names))
    newer = replace(
        manifest, generation=manifest.generation + 1, segments=tuple(names), fingerprint=holder.fingerprint, vectors={}
    )
    holder.keep(newer)
    return newer


def _embedded(
    holder: Holder[Manifested], kind: Kind[Manifested], model: TextModel, manifest: Manifested, progress: Progress,
    notes: list[Degraded], refresh: bool, limited: bool,
) -> Manifested:  # fmt: skip
    segments = holder.on_view(manifest).segments
    lacking, total = lack_in(segments, kind.groups)
    problem: LurcherError | None = None
    if lacking and refresh and (not limited or worth(model, lacking, segments, manifest.vectors)):
        try:
            with holder.store.lock(0 if limited else holder.settings.index.lock_seconds):
                manifest, problem = _complete(holder, kind, model, holder.current(), progress, notes, limited)
        except IndexLocked as busy:
            problem = busy
        lacking, total = lack_in(holder.on_view(manifest).segments, kind.groups)
    notes += lack_told(lacking, total, problem, kind.hint)
    return manifest


def _complete(
    holder: Holder[Manifested], kind: Kind[Manifested], model: TextModel, manifest: Manifested, progress: Progress,
    notes: list[Degraded], limited: bool,
) -> tuple[Manifested, LurcherError | None]:  # fmt: skip
    latest = manifest

    def commit(vectors: Mapping[str, Apart]) -> None:
        nonlocal latest
        latest = replace(latest, generation=latest.generation + 1, fingerprint=holder.fingerprint, vectors=vectors)
        holder.keep(latest)

    done = complete(
        holder.store, manifest.segments, manifest.vectors, model, kind.groups, kind.describe(manifest), commit, progress,
        **limits(model, limited),
    )  # fmt: skip
    if done.refused and not done.problem:
        notes.append(refusal(done.refused))
    return latest, model.failed(done.problem) if done.problem is not None else None


def _texts_of(manifest: Manifest) -> Callable[[str, Container], list[Described]]:
    places = dict(zip(manifest.segments, live_places(manifest), strict=True))
    return lambda name, container: described(container, live_mask(int(container.meta["files"]), places[name]))


FILES: Kind[Manifest] = Kind("index", "the index", "embedding", "run: lurcher index", VECTOR_GROUPS, restate, _texts_of)


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
    hint = command if problem is None or not problem.hint else Template("{*}; then {*}", problem.hint, command)
    return [Degraded("dense", f"{lacking:,} of {total:,} texts have no vectors yet{why}", hint)]


def refusal(count: int) -> Degraded:
    told = f"the server refused {counted(count, 'text')}: there are no vectors of {'it' if count == 1 else 'them'}"
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
