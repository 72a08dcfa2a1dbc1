"""Vectors in a segment: one per unit and one per file (its card), as bytes with a scale per row that makes the row one long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lurcher.index.container import Container
from lurcher.index.tally import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEPT = 1 << 25
"""Numbers that are kept taken apart in memory, 4 bytes each; larger sets are taken apart block by block on each query."""
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Vectors:
    """A row without any known term is zero, and so is its scale."""

    units: NDArray[np.int8]
    unit_scales: NDArray[np.float32]
    cards: NDArray[np.int8]
    card_scales: NDArray[np.float32]


def encode_vectors(vectors: Vectors | None) -> tuple[dict[str, tuple[str, bytes | memoryview]], int]:
    """The sections of a segment that hold its vectors, and how many numbers each has."""
    if vectors is None:
        return {"vectors": ("i1", b""), "vector_scales": ("<f4", b""), "cards": ("i1", b""), "card_scales": ("<f4", b"")}, 0
    return {
        "vectors": ("i1", vectors.units.tobytes()),
        "vector_scales": ("<f4", vectors.unit_scales.astype("<f4").tobytes()),
        "cards": ("i1", vectors.cards.tobytes()),
        "card_scales": ("<f4", vectors.card_scales.astype("<f4").tobytes()),
    }, int(vectors.units.shape[1])


def check_vectors(container: Container) -> None:
    """Raise unless there is a vector for each unit and each file, or for none."""
    meta, dims = container.meta, container.meta.get("dims")
    if type(dims) is not int or not 0 <= dims <= 1 << 16:
        raise container.corrupt("its vectors have no size")
    for name, scales, kind in (("vectors", "vector_scales", "units"), ("cards", "card_scales", "files")):
        count = meta[kind] if dims else 0
        if container.length(name) != count * dims or container.length(scales) != 4 * count:
            raise container.corrupt(f"its {name} are not as many as its {kind}")


def vectors_of(container: Container) -> Vectors | None:
    """The vectors of a segment, mapped; None where it has none."""
    dims = container.meta["dims"]
    if not dims:
        return None
    found = Vectors(
        container.array("vectors", "i1").reshape(-1, dims), container.array("vector_scales", "<f4"),
        container.array("cards", "i1").reshape(-1, dims), container.array("card_scales", "<f4"),
    )  # fmt: skip
    for scales in (found.unit_scales, found.card_scales):
        if len(scales) and not 0 <= float(scales.min()) <= float(scales.max()) <= 1:
            raise container.corrupt("its vectors are of no length")
    return found


def merge_vectors(
    parts: Sequence[Vectors | None],
    unit_maps: Sequence[NDArray[np.int64]],
    file_maps: Sequence[NDArray[np.int64]],
) -> Vectors | None:
    """Each part's rows at their new places (-1: dropped). Parts that do not go together have no vectors together."""
    import numpy as np

    sizes = {part.units.shape[1] if part is not None else 0 for part in parts}
    if len(sizes) != 1 or 0 in sizes:
        return None
    (dims,) = sizes
    units = sum(int((places >= 0).sum()) for places in unit_maps)
    files = sum(int((places >= 0).sum()) for places in file_maps)
    merged = Vectors(
        np.zeros((units, dims), np.int8), np.zeros(units, np.float32), np.zeros((files, dims), np.int8),
        np.zeros(files, np.float32),
    )  # fmt: skip
    for part, unit_places, file_places in zip(parts, unit_maps, file_maps, strict=True):
        assert part is not None
        kept = unit_places >= 0
        merged.units[unit_places[kept]] = part.units[kept]
        merged.unit_scales[unit_places[kept]] = part.unit_scales[kept]
        kept = file_places >= 0
        merged.cards[file_places[kept]] = part.cards[kept]
        merged.card_scales[file_places[kept]] = part.card_scales[kept]
    return merged


class Direction(NamedTuple):
    """A vector as whole numbers, and its length; zero long where there is nothing to point at."""

    numbers: NDArray[np.float32]
    length: float


def direction_of(vector: NDArray[np.float64]) -> Direction:
    """Numbers small enough that single precision holds every product with a row exactly.

    A cosine must not depend on the rows around it, or an index that grew would answer differently from one made at once.
    """
    import numpy as np

    total = float(np.abs(vector).sum())
    numbers = np.trunc(vector * ((1 << 17) / total)) if total > 0 else np.zeros(len(vector))
    return Direction(numbers.astype(np.float32), float(np.sqrt((numbers * numbers).sum())))


class Nearness:
    """Cosines of a snapshot's units and files with a direction; numbered across segments, live and dead."""

    def __init__(self, containers: Sequence[Container]) -> None:
        found = [vectors_of(container) for container in containers]
        self._parts = [part for part in found if part is not None]
        sizes = {part.units.shape[1] for part in self._parts}
        self.dims: int = sizes.pop() if len(self._parts) == len(found) and len(sizes) == 1 else 0
        """Numbers of each vector; 0 where not all segments have vectors of one size."""
        self._plain: Memory[tuple[str, int], NDArray[np.float32]] = Memory(_KEPT)

    def of_cards(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per file."""
        return self._all("cards", direction)

    def of_all_units(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per unit."""
        return self._all("units", direction)

    def of_units(self, units: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some units."""
        import numpy as np

        cosines = np.zeros(len(units))
        base = 0
        for part in self._parts:
            here = np.flatnonzero((units >= base) & (units < base + len(part.units)))
            for first in range(0, len(here), _BLOCK):
                places = here[first : first + _BLOCK]
                local = units[places] - base
                cosines[places] = _cosines(part.units[local].astype(np.float32), part.unit_scales[local], direction)
            base += len(part.units)
        return cosines

    def _all(self, what: str, direction: Direction) -> NDArray[np.float64]:
        import numpy as np

        found = []
        for number, part in enumerate(self._parts):
            rows, scales = (part.units, part.unit_scales) if what == "units" else (part.cards, part.card_scales)
            plain = self._plain.get((what, number))
            if plain is None and rows.size <= _KEPT:
                plain = rows.astype(np.float32)
                self._plain.put((what, number), plain, rows.size)
            if plain is not None:
                found.append(_cosines(plain, scales, direction))
                continue
            for first in range(0, len(rows), _BLOCK):
                here = slice(first, first + _BLOCK)
                found.append(_cosines(rows[here].astype(np.float32), scales[here], direction))
        return np.concatenate(found) if found else np.zeros(0)


def _cosines(rows: NDArray[np.float32], scales: NDArray[np.float32], direction: Direction) -> NDArray[np.float64]:
    import numpy as np

    products = (rows @ direction.numbers).astype(np.float64)
    cosines: NDArray[np.float64] = products * scales / (direction.length or 1.0)
    return cosines
