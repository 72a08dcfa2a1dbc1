"""Vectors in a segment, as signed bytes with a scale per row; of files one per unit and one per file (its card).

A card is a short description of a file. Row times scale has length 1 for units, at most 1 for cards.
"""

from __future__ import annotations

from _thread import _local
from math import fsum, sqrt

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple
from lurcher.storage.container import Container
from lurcher.storage.segment import FILES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.storage.segment import VectorGroup

_BLOCK_ROWS = 256
"""Rows that are converted at a time: few enough for the processor's cache."""


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
    part = _open_vectors(container, FILES.vectors)
    if part is None:
        return None
    import numpy as np

    found: list[Any] = []
    for rows in part.values():
        found += [np.frombuffer(rows.data, np.int8).reshape(-1, rows.dims), np.asarray(rows.scales)]
    return Vectors(*found)


class VectorRows(NamedTuple):
    """A section of vectors, and the scale of each row."""

    container: Container
    name: str
    dims: int
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def data(self) -> memoryview:
        """All rows, mapped."""
        return self.container.typed_section(self.name, "i1")

    def data_for(self, rows: NDArray[np.int64] | None) -> memoryview:
        """The same where only some rows are read: the others need not be verified."""
        if rows is None or native() is None or not len(rows):
            return self.data
        starts = rows * self.dims
        return self.container.section_with_parts(self.name, starts, starts + self.dims)

    def vector(self, row: int) -> NDArray[np.float64]:
        bytes_ = np.frombuffer(self.data[row * self.dims : (row + 1) * self.dims], np.int8)
        vector: NDArray[np.float64] = bytes_.astype(np.float64) * float(self.scales[row])
        return vector


def _open_vectors(container: Container, groups: Sequence[VectorGroup]) -> dict[str, VectorRows] | None:
    """The vectors of a segment by group, as far as the container has them; None where it has none."""
    dims = container.meta["dims"]
    if not dims:
        return None
    found = {}
    for group in groups:
        if container.has_section(group.numbers):
            scales = np.frombuffer(container.typed_section(group.scales, "<f4"), np.float32)
            if len(scales) and not 0 <= float(scales.min()) <= float(scales.max()) <= 1:
                raise container.corrupt("a scale of its vectors is out of range")
            found[group.numbers] = VectorRows(container, group.numbers, dims, scales)
    return found


class Direction(NamedTuple):
    """A query vector as whole numbers, and its length; length 0 if it is empty."""

    numbers: NDArray[np.float32]
    length: float


def to_direction(vector: NDArray[np.float64]) -> Direction:
    """Numbers small enough that single precision represents every product with a row exactly.

    So a cosine does not depend on how rows are grouped, and an index that grew answers like one that was built at once.
    """
    total = fsum(np.abs(vector).tolist())
    numbers = np.trunc(vector * ((1 << 17) / total)) if total > 0 else np.zeros(len(vector))
    return Direction(numbers.astype(np.float32), sqrt(fsum((numbers * numbers).tolist())))


class ProductBuffer(_local):
    """Memory for converted rows, one per thread: allocating it for each query would cost more than the work."""

    def __init__(self) -> None:
        self._bytes: NDArray[np.int8] | None = None
        self._numbers: NDArray[np.float32] | None = None

    def _numbers_for(self, dims: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        import numpy as np

        if self._bytes is None or self._numbers is None or self._bytes.shape[1] != dims:
            self._bytes, self._numbers = np.empty((_BLOCK_ROWS, dims), np.int8), np.empty((_BLOCK_ROWS, dims), np.float32)
        return self._bytes, self._numbers

    def products(
        self, data: memoryview, dims: int, places: NDArray[np.int64] | None, direction: Direction
    ) -> NDArray[np.float64]:
        """The products of a direction with all rows, or with those at some places."""
        height = len(data) // dims
        count = height if places is None else len(places)
        kernel = native()
        if kernel is not None and height:
            found = np.empty(count)
            kernel.products(data, places, direction.numbers, found)
            return found
        return self._reference(data, dims, places, count, direction)

    def _reference(
        self, data: memoryview, dims: int, places: NDArray[np.int64] | None, count: int, direction: Direction
    ) -> NDArray[np.float64]:
        import numpy as np

        rows = np.frombuffer(data, np.int8).reshape(-1, dims)
        products = np.empty(count, np.float32)
        chosen, numbers = self._numbers_for(rows.shape[1])
        for first in range(0, count, _BLOCK_ROWS):
            last = min(first + _BLOCK_ROWS, count)
            block = numbers[: last - first]
            if places is None:
                block[...] = rows[first:last]
            else:
                # Every place is valid; "clip" only saves a copy.
                rows.take(places[first:last], axis=0, out=chosen[: last - first], mode="clip")
                block[...] = chosen[: last - first]
            np.matmul(block, direction.numbers, out=products[first:last])
        return products.astype(np.float64)


class CosineIndex:
    """Cosines of all rows of a snapshot that have vectors, live and dead, with a direction.

    Rows stay bytes and are converted block by block for each query: fetching them from memory is what costs, and single
    precision would be four times as much to fetch.
    """

    def __init__(self, containers: Sequence[Container | None], groups: Sequence[VectorGroup] = FILES.vectors) -> None:
        found = [_open_vectors(container, groups) if container is not None else None for container in containers]
        self._parts = [part for part in found if part is not None]
        sizes = {rows.dims for part in self._parts for rows in part.values()}
        self.dims: int = sizes.pop() if len(self._parts) == len(found) and len(sizes) == 1 else 0
        """Dimensions; 0 where not all segments have vectors of one size."""
        self._buffer = ProductBuffer()

    def has(self, group: str) -> bool:
        """Whether all segments have the vectors of a group."""
        return self.dims > 0 and all(group in part for part in self._parts)

    def vector(self, unit: int) -> NDArray[np.float64]:
        """A unit's own vector."""
        for part in self._parts:
            rows = part["vectors"]
            if unit < len(rows):
                return rows.vector(unit)
            unit -= len(rows)
        raise IndexError(unit)

    def for_files(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per file."""
        return self.of_all("cards", direction)

    def for_all_units(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per unit."""
        return self.of_all("vectors", direction)

    def for_units(self, units: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some units."""
        return self.of_some("vectors", units, direction)

    def of_all(self, group: str, direction: Direction) -> NDArray[np.float64]:
        """One cosine per row of a group."""
        parts = [self._cosines(part[group], direction) for part in self._parts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)

    def of_some(self, group: str, rows: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some rows of a group."""
        if len(self._parts) == 1:
            return self._cosines(self._parts[0][group], direction, rows)
        cosines = np.zeros(len(rows))
        base = 0
        for part in self._parts:
            here = np.flatnonzero((rows >= base) & (rows < base + len(part[group])))
            cosines[here] = self._cosines(part[group], direction, rows[here] - base)
            base += len(part[group])
        return cosines

    def _cosines(
        self, rows: VectorRows, direction: Direction, places: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        products = self._buffer.products(rows.data_for(places), rows.dims, places, direction)
        products *= rows.scales if places is None else rows.scales[places]
        products /= direction.length or 1.0
        return products
