"""A dotted name of the report (`package.module.Class.method`) resolves to the file."""

from __future__ import annotations

from lurcher.lanes.symbol import find_definitions
from lurcher.ranking.context import Context
from lurcher.ranking.mentions import find_files_at
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    found = np.zeros(context.snapshot.file_total)
    for name in context.plan.report.dotted if context.plan.report else ():
        files = _find_module(context, name) or _find_symbol(context, name)
        for file in files:
            found[file] = max(found[file], 1.0 / len(files))
            context.notes["dotted", file] = f"{name} resolves to it"
    return found


def _find_module(context: Context, name: str) -> list[int]:
    """Files that the longest part of the name is the module path of."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        wanted = parts[:length]
        files = []
        for candidate in ("/".join(wanted), "/".join((*wanted, "__init__"))):
            for extension in (".py", ".ts", ".js", ".java", ".kt", ".scala", ".rb", ".ex", ".hs", ".lua", ".go", ".rs"):
                files += [
                    file
                    for file in find_files_at(context, candidate + extension)
                    if context.snapshot.path(file).endswith("/".join(wanted[-2:]) + extension)
                    or context.snapshot.path(file).endswith("/".join(wanted[-2:]) + "/__init__" + extension)
                ]
        if files:
            return sorted(set(files))
    return []


def _find_symbol(context: Context, name: str) -> list[int]:
    """Files that define the last component inside of the one before it."""
    matches = find_definitions(context.snapshot, [name])
    return sorted({match.file for match in matches if match.strength >= 0.5 and match.definition.container})
