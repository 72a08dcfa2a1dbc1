"""The file defines a name of the query: types count most, then functions, then variables."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context, *, shared: bool = False) -> NDArray[np.float64]:
    """`shared` divides by the number of files that define the name, so that rare names count."""
    found = np.zeros(context.snapshot.file_total)
    files_of: dict[str, set[int]] = {}
    for match in context.symbols:
        files_of.setdefault(match.name, set()).add(match.file)
    for match in context.symbols:
        strength = match.strength / len(files_of[match.name]) if shared else match.strength
        if strength > found[match.file]:
            found[match.file] = strength
            context.notes["definition", match.file] = f"defines {match.definition.qualified}"
    return found
