"""The file is named like the queried symbol."""

from __future__ import annotations

from lurcher.query.intent import split_qualified_name
from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.terms.split import compound

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    for name in context.plan.names:
        parts = split_qualified_name(name)
        if parts:
            owners, _ = context.snapshot.postings("stem", compound(parts[-1]))
            found[owners] = 1.0
    return found
