"""The one order of units: by value, then path, then line. Nothing that an answer shows may depend on how units are numbered."""

from __future__ import annotations

from lurcher.arrays import np
from lurcher.index.reader import Snapshot
from lurcher.kernel import native
from lurcher.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_first(snapshot: Snapshot, units: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of `units` by value, then path, then line: a total order."""
    files = snapshot.unit_file[units]
    return np.lexsort((units, snapshot.path_rank[files], -values))


def by_path(snapshot: Snapshot, numbers: NDArray[np.int64], files: NDArray[np.int64]) -> NDArray[np.int64]:
    """`numbers`, each of something in one of `files`, by path and then by number: the order in which a limit may cut them."""
    if len(snapshot.segments) < 2:
        return numbers
    return numbers[np.lexsort((numbers, snapshot.path_rank[files]))]


def best_files(
    snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Those of `files` with the largest values, at most so many, sorted by number; of equals the first by path."""
    if len(files) <= most:
        return files
    border = np.partition(values, len(values) - most)[len(values) - most]
    above = files[values > border]
    equal = files[values == border]
    equal = equal[np.argsort(snapshot.path_rank[equal], kind="stable")][: most - len(above)]
    return np.sort(np.concatenate((above, equal)))


def place_of(snapshot: Snapshot, scores: NDArray[np.float64], unit: int) -> int:
    """A unit's place among all units by score, 1-based and in the total order; 0 where it has no score."""
    value = scores[unit]
    if not value > 0:
        return 0
    above, equal = standing(scores, float(value))
    if equal > 1:
        tied = np.flatnonzero(scores == value)
        above += int(np.flatnonzero(tied[best_first(snapshot, tied, scores[tied])] == unit)[0])
    return above + 1


def standing(scores: NDArray[np.float64], value: float) -> tuple[int, int]:
    """How many scores are above a value, and how many equal it."""
    kernel = native()
    if kernel is not None:
        found: tuple[int, int] = kernel.standing(scores, value)
        return found
    return int(np.count_nonzero(scores > value)), int(np.count_nonzero(scores == value))
