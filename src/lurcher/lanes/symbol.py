"""Definitions of the names in a query. A qualified name (`Foo::bar`, `a.b.c`, `Foo#bar`) also says the container."""

from __future__ import annotations

from lurcher.lanes import Request, order_by_path
from lurcher.query import split_qualified_name
from lurcher.runtime.kernel import np
from lurcher.sources.roles import ASIDE, BARREL, TEST
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound
from lurcher.types import Definition, Degraded, IndexState, LaneWhy, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set
    from typing import Any

    from numpy.typing import NDArray

_MAX_CONTAINERS = 100
_MIN_FIT = 0.9
_MAX_DEFINITIONS = 2000
"""Definitions of one name that are considered."""


_KIND_STRENGTHS = dict.fromkeys(TYPE_KINDS, 1.0) | dict.fromkeys(FUNCTION_KINDS, 0.8) | {"field": 0.3, "enumerator": 0.3}
"""Strength of a definition by its kind; members are less likely to be queried without their type."""


class SymbolMatch(Record):
    """A definition of a queried name."""

    __slots__ = ("name", "number", "file", "unit", "definition", "strength", "fits", "exact")

    def __init__(
        self, name: str, number: int, file: int, unit: int, definition: Definition, strength: float, fits: bool,
        exact: bool = True,
    ) -> None:  # fmt: skip
        self.name = name
        """The name as the query wrote it."""
        self.number, self.file, self.unit, self.definition = number, file, unit, definition
        self.strength = strength
        """How likely the query means this definition, by kind, nesting, spelling and container, in (0, 1]."""
        self.fits = fits
        """Whether its container is the one in the queried name, if that has one."""
        self.exact = exact
        """Whether it is spelled as in the query."""


class SymbolHit(Record):
    """One definition of a name, as `lurcher symbol` shows it."""

    __slots__ = (
        "name", "qualified", "kind", "path", "start_line", "end_line", "language", "signature", "exported", "test",
        "references",
    )  # fmt: skip

    def __init__(
        self, name: str, qualified: str, kind: str, path: str, start_line: int, end_line: int, language: str, signature: str,
        exported: bool, test: bool, references: int,
    ) -> None:  # fmt: skip
        self.name, self.qualified, self.kind, self.path, self.start_line = name, qualified, kind, path, start_line
        self.end_line, self.language, self.signature, self.exported, self.test = end_line, language, signature, exported, test
        self.references = references
        """How often the name is used."""

    def to_dict(self) -> dict[str, Any]:
        return self.values()


class SymbolAnswer(Record):
    """The definitions of a name, best first; reads as a sequence of them."""

    __slots__ = ("name", "definitions", "index", "degraded")

    def __init__(
        self, name: str, definitions: tuple[SymbolHit, ...], index: IndexState, degraded: tuple[Degraded, ...] = (),
    ) -> None:  # fmt: skip
        self.name, self.definitions, self.index, self.degraded = name, definitions, index, degraded

    def __len__(self) -> int:
        return len(self.definitions)

    def __iter__(self) -> Iterator[SymbolHit]:
        return iter(self.definitions)

    def __getitem__(self, position: int) -> SymbolHit:
        return self.definitions[position]

    def to_dict(self) -> dict[str, Any]:
        found = [hit.to_dict() for hit in self.definitions]
        notes = [entry.to_dict() for entry in self.degraded]
        return {"name": self.name, "definitions": found, "index": self.index.to_dict(), "degraded": notes}


class SymbolMatches(Record):
    __slots__ = ("matches",)

    def __init__(self, matches: tuple[SymbolMatch, ...]) -> None:
        self.matches = matches

    def why(self, unit: int) -> LaneWhy | None:
        here = max((match.strength for match in self.matches if match.unit == unit), default=None)
        return None if here is None else LaneWhy(1 + sum(match.strength > here for match in self.matches), here)


def run(request: Request) -> SymbolMatches:
    """Find the definitions of the plan's names in the files that may answer."""
    matches = find_definitions(request.snapshot, request.plan.names)
    return SymbolMatches(tuple(match for match in matches if request.allowed[match.file]))


def find_definitions(snapshot: Snapshot, names: Iterable[str]) -> tuple[SymbolMatch, ...]:
    """Every definition of the given names, name by name, in the order of paths."""
    matches = []
    for name in names:
        parts = split_qualified_name(name)
        if not parts:
            continue
        numbers = _find_numbers(snapshot, parts[-1])
        if len(parts) > 1:
            numbers = _order_by_container(snapshot, numbers, parts[-2])
        for number in numbers[:_MAX_DEFINITIONS].tolist():
            definition = snapshot.definition(number)
            file, unit = snapshot.definition_place(number)
            container = _score_container(definition, parts[:-1], snapshot.path(file))
            strength = _compute_strength(definition, parts) * container
            exact = _is_spelled_same(definition, parts)
            matches.append(SymbolMatch(name, number, file, unit, definition, strength, container >= _MIN_FIT, exact))
    return tuple(matches)


def select_fitting(matches: Iterable[SymbolMatch]) -> list[SymbolMatch]:
    """The matches in the right container; all of them where none is."""
    matches = list(matches)
    return [match for match in matches if match.fits] or matches


def _order_by_container(snapshot: Snapshot, numbers: NDArray[np.int64], container: str) -> NDArray[np.int64]:
    """Definitions inside the container first, then those in files that mention it; of a common name only the first count."""
    files = snapshot.definition_file[numbers]
    starts = snapshot.definition_start[numbers]
    far = np.where(np.isin(files, list(_find_files_with(snapshot, container))), 1, 2)
    for holder in _find_numbers(snapshot, container)[:_MAX_CONTAINERS].tolist():
        around = snapshot.definition(holder)
        file, _ = snapshot.definition_place(holder)
        far[(files == file) & (starts >= around.start_byte) & (starts < around.end_byte)] = 0
    return numbers[np.argsort(far, kind="stable")]


