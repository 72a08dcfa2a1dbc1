"""Vectors that lie apart from their segments: those of models that embed text, which may take long and may have to wait.

A file of vectors belongs to one segment and one model. It has a row for every unit and every file, zero where there is none
yet, and for each row the digest of the text it is of; so a text that is met again, in whatever segment, is not embedded again.
The manifest says which model's vectors of which segment are in which file.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, dataclass, pattern
from lurcher.storage.container import Container

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KIND = "vectors"
KEY_BYTES = 16
_NAME = pattern(rf"[0-9a-f]{{24}}\.{KIND}")
_DIGEST = pattern(r"[0-9a-f]{32}")
_MAX_DIMS = 1 << 16


@dataclass(frozen=True, slots=True)
class VectorGroup:
    """Sections of a file of vectors that go together: numbers, scales, and of what texts; and what they are one per."""

    numbers: str
    scales: str
    owners: str

    @property
    def keys(self) -> str:
        return f"{self.numbers}_keys"


VECTOR_GROUPS = (VectorGroup("vectors", "vector_scales", "units"), VectorGroup("cards", "card_scales", "files"))
"""Of a segment of files."""
HISTORY_GROUPS = (VectorGroup("commit_vectors", "commit_scales", "commits"),)
"""Of a segment of history: hunks are too many to embed one by one."""


@dataclass(frozen=True, slots=True)
class VectorSidecar:
    """One model's vectors of a generation."""

    about: Mapping[str, Any]
    """Provider, model and the like, only ever shown."""
    dims: int
    files: Mapping[str, str]
    """Segment → file of vectors."""

    def to_dict(self) -> dict[str, Any]:
        return {"about": dict(self.about), "dims": self.dims, "files": dict(sorted(self.files.items()))}


def sidecar_files(vectors: Mapping[str, VectorSidecar]) -> set[str]:
    """Every file of vectors that is in use."""
    return {name for apart in vectors.values() for name in apart.files.values()}


def parse_sidecars(found: Any) -> dict[str, VectorSidecar]:
    """What a manifest says of vectors; nothing that would lead elsewhere is believed."""
    vectors: dict[str, VectorSidecar] = {}
    for digest, entry in dict(found).items():
        about, dims, files = dict(entry["about"]), entry["dims"], dict(entry["files"])
        if not _DIGEST.fullmatch(digest) or type(dims) is not int or not 1 <= dims < _MAX_DIMS:
            raise ValueError("it names vectors of no model")
        if not all(_NAME.fullmatch(name) for name in files.values()):
            raise ValueError("it names what is no file of vectors")
        vectors[digest] = VectorSidecar(about, dims, files)
    return vectors


def check_sidecar(container: Container, segment: Container, digest: str, groups: tuple[VectorGroup, ...]) -> Container:
    """The container, if it holds a model's vectors of that segment."""
    meta, dims = container.meta, container.meta.get("dims")
    if meta.get("model") != digest or type(dims) is not int or not 1 <= dims < _MAX_DIMS:
        raise container.corrupt("its vectors are of another model")
    for group in groups:
        count = segment.meta[group.owners]
        sizes = container.length(group.numbers), container.length(group.scales), container.length(group.keys)
        if meta.get(group.owners) != count or sizes != (count * dims, 4 * count, KEY_BYTES * count):
            raise container.corrupt(f"its {group.numbers} are not as many as the {group.owners} of the segment")
    return container
