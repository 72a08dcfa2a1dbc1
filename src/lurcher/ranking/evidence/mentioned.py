"""The report names the file's path."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.mentions import find_files_at
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    for path in context.plan.report.paths if context.plan.report else ():
        files = find_files_at(context, path)
        for file in files:
            found[file] = max(found[file], 1.0 / len(files))
            context.notes["mentioned", file] = f"{path} is mentioned"
    return found
