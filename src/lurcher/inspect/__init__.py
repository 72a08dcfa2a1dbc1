"""Questions about files, names and the index itself: impact, outline, context, exists, why, brief, explain, status, doctor.

What surveys answer with: frozen, slotted; `to_dict` gives the JSON.

Which files of the index a path means, as a user types it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.errors import PathError, QueryError, Template
from lurcher.runtime.terminal import format_count
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Definition, Degraded, IndexState

if TYPE_CHECKING:
    from lurcher.indexing.generation import View


@dataclass(frozen=True, slots=True)
class Basis:
    """What every answer says of the index behind it."""

    index: IndexState
    degraded: tuple[Degraded, ...] = ()
    views: tuple[View, ...] = ()
    """What it is of each root; no part of an answer."""

    def to_dict(self) -> dict[str, Any]:
        return {"index": self.index.to_dict(), "degraded": [entry.to_dict() for entry in self.degraded]}


def plain_fields(value: Any) -> dict[str, Any]:
    """The plain fields of an answer, tuples as lists."""
    found = {name: getattr(value, name) for name in value.__match_args__}
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
    snapshot: Snapshot, asked: str, candidates: Sequence[str]
) -> tuple[int, Definition | None, tuple[Degraded, ...]]:
    """The file that is meant; else the best definition of that name, with its file. Notes say what else has the name."""
    from lurcher.lanes import symbol

    if any(path in snapshot.live_paths for path in candidates) or any(_below(snapshot, path) for path in candidates if path):
        return file_at(snapshot, candidates), None, ()
    matches = [match for match in symbol.find_definitions(snapshot, [asked.strip()]) if snapshot.live_files[match.file]]
    if not matches:
        raise _unknown(snapshot, candidates[0] or ".")
    best = max(symbol.select_fitting(matches), key=lambda match: (match.strength, -int(snapshot.path_rank[match.file])))
    others = sorted({snapshot.path(match.file) for match in matches} - {snapshot.path(best.file)})
    notes = (Degraded("symbol", f"{asked} is defined in {', '.join(others[:3])} too", "name the file"),) if others else ()
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
    """The path that is meant, its files in path order, and whether it is a single file."""
    for path in candidates:
        file = snapshot.live_paths.get(path)
        if file is not None:
            return path, [file], True
        files = _below(snapshot, path)
        if files or (not path and not snapshot.live_paths):  # a tree without files is no mistake
            return path or ".", files, False
    raise _unknown(snapshot, candidates[0] or ".")


def _below(snapshot: Snapshot, folder: str) -> list[int]:
    inside = f"{folder}/" if folder else ""
    found = sorted((path, file) for path, file in snapshot.live_paths.items() if path.startswith(inside))
    return [file for _, file in found]


def _unknown(snapshot: Snapshot, asked: str) -> PathError:
    near = _near(snapshot, asked.rstrip("/"))
    asked = asked if len(asked) <= _MOST_NAMED else f"{asked[:_MOST_NAMED]}…"
    if not near:
        return PathError(f"{asked} is not in the index", Template("to see what was left out: {status: skipped}"))
    return PathError(f"{asked} is not in the index", f"did you mean {', '.join(near)}?")


def _near(snapshot: Snapshot, asked: str) -> list[str]:
    """Files of the same name, else those of a similar one."""
    import difflib

    by_name: dict[str, list[str]] = {}
    for path in sorted(snapshot.live_paths):
        by_name.setdefault(posixpath.basename(path), []).append(path)
    name = posixpath.basename(asked)
    names = [name] if name in by_name else difflib.get_close_matches(name, by_name, _NEAR)
    return [path for each in names for path in by_name[each]][:_NEAR]
