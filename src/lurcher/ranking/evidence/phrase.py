"""The file contains the query word for word."""

from __future__ import annotations

from lurcher.lanes.literal import LiteralMatches
from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    lane = context.lanes.get("literal")
    if isinstance(lane, LiteralMatches):
        # Not np.unique, which loads masked arrays to find out that this is none.
        files = np.flatnonzero(np.bincount(context.snapshot.unit_file[lane.units]))
        found[files] = 1.0
        for file in files.tolist():
            context.notes["phrase", file] = f"says {lane.pattern.text}"
    return found
