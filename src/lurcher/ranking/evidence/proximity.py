"""The file is near one of the best ones in the import graph."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.neighbours import SOURCES, near, told
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.order import best_files

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context, others: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near each file is, given the sum of all `others`; files that nothing else leads to stay out."""
    gained = np.zeros(len(others))
    found = np.flatnonzero((others > 0) & context.allowed)
    if not len(found):
        return gained
    snapshot = context.snapshot
    best = best_files(snapshot, found, others[found], SOURCES)
    highest = float(others[best].max())
    sources = {int(file): float(others[file]) / highest for file in best}
    for file, item in near(snapshot, sources, context.settings.classic.proximity_decay).items():
        if others[file] > 0:
            gained[file] = item.share
            context.notes["proximity", file] = told(snapshot, item)
    return gained
