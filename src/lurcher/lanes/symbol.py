"""Definitions of a queried name, best first. Qualified names (`Foo::bar`, `a.b.c`, `Foo#bar`) must fit their container."""

from __future__ import annotations

from lurcher.lanes.base import Request
from lurcher.query.intent import parts_of
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.sources.roles import BARREL, EXAMPLE, LEGACY, STUB, TEST, VENDORED
from lurcher.storage.numbering import order_by_path
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import compound
from lurcher.types import Definition, LaneWhy, SymbolHit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from numpy.typing import NDArray

_MOST_HOLDERS = 100
_FITTING = 0.9
_MOST = 2000
"""Definitions of one name that are looked at; a name with more says nothing."""


_KINDS = dict.fromkeys(TYPE_KINDS, 1.0) | dict.fromkeys(FUNCTION_KINDS, 0.8) | {"field": 0.3, "enumerator": 0.3}
"""How surely a definition is meant by its name alone: a member is more often asked for together with its type."""


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A definition of a queried name."""

    name: str
    """The name as the query wrote it."""
    number: int
    file: int
    unit: int
    definition: Definition
    strength: float
    """How surely this is what was asked for: kind, nesting, spelling and container, in (0, 1]."""
    fits: bool
    """Whether its container is the one that the name asks for, where it asks for one."""
    exact: bool = True
    """Whether it is spelled as the query has it."""


@dataclass(frozen=True, slots=True)
class SymbolMatches:
    matches: tuple[SymbolMatch, ...]

    def why(self, unit: int) -> LaneWhy | None:
        here = max((match.strength for match in self.matches if match.unit == unit), default=None)
        return None if here is None else LaneWhy(1 + sum(match.strength > here for match in self.matches), here)


def run(request: Request) -> SymbolMatches:
    """Definitions of the plan's names in the files that may answer."""
    matches = find(request.snapshot, request.plan.names)
    return SymbolMatches(tuple(match for match in matches if request.allowed[match.file]))


def find(snapshot: Snapshot, names: Iterable[str]) -> tuple[SymbolMatch, ...]:
    """Every definition of the given names, in the order of their paths within each name."""
    matches = []
    for name in names:
        parts = parts_of(name)
        if not parts:
            continue
        numbers = _defining(snapshot, parts[-1])
        if len(parts) > 1:
            numbers = _inside(snapshot, numbers, parts[-2])
        for number in numbers[:_MOST].tolist():
            definition = snapshot.definition(number)
            file, unit = snapshot.definition_place(number)
            container = _container(definition, parts[:-1], snapshot.path(file))
            strength = _strength(definition, parts) * container
            exact = _is_spelled(definition, parts)
            matches.append(SymbolMatch(name, number, file, unit, definition, strength, container >= _FITTING, exact))
    return tuple(matches)


def fitting(matches: Iterable[SymbolMatch]) -> list[SymbolMatch]:
    """Those in the container that the name asks for; all of them where none is."""
    matches = list(matches)
    return [match for match in matches if match.fits] or matches


def _inside(snapshot: Snapshot, numbers: NDArray[np.int64], container: str) -> NDArray[np.int64]:
    """Definitions within the container come first, then those in files that mention it: a common name has too many."""
    files = snapshot.definition_file[numbers]
    starts = snapshot.definition_start[numbers]
    far = np.where(np.isin(files, list(_files_with(snapshot, container))), 1, 2)
    for holder in _defining(snapshot, container)[:_MOST_HOLDERS].tolist():
        around = snapshot.definition(holder)
        file, _ = snapshot.definition_place(holder)
        far[(files == file) & (starts >= around.start_byte) & (starts < around.end_byte)] = 0
    return numbers[np.argsort(far, kind="stable")]


def _defining(snapshot: Snapshot, name: str) -> NDArray[np.int64]:
    """Definitions of a name, by path."""
    numbers, _ = snapshot.postings("definitions", compound(name))
    return order_by_path(snapshot, numbers, snapshot.definition_file[numbers])


def _strength(definition: Definition, parts: list[str]) -> float:
    kind = _KINDS.get(definition.kind, 0.5)
    depth = definition.container.count(".") + 1 if definition.container else 0
    nested = 1.0 if depth <= 1 else 0.8 ** (depth - 1)
    return kind * nested * (1.0 if _is_spelled(definition, parts) else 0.6)


def _is_spelled(definition: Definition, parts: list[str]) -> bool:
    return definition.name.strip("$@#?!=") == parts[-1].strip("$@#?!=")