def _find_numbers(snapshot: Snapshot, name: str) -> NDArray[np.int64]:
    """The numbers of a name's definitions, by path."""
    numbers, _ = snapshot.postings("definitions", compound(name))
    return order_by_path(snapshot, numbers, snapshot.definition_file[numbers])


def _compute_strength(definition: Definition, parts: list[str]) -> float:
    kind = _KIND_STRENGTHS.get(definition.kind, 0.5)
    depth = definition.container.count(".") + 1 if definition.container else 0
    nested = 1.0 if depth <= 1 else 0.8 ** (depth - 1)
    return kind * nested * (1.0 if _is_spelled_same(definition, parts) else 0.6)


def _is_spelled_same(definition: Definition, parts: list[str]) -> bool:
    return definition.name.strip("$@#?!=") == parts[-1].strip("$@#?!=")


def _score_container(definition: Definition, wanted: list[str], path: str) -> float:
    """1 where the container is the queried one; less where only its last part, the path, or nothing agrees."""
    if not wanted:
        return 1.0
    inner = [compound(part) for part in definition.container.split(".") if part]
    queried = [compound(part) for part in wanted]
    if inner[-len(queried) :] == queried:
        return 1.0
    if inner and inner[-1] == queried[-1]:
        return 0.9
    around = {compound(part) for part in path.rsplit(".", 1)[0].split("/")} | set(inner)
    share = sum(part in around for part in queried) / len(queried)
    return 0.3 + 0.5 * share


def _is_test(snapshot: Snapshot, match: SymbolMatch) -> bool:
    return bool(int(snapshot.file_roles[match.file]) & TEST) or snapshot.is_inline_test(match.unit)


def make_sort_key(snapshot: Snapshot, match: SymbolMatch, references: int) -> tuple[float, ...]:
    """Sorts definitions of one name: same spelling and right container first, then code before tests and other noise, then by
    strength, exported ones first, then by number of references."""
    roles = int(snapshot.file_roles[match.file])
    aside = bool(roles & ASIDE) or snapshot.is_inline_test(match.unit)
    other = not match.fits or not _is_spelled_same(match.definition, split_qualified_name(match.name))
    return (other, aside, -round(match.strength, 6), not match.definition.exported, bool(roles & BARREL), -references)


_MAX_SCANNED_UNITS = 3000
"""Units in which the uses of a name are counted."""


def rank_definitions(snapshot: Snapshot, matches: Iterable[SymbolMatch], limit: int) -> tuple[SymbolHit, ...]:
    """The definitions in order, with their number of references."""
    matches = list(matches)
    used = count_references(snapshot, matches)
    matches.sort(
        key=lambda match: (
            *make_sort_key(snapshot, match, used[match.number]), snapshot.path(match.file), match.definition.start_line,
        )  # fmt: skip
    )
    return tuple(
        SymbolHit(
            match.definition.name, match.definition.qualified, match.definition.kind, snapshot.path(match.file),
            match.definition.start_line, match.definition.end_line, snapshot.language(match.file),
            match.definition.signature, match.definition.exported, _is_test(snapshot, match),
            used[match.number],
        )  # fmt: skip
        for match in matches[:limit]
    )


def count_references(
    snapshot: Snapshot, matches: list[SymbolMatch], reach: Mapping[int, Set[int]] | None = None
) -> dict[int, int]:
    """How often each definition's name is used: exact spelling, outside of comments, its own definitions not counted.

    A use of a member counts only in files that also mention its container, which separates one `get` from another. `reach` maps
    a defining file to the files in which its names count; without it all files count.
    """
    if reach is not None:
        return {match.number: _count_uses_within(snapshot, match, reach[match.file]) for match in matches}
    used: dict[int, int] = {}
    for name in dict.fromkeys(match.definition.name for match in matches):
        places = _count_uses(snapshot, name)
        same = [match for match in matches if match.definition.name == name]
        defined: dict[int, int] = {}
        for match in same:
            defined[match.file] = defined.get(match.file, 0) + 1
        for match in same:
            inside = match.definition.container.split(".")[-1]
            near = None if not inside else {*_find_files_with(snapshot, inside), match.file}
            used[match.number] = sum(
                max(count - defined.get(file, 0), 0) for file, count in places.items() if near is None or file in near
            )
    return used


def _count_uses_within(snapshot: Snapshot, match: SymbolMatch, files: Set[int]) -> int:
    same = [item for item in snapshot.definitions_of(match.file) if item.name == match.definition.name]
    places = _count_uses(snapshot, match.definition.name, files)
    return sum(max(count - (len(same) if file == match.file else 0), 0) for file, count in places.items())


def _count_uses(snapshot: Snapshot, name: str, files: Set[int] | None = None) -> dict[int, int]:
    """File → occurrences of the name as written, in all files or some."""
    import re

    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found: dict[int, int] = {}
    units, _ = snapshot.postings("body", compound(name))
    if files is not None:
        units = units[[file in files for file in snapshot.unit_file[units].tolist()]] if len(units) else units
    for unit in order_by_path(snapshot, units, snapshot.unit_file[units])[:_MAX_SCANNED_UNITS].tolist():
        count = len(pattern.findall(snapshot.unit_text(unit)))
        if count:
            file = int(snapshot.unit_file[unit])
            found[file] = found.get(file, 0) + count
    return found


def _find_files_with(snapshot: Snapshot, name: str) -> set[int]:
    units, _ = snapshot.postings("body", compound(name))
    return set(snapshot.unit_file[units].tolist())
