"""Questions about files, names and the index itself: impact, outline, context, exists, why, brief, explain, status, doctor.

Here is what they share: the basis that every answer states, and the file that a path names. A module for each question holds
its answer, whose `to_dict` gives the JSON; `inspection` calls them with the current generation of the index.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from lurcher.errors import PathError, QueryError, Template
from lurcher.runtime.process import format_count
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Definition, Degraded, IndexState, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lurcher.indexing import View


class Basis(Record):
    """The state of the index that an answer was made from."""

    __slots__ = ("index", "degraded", "views")
    uncompared = ("views",)

    def __init__(self, index: IndexState, degraded: tuple[Degraded, ...] = (), views: tuple[View, ...] = ()) -> None:
        self.index, self.degraded = index, degraded
        self.views = views
        """The view of each root: of this process, so neither shown, copied, pickled nor part of the JSON."""

    def values(self) -> dict[str, Any]:
        return {"index": self.index, "degraded": self.degraded}

    def to_dict(self) -> dict[str, Any]:
        return {"index": self.index.to_dict(), "degraded": [entry.to_dict() for entry in self.degraded]}


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of an answer, with tuples as lists."""
    found = value.values() if isinstance(value, Record) else {name: getattr(value, name) for name in value.__match_args__}
    return {name: list(item) if isinstance(item, tuple) else item for name, item in found.items()}


_NEAR = 3
_MOST_NAMED = 300


def file_at(snapshot: Snapshot, candidates: Sequence[str]) -> int:
    """The live file that one of the candidates names."""
    for path in candidates:
        file = snapshot.live_paths.get(path)
        if file is not None:
            return file
    if any(_below(snapshot, path) for path in candidates):
        raise PathError(f"{candidates[0] or '.'} is a folder", "name a file of it")
    raise _unknown(snapshot, candidates[0] or ".")


def file_or_symbol(
    snapshot: Snapshot, name: str, candidates: Sequence[str]
) -> tuple[int, Definition | None, tuple[Degraded, ...]]:
    """The file at a path, or the best definition of that name with its file. Notes say where else the name is defined."""
    from lurcher.lanes import symbol

    if any(path in snapshot.live_paths for path in candidates) or any(_below(snapshot, path) for path in candidates if path):
        return file_at(snapshot, candidates), None, ()
    matches = [match for match in symbol.find_definitions(snapshot, [name.strip()]) if snapshot.live_files[match.file]]
    if not matches:
        raise _unknown(snapshot, candidates[0] or ".")
    best = max(symbol.select_fitting(matches), key=lambda match: (match.strength, -int(snapshot.path_rank[match.file])))
    others = sorted({snapshot.path(match.file) for match in matches} - {snapshot.path(best.file)})
    notes = (Degraded("symbol", f"{name} is defined in {', '.join(others[:3])} too", "name the file"),) if others else ()
    return best.file, best.definition, notes


def unit_at(snapshot: Snapshot, file: int, line: int) -> int:
    """The unit that a line of a file is in."""
    units = snapshot.units_of(file)
    for unit in units:
        _, _, _, first, last, _ = snapshot.unit(unit)
        if first <= line <= last:
            return unit
    lines = snapshot.unit(units[-1])[4] if units else 0
    has = f"it has {format_count(lines, 'line')}" if lines else "it is empty"
    raise QueryError(f"{snapshot.path(file)} has no line {line}", has)


def files_at(snapshot: Snapshot, candidates: Sequence[str]) -> tuple[str, list[int], bool]:
    """The path in the index, its files in path order, and whether it is a single file."""
    for path in candidates:
        file = snapshot.live_paths.get(path)
        if file is not None:
            return path, [file], True
        files = _below(snapshot, path)
        if files or (not path and not snapshot.live_paths):  # an empty tree is not an error
            return path or ".", files, False
    raise _unknown(snapshot, candidates[0] or ".")


def _below(snapshot: Snapshot, folder: str) -> list[int]:
    inside = f"{folder}/" if folder else ""
    found = sorted((path, file) for path, file in snapshot.live_paths.items() if path.startswith(inside))
    return [file for _, file in found]


TO_SEE_LEFT_OUT = Template("to see what was left out: {status: skipped}")


class NotIndexed(PathError):
    """A path that is not in the index."""

    path = ""
    left_out: tuple[str, str] | None = None
    """Of a file that exists: its path, and why it was left out, for whoever may read the folder anyway."""


def _unknown(snapshot: Snapshot, path: str) -> NotIndexed:
    near = _near(snapshot, path.rstrip("/"))
    shown = path if len(path) <= _MOST_NAMED else f"{path[:_MOST_NAMED]}…"
    hint = f"did you mean {', '.join(near)}?" if near else TO_SEE_LEFT_OUT
    found = NotIndexed(f"{shown} is not in the index", hint)
    found.path = path
    return found


def _near(snapshot: Snapshot, wanted: str) -> list[str]:
    """Files of the same name, else those of a similar one."""
    import difflib

    by_name: dict[str, list[str]] = {}
    for path in sorted(snapshot.live_paths):
        by_name.setdefault(posixpath.basename(path), []).append(path)
    name = posixpath.basename(wanted)
    names = [name] if name in by_name else difflib.get_close_matches(name, by_name, _NEAR)
    return [path for each in names for path in by_name[each]][:_NEAR]
