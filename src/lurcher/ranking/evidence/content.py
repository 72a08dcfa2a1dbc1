"""H: the harmonic sum of a file's chunk scores, Σ score / rank^power over all its chunks, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.ranking.context import Context

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def score(context: Context, power: float) -> NDArray[np.float64]:
    import numpy as np

    unit_file = context.snapshot.unit_file
    scores = context.lexical.scores
    units = np.flatnonzero((scores > 0) & context.allowed[unit_file])
    files = unit_file[units]
    values = scores[units]
    # By score, then stably by file; equal scores may stand in any order, and small file numbers sort in linear time.
    order = np.argsort(-values)
    number = files[order].astype(np.uint16 if context.snapshot.file_total < 1 << 16 else np.int64)
    order = order[np.argsort(number, kind="stable")]
    files, values = files[order], values[order]
    first = np.flatnonzero(np.diff(files, prepend=-1))
    rank = np.arange(len(files)) - np.repeat(first, np.diff(np.append(first, len(files)))) + 1
    sums = np.zeros(context.snapshot.file_total)
    if len(first):
        sums[files[first]] = np.add.reduceat(values / rank**power, first)
    return sums
