"""The one order of units: by value, then path, then line. Nothing that an answer shows may depend on how units are numbered."""

from __future__ import annotations

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple
from lurcher.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def order_units(snapshot: Snapshot, units: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of `units` by value, then path, then line: a total order."""
    files = snapshot.unit_file[units]
    return np.lexsort((units, snapshot.path_rank[files], -values))


def order_by_path(snapshot: Snapshot, numbers: NDArray[np.int64], files: NDArray[np.int64]) -> NDArray[np.int64]:
    """`numbers`, each of something in one of `files`, by path and then by number: the order in which a limit may cut them."""
    if len(snapshot.segments) < 2:
        return numbers
    return numbers[np.lexsort((numbers, snapshot.path_rank[files]))]


def top_files(
    snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Those of `files` with the largest values, at most so many, sorted by number; of equals the first by path."""
    return files if len(files) <= most else files[top_positions(snapshot, files, values, most)]


def top_positions(snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Where the largest values are, at most so many, in order; of equals the first by the path of its file."""
    kernel = native()
    if kernel is not None:
        found: NDArray[np.int64] = kernel.largest(values, files, snapshot.path_rank, most)
        return found
    if len(files) <= most:
        return np.arange(len(files))
    border = np.partition(values, len(values) - most)[len(values) - most]
    above, equal = np.flatnonzero(values > border), np.flatnonzero(values == border)
    equal = equal[np.argsort(snapshot.path_rank[files[equal]], kind="stable")][: most - len(above)]
    return np.sort(np.concatenate((above, equal)))


class FileScores(NamedTuple):
    """What the units' scores are to each file."""

    best: NDArray[np.float64]
    """The best of its units, 0 where none has any."""
    units: NDArray[np.int64]
    """The first unit that has it, or -1."""
    scored: NDArray[np.int64]
    """How many units have any."""


def best_units_by_file(snapshot: Snapshot, scores: NDArray[np.float64]) -> FileScores:
    """A file's units are numbered one after the other."""
    kernel = native()
    if kernel is not None:
        return FileScores(*kernel.best_units(scores, snapshot.first_unit, snapshot.unit_counts))
    return _best_units_by_file(snapshot, scores)


def _best_units_by_file(snapshot: Snapshot, scores: NDArray[np.float64]) -> FileScores:
    import numpy as np

    best, units = np.zeros(snapshot.file_total), np.full(snapshot.file_total, -1, np.int64)
    scored = np.zeros(snapshot.file_total, np.int64)
    filled = np.flatnonzero(snapshot.unit_counts)
    if len(filled):
        best[filled] = np.maximum(np.maximum.reduceat(scores, snapshot.first_unit[filled]), 0.0)
        scored[filled] = np.add.reduceat((scores > 0).astype(np.int64), snapshot.first_unit[filled])
        top = np.flatnonzero((scores > 0) & (scores == best[snapshot.unit_file]))[::-1]
        units[snapshot.unit_file[top]] = top  # the last write stays: the first of equals
    return FileScores(best, units, scored)


def rank_of_unit(
    snapshot: Snapshot, scores: NDArray[np.float64], unit: int, signature: tuple[int, int] | None = None
) -> int:
    """A unit's place among all units by score, 1-based and in the total order; 0 where it has no score.

    `standing` is that of its score, for who has asked about many at once.
    """
    value = scores[unit]
    if not value > 0:
        return 0
    above, equal = signature or count_above_and_equal(scores, [float(value)])[0]
    if equal > 1:
        tied = np.flatnonzero(scores == value)
        above += int(np.flatnonzero(tied[order_units(snapshot, tied, scores[tied])] == unit)[0])
    return above + 1


def count_above_and_equal(scores: NDArray[np.float64], values: Sequence[float]) -> list[tuple[int, int]]:
    """For each value how many scores are above it, and how many equal it."""
    kernel = native()
    if kernel is None:
        return [(int(np.count_nonzero(scores > value)), int(np.count_nonzero(scores == value))) for value in values]
    found: list[tuple[int, int]] = kernel.standings(scores, values)
    return found
