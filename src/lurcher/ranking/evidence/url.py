"""The report links to the file in a hosted repository."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.mentions import find_files_at
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOB = pattern(r"/(?:blob|blame|tree|raw|edit|src)/(?:branch/)?[^/]+/([^?#]+)")


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    for url in context.plan.report.urls if context.plan.report else ():
        match = _BLOB.search(url)
        if match and "." in match[1].rsplit("/", 1)[-1]:
            files = find_files_at(context, match[1])
            for file in files:
                found[file] = max(found[file], 1.0 / len(files))
                context.notes["url", file] = "a link points to it"
    return found
