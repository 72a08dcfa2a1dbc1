"""Vectors as they are written: in segments, and in sidecars, which hold the vectors of models that embed text.

Those take longer to make than their segments. A sidecar belongs to one segment and one model. It has a row for everything that
is embedded, zero where there is no vector yet, and for each row the digest of its text; so a text that occurs again, in any
segment, is not embedded again. The manifest says which sidecar holds the vectors of a segment by a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lurcher.runtime.kernel import np
from lurcher.storage.container import Container
from lurcher.storage.tables import FILE_VECTORS, VectorGroup, open_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray


class Vectors(NamedTuple):
    """All vectors of a segment of files. A row without any known term is zero, and so is its scale."""

    units: NDArray[np.int8]
    unit_scales: NDArray[np.float32]
    cards: NDArray[np.int8]
    card_scales: NDArray[np.float32]


def encode_vectors(
    vectors: Sequence[NDArray[Any]] | None, groups: Sequence[VectorGroup]
) -> tuple[dict[str, tuple[str, bytes | memoryview]], int]:
    """The sections with the vectors of a segment, given as numbers and scales of each group, and the number of dimensions."""
    sections: dict[str, tuple[str, bytes | memoryview]] = {}
    for place, group in enumerate(groups):
        sections[group.numbers] = ("i1", b"" if vectors is None else vectors[2 * place].tobytes())
        sections[group.scales] = ("<f4", b"" if vectors is None else vectors[2 * place + 1].astype("<f4").tobytes())
    return sections, 0 if vectors is None else int(vectors[0].shape[1])


def read_vectors(container: Container) -> Vectors | None:
    """The vectors of a segment of files, mapped; None where it has none."""
    part = open_vectors(container, FILE_VECTORS)
    if part is None:
        return None
    import numpy as np

    found: list[Any] = []
    for rows in part.values():
        found += [np.frombuffer(rows.data, np.int8).reshape(-1, rows.dims), np.asarray(rows.scales)]
    return Vectors(*found)


KIND = "vectors"
KEY_BYTES = 16
_NAME = re.compile(rf"[0-9a-f]{{24}}\.{KIND}")
_DIGEST = re.compile(r"[0-9a-f]{32}")
_MAX_DIMS = 1 << 16


@dataclass(frozen=True, slots=True)
class VectorSidecar:
    """The vectors of one model in a generation."""

    about: Mapping[str, Any]
    """Provider, model and so on, for display."""
    dims: int
    files: Mapping[str, str]
    """Segment → sidecar."""

    def to_dict(self) -> dict[str, Any]:
        return {"about": dict(self.about), "dims": self.dims, "files": dict(sorted(self.files.items()))}


def sidecar_files(vectors: Mapping[str, VectorSidecar]) -> set[str]:
    """The names of all sidecars in use."""
    return {name for sidecar in vectors.values() for name in sidecar.files.values()}


def parse_sidecars(found: Any) -> dict[str, VectorSidecar]:
    """The entry `vectors` of a manifest; ValueError if it could lead out of the index folder."""
    vectors: dict[str, VectorSidecar] = {}
    for digest, entry in dict(found).items():
        about, dims, files = dict(entry["about"]), entry["dims"], dict(entry["files"])
        if not _DIGEST.fullmatch(digest) or type(dims) is not int or not 1 <= dims < _MAX_DIMS:
            raise ValueError("it names vectors of an impossible model")
        if not all(_NAME.fullmatch(name) for name in files.values()):
            raise ValueError("a sidecar has an impossible name")
        vectors[digest] = VectorSidecar(about, dims, files)
    return vectors


def check_sidecar(container: Container, segment: Container, digest: str, groups: Sequence[VectorGroup]) -> Container:
    """The container; an error if it does not hold the vectors of that segment by that model."""
    meta, dims = container.meta, container.meta.get("dims")
    if meta.get("model") != digest or type(dims) is not int or not 1 <= dims < _MAX_DIMS:
        raise container.corrupt("its vectors are of another model")
    for group in groups:
        count = segment.meta[group.owners]
        sizes = container.length(group.numbers), container.length(group.scales), container.length(group.keys)
        if meta.get(group.owners) != count or sizes != (count * dims, 4 * count, KEY_BYTES * count):
            raise container.corrupt(f"the number of its {group.numbers} is not that of the {group.owners} of the segment")
    return container
