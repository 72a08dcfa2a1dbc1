"""H: the harmonic sum of a file's chunk scores, Σ score / rank^power over all its chunks, best first."""

from __future__ import annotations

from lurcher.lanes.base import FileScores
from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context, power: float) -> NDArray[np.float64]:
    found = context.lexical
    return sum_harmonic(context.snapshot, found.scores, found.files, context.allowed, power)


def _load_divisors(snapshot: Snapshot, power: float) -> NDArray[np.float64]:
    """What the first, second, … best unit of a file is divided by."""
    known = snapshot.divisors.get(power)
    if known is None:
        most = int(snapshot.unit_counts.max(initial=0))
        known = snapshot.divisors[power] = np.array([place**power for place in range(1, most + 1)], np.float64)
    return known


def sum_harmonic(
    snapshot: Snapshot, scores: NDArray[np.float64], files: FileScores, allowed: NDArray[np.bool_], power: float
) -> NDArray[np.float64]:
    """The sum of each allowed file."""
    counts = snapshot.unit_counts
    divisors = _load_divisors(snapshot, power)
    kernel = native()
    if kernel is not None:
        sums = np.empty(snapshot.file_total)
        kernel.harmonic(scores, files.best, snapshot.first_unit, counts, allowed, divisors, sums)
        return sums
    return _reference(snapshot, scores, allowed, divisors)


def _reference(
    snapshot: Snapshot, scores: NDArray[np.float64], allowed: NDArray[np.bool_], divisors: NDArray[np.float64]
) -> NDArray[np.float64]:
    import numpy as np

    unit_file = snapshot.unit_file
    units = np.flatnonzero((scores > 0) & allowed[unit_file])
    files = unit_file[units]
    values = scores[units]
    # By score, then stably by file; the order of equal scores does not matter, and small file numbers sort in linear time.
    order = np.argsort(-values)
    number = files[order].astype(np.uint16 if snapshot.file_total < 1 << 16 else np.int64)
    order = order[np.argsort(number, kind="stable")]
    files, values = files[order], values[order]
    first = np.flatnonzero(np.diff(files, prepend=-1))
    place = np.arange(len(files)) - np.repeat(first, np.diff(np.append(first, len(files))))
    return np.bincount(files, values / divisors[place], snapshot.file_total).astype(np.float64, copy=False)