def _container(definition: Definition, wanted: list[str], path: str) -> float:
    """1 where the container is the one asked for; less where only the path or nothing speaks for it."""
    if not wanted:
        return 1.0
    inner = [compound(part) for part in definition.container.split(".") if part]
    asked = [compound(part) for part in wanted]
    if inner[-len(asked) :] == asked:
        return 1.0
    if inner and inner[-1] == asked[-1]:
        return 0.9
    around = {compound(part) for part in path.rsplit(".", 1)[0].split("/")} | set(inner)
    share = sum(part in around for part in asked) / len(asked)
    return 0.3 + 0.5 * share


def order_key(snapshot: Snapshot, match: SymbolMatch, references: int) -> tuple[float, ...]:
    """Sorts definitions of one name: spelled so and in the container asked for, then those of the code itself before those of
    tests and the like, the likeliest kind, exported ones, then by use."""
    roles = int(snapshot.file_roles[match.file])
    aside = bool(roles & (TEST | EXAMPLE | LEGACY | STUB | VENDORED))
    other = not match.fits or not _is_spelled(match.definition, parts_of(match.name))
    return (other, aside, -round(match.strength, 6), not match.definition.exported, bool(roles & BARREL), -references)


_MOST_SCANNED = 3000
"""Units in which the uses of a name are counted."""


def best(
    snapshot: Snapshot, matches: Iterable[SymbolMatch], limit: int, *, counted: bool = True
) -> tuple[SymbolHit, ...]:
    """The definitions in their order, with how often each name is used; not `counted` where only a few files are at hand."""
    matches = list(matches)
    used = count_references(snapshot, matches) if counted else {}
    matches.sort(
        key=lambda match: (
            *order_key(snapshot, match, used.get(match.number, 0)), snapshot.path(match.file), match.definition.start_line,
        )  # fmt: skip
    )
    return tuple(
        SymbolHit(
            match.definition.name, match.definition.qualified, match.definition.kind, snapshot.path(match.file),
            match.definition.start_line, match.definition.end_line, snapshot.language(match.file),
            match.definition.signature, match.definition.exported, bool(int(snapshot.file_roles[match.file]) & TEST),
            used.get(match.number),
        )  # fmt: skip
        for match in matches[:limit]
    )


def count_references(
    snapshot: Snapshot, matches: list[SymbolMatch], reach: Mapping[int, Set[int]] | None = None
) -> dict[int, int]:
    """How often each definition's name is used: exact spelling, outside of comments, its own definitions not counted.

    A member counts only where its container is mentioned too, so that one `get` is told from another. `reach` says for each
    defining file in which files its names count; without it they do in all.
    """
    if reach is not None:
        return {match.number: _used_within(snapshot, match, reach[match.file]) for match in matches}
    used: dict[int, int] = {}
    for name in dict.fromkeys(match.definition.name for match in matches):
        places = _uses(snapshot, name)
        same = [match for match in matches if match.definition.name == name]
        defined: dict[int, int] = {}
        for match in same:
            defined[match.file] = defined.get(match.file, 0) + 1
        for match in same:
            inside = match.definition.container.split(".")[-1]
            near = None if not inside else {*_files_with(snapshot, inside), match.file}
            used[match.number] = sum(
                max(count - defined.get(file, 0), 0) for file, count in places.items() if near is None or file in near
            )
    return used


def _used_within(snapshot: Snapshot, match: SymbolMatch, files: Set[int]) -> int:
    same = [item for item in snapshot.definitions_of(match.file) if item.name == match.definition.name]
    places = _uses(snapshot, match.definition.name, files)
    return sum(max(count - (len(same) if file == match.file else 0), 0) for file, count in places.items())


def _uses(snapshot: Snapshot, name: str, files: Set[int] | None = None) -> dict[int, int]:
    """File → occurrences of the name as written, in all files or some."""
    import re

    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found: dict[int, int] = {}
    units, _ = snapshot.postings("body", compound(name))
    if files is not None:
        units = units[[file in files for file in snapshot.unit_file[units].tolist()]] if len(units) else units
    for unit in order_by_path(snapshot, units, snapshot.unit_file[units])[:_MOST_SCANNED].tolist():
        count = len(pattern.findall(snapshot.unit_text(unit)))
        if count:
            file = int(snapshot.unit_file[unit])
            found[file] = found.get(file, 0) + count
    return found


def _files_with(snapshot: Snapshot, name: str) -> set[int]:
    units, _ = snapshot.postings("body", compound(name))
    return set(snapshot.unit_file[units].tolist())
