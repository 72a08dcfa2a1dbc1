"""The file is in the stack trace: the deepest frame that lies in the repository counts most, each one above it half."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.mentions import find_files_at
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DECAY = 0.5


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    value = 1.0
    for path in reversed(context.plan.report.frames if context.plan.report else ()):
        files = find_files_at(context, path)
        if not files or found[files[0]]:
            continue
        for file in files:
            found[file] = max(found[file], value / len(files))
            context.notes["trace", file] = "in the stack trace"
        value *= _DECAY
    return found
