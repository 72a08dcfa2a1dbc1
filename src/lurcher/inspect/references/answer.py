"""The references of a name, or of what stands at a place of a file.

An occurrence is `resolved` where the code says which definition it means, and a `candidate` where it may mean one of those
asked for.
"""

from __future__ import annotations

from functools import cache

from lurcher.errors import QueryError
from lurcher.inspect import Basis, plain_fields
from lurcher.inspect.references.program import Program, SourceFile, Symbol, Wanted
from lurcher.inspect.references.resolve import Resolver
from lurcher.inspect.references.values import Resolution
from lurcher.lanes.symbol import find_definitions, select_fitting
from lurcher.languages.occurrences import DEFINITION, IMPORT, KIND_NAMES, LABEL, Occurrence, kind_name
from lurcher.query import split_qualified_name
from lurcher.types import Degraded, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from lurcher.inspect.references.exact import ExactReferences
    from lurcher.storage.snapshot import Snapshot

RESOLVED, CANDIDATE = "resolved", "candidate"
KINDS = tuple(sorted({*KIND_NAMES, "attribute"} - {"definition"}))
_MOST_OCCURRENCES = 5_000
"""Occurrences of one name that are looked at; those of further files are left out, with a note. One takes up to 2 ms."""
_ENOUGH_OCCURRENCES = 1_000
"""The same where as many resolved uses as are to be listed were found by then, so that a popular name takes no longer than
others; and for a member where the files come that do not have the name of its type."""
_MOST_DEFINITIONS = 50
"""Definitions of a name that an answer lists; the uses of all are looked for."""
_LONGEST_LINE = 200
_LONGEST_NAME = 1_000


class Place(Record):
    """A definition: what it is, and where its name stands."""

    __slots__ = ("path", "line", "column", "name", "kind", "signature")

    def __init__(self, path: str, line: int, column: int, name: str, kind: str, signature: str) -> None:
        self.path, self.line, self.column, self.name, self.kind, self.signature = path, line, column, name, kind, signature

    def to_dict(self) -> dict[str, Any]:
        return plain_fields(self)


class Reference(Record):
    """One use of a name."""

    __slots__ = ("path", "line", "column", "kind", "enclosing", "text", "resolution", "how", "definition", "test")

    def __init__(
        self, path: str, line: int, column: int, kind: str, enclosing: str, text: str, resolution: str, how: str,
        definition: tuple[str, int] | None, test: bool,
    ) -> None:  # fmt: skip
        self.path, self.line, self.kind = path, line, kind
        self.column = column
        """In characters, from 1, as the line is."""
        self.enclosing = enclosing
        """The qualified name of the function or type around it; empty at the top of a file."""
        self.text = text
        """Its line."""
        self.resolution, self.how = resolution, how
        """What says so: `scope`, `import`, `self`, `annotation`, `constructor` …; `name` where only the spelling does."""
        self.definition = definition
        """Path and line of the definition that it means; of a candidate the first that it may mean."""
        self.test = test

    def to_dict(self) -> dict[str, Any]:
        place = None if self.definition is None else {"path": self.definition[0], "line": self.definition[1]}
        return {**plain_fields(self), "definition": place}


class ReferencesAnswer(Record):
    """The uses of a name: those that are resolved first, each group in the order of paths and lines."""

    __slots__ = ("name", "definitions", "references", "total", "resolved", "basis")

    def __init__(
        self, name: str, definitions: tuple[Place, ...], references: tuple[Reference, ...], total: int, resolved: int,
        basis: Basis,
    ) -> None:  # fmt: skip
        self.name, self.definitions, self.references = name, definitions, references
        self.total, self.resolved, self.basis = total, resolved, basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "definitions": [entry.to_dict() for entry in self.definitions],
            "references": [entry.to_dict() for entry in self.references],
            "total": self.total,
            "resolved": self.resolved,
            **self.basis.to_dict(),
        }


def check_kinds(kinds: Iterable[str]) -> frozenset[str]:
    wanted = frozenset(kinds)
    for kind in sorted(wanted - set(KINDS)):
        raise QueryError(f"{kind!r} is not a kind of reference", f"one of {', '.join(KINDS)}")
    return wanted


def check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise QueryError(f"the limit is {limit}", "use 0 or more")


Target = tuple[int, int, "int | None"]
"""File, line and column of a place."""


class Use:
    """An occurrence that means, or may mean, one of the definitions asked for."""

    __slots__ = ("certain", "file", "how", "kind", "name", "occurrence", "symbols")

    def __init__(
        self, file: SourceFile, name: str, occurrence: Occurrence, symbols: Sequence[Symbol], how: str, certain: bool
    ) -> None:
        self.file, self.name, self.occurrence = file, name, occurrence
        self.symbols, self.how, self.certain = tuple(symbols), how, certain
        self.kind = kind_name(occurrence[2])


class Finder:
    """Finds definitions and their uses in one snapshot, or in some folders of it."""

    def __init__(
        self, snapshot: Snapshot, exact: ExactReferences | None = None, folders: tuple[str, ...] | None = None
    ) -> None:
        self.snapshot = snapshot
        self.exact = exact
        """What SCIP indexes say, if some were loaded."""
        self.program = Program(snapshot, folders)
        self.resolver = Resolver(self.program)
        self.cut_short = False
        self.enough: int | None = None
        """Resolved uses beyond which those of further files need not be found."""
        self.skips_data = False
        """Whether names mean only functions and types, not variables and fields."""

    def definitions(self, name: str) -> list[Symbol]:
        """The definitions that a name means, in the right container where it names one."""
        matches = [match for match in find_definitions(self.snapshot, [name]) if self.program.shows(match.file)]
        found: dict[Symbol, None] = {}
        for match in select_fitting(matches):
            if match.exact:
                found[self.program.file(match.file).symbol(match.number)] = None
        *outer, _ = split_qualified_name(name)
        kept = [symbol for symbol in found if symbol.is_function or symbol.is_type or not self.skips_data]
        return [symbol for symbol in kept if _is_inside(symbol, outer)] or kept

    def at(self, file: int, line: int, column: int | None) -> tuple[str, list[Symbol]]:
        """The name at a place of a file, and the definitions that it means there."""
        source = self.program.file(file)
        if not 1 <= line <= source.line_count:
            raise QueryError(f"{source.path} has no line {line}", f"it has {source.line_count}")
        if column is not None and column < 1:
            raise QueryError(f"the column is {column}", "columns are counted from 1")
        start, end = source.line_range(line)
        here = [entry for entry in source.occurrences_between(start, end) if entry[2] != LABEL]
        if column is not None:
            before = source.text[start:end].decode("utf-8", "replace")[: column - 1]
            byte = start + len(before.encode("utf-8", "replace"))
            here = [entry for entry in here if entry[0] - source.text.startswith(b"#", byte) <= byte < entry[1]]
        names = [source.spelled(first, last) for first, last, _ in here]
        for name, occurrence in zip(names, here, strict=True):
            own = source.own_places(name).get(occurrence[0])
            if own is not None:
                return name, self._same(own)
        if self.exact is not None:
            for name, occurrence in zip(names, here, strict=True):
                own = self.exact.definition_at(self.program, source.path, occurrence[0])
                if own is not None:
                    return name, self._same(own)
        for name, occurrence in zip(names, here, strict=True):
            found = None if occurrence[2] == DEFINITION else self.resolver.resolve(source, name, occurrence)
            if found is not None and found.certain:
                return found.symbols[0].definition.name, self._same(found.symbols[0])
        if len(names) == 1 or (names and column is not None):
            return names[0], []
        place = f"{source.path}:{line}" + ("" if column is None else f":{column}")
        raise QueryError(f"no name of the tree's stands at {place}", "give the name itself, or another place")

    def _same(self, symbol: Symbol) -> list[Symbol]:
        """A definition with its overloads and further branches: those of one name in one container of a file."""
        own = symbol.definition
        return [
            entry for entry in symbol.file.symbols
            if entry.definition.name == own.name and entry.definition.container == own.container
        ]  # fmt: skip

    def uses(self, name: str, wanted: Sequence[Symbol]) -> Iterator[Use]:
        """Every use of the definitions of a name; of a name that the tree does not define, every occurrence.

        About a file that a SCIP index covers, that decides; where it is silent, what is found here is a candidate.
        """
        if self.exact is None or not any(self.exact.covers(symbol.file.path) for symbol in wanted):
            yield from self._find_uses(name, wanted)
            return
        told: dict[tuple[str, int], Use] = {}
        for file, occurrence, symbol, certain in self.exact.uses(self.program, wanted):
            place = file.path, occurrence[0]
            if certain or place not in told:
                told[place] = Use(file, name, occurrence, (symbol,), "scip" if certain else "override", certain)
        yield from told.values()
        for use in self._find_uses(name, wanted):
            start = use.occurrence[0]
            if (use.file.path, start) in told:
                continue
            if all(self.exact.covers(path) for path in {use.file.path, *(symbol.file.path for symbol in use.symbols)}):
                if not self.exact.is_silent(use.file.path, start):
                    continue
                use.certain = False
            yield use

    def _find_uses(self, name: str, wanted: Sequence[Symbol]) -> Iterator[Use]:
        seen = certain = 0
        asked = Wanted(wanted)
        overridden = cache(lambda: self._overridden(wanted))
        for file, likely in self._order_files(name, wanted):
            if asked and file.ecosystem not in asked.ecosystems:
                continue
            enough = not likely or (self.enough is not None and certain >= self.enough)
            occurrences = file.occurrences(name)
            seen += len(occurrences)
            if seen > (_ENOUGH_OCCURRENCES if enough else _MOST_OCCURRENCES):
                self.cut_short = True
                return
            own = file.own_places(name)
            aliases: dict[str, None] = {}
            for occurrence in occurrences:
                if occurrence[2] == DEFINITION or occurrence[0] in own:
                    continue
                use = self._use(file, name, occurrence, asked, overridden)
                if use is not None:
                    certain += use.certain
                    yield use
                    if occurrence[2] == IMPORT:
                        alias = self._alias(file, occurrence)
                        if alias:
                            aliases[alias] = None
            for alias in aliases:
                for occurrence in file.occurrences(alias):
                    if occurrence[2] not in (DEFINITION, IMPORT):
                        use = self._use(file, alias, occurrence, asked, overridden)
                        if use is not None and use.certain:
                            yield use

    def _order_files(self, name: str, wanted: Sequence[Symbol]) -> list[tuple[SourceFile, bool]]:
        """The files with a name, those first, and marked, that have the name of a type whose member it is, if there is one."""
        owners = {symbol.definition.container.rpartition(".")[2] for symbol in wanted}
        likely = set().union(*map(self.program.containing, owners)) if owners and all(owners) else None
        files = [(file, likely is None or file.number in likely) for file in self.program.files_with(name)]
        return sorted(files, key=lambda entry: not entry[1])

    def _use(
        self, file: SourceFile, name: str, occurrence: Occurrence, wanted: Wanted, overridden: Callable[[], set[Symbol]]
    ) -> Use | None:
        if not wanted:
            return Use(file, name, occurrence, (), "name", False)
        found: Resolution | None = self.resolver.resolve(file, name, occurrence, wanted)
        if found is None:
            return None
        if found.how == "name" and not found.certain:  # these are some of the wanted ones
            return Use(file, name, occurrence, found.symbols, "name", False)
        meant = [symbol for symbol in found.symbols if symbol in wanted]
        if meant:
            return Use(file, name, occurrence, meant, found.how, found.certain)
        if found.certain and any(symbol.is_member and symbol in overridden() for symbol in found.symbols):
            return Use(file, name, occurrence, wanted.symbols, "override", False)
        return None

    def _overridden(self, wanted: Sequence[Symbol]) -> set[Symbol]:
        """The members that the wanted ones override: what calls those may reach these."""
        found: set[Symbol] = set()
        for symbol in wanted:
            parent = symbol.file.parent(symbol)
            if parent is not None and parent.is_type:
                for base in self.resolver.ancestors(parent):
                    found.update(base.file.members(base, symbol.definition.name))
        return found

    def _alias(self, file: SourceFile, occurrence: Occurrence) -> str:
        following = file.occurrences_between(occurrence[1], occurrence[1] + 200)[:1]
        if following and following[0][2] == IMPORT and file.text[occurrence[1] : following[0][0]].strip() == b"as":
            return file.text[following[0][0] : following[0][1]].decode("utf-8", "replace")
        return ""


def find_references(
    finder: Finder, name: str, place: Target | None, kinds: frozenset[str], limit: int | None, basis: Basis
) -> ReferencesAnswer:
    """The uses of a name, or of what stands at a place (file, line, column)."""
    name, wanted = resolve_target(finder, name, place)
    spelled = wanted[0].definition.name if wanted else (split_qualified_name(name) or [name])[-1]
    finder.enough = limit if not kinds else None
    uses = [use for use in finder.uses(spelled, wanted) if not kinds or use.kind in kinds]
    uses.sort(key=lambda use: (not use.certain, use.file.path, use.occurrence[0]))
    shown = uses if limit is None else uses[:limit]
    basis = note_undefined(basis, spelled, wanted, ": these are all places with the name" if uses else "")
    if finder.cut_short:
        reason = f"{spelled} occurs so often that not all files were looked at; there are more uses than these {len(uses):,}"
        basis = Basis(basis.index, (*basis.degraded, Degraded("references", reason, "")))
    return ReferencesAnswer(
        name, list_definitions(wanted), tuple(make_reference(use) for use in shown), len(uses),
        sum(use.certain for use in uses), note_definitions(basis, name, wanted),
    )  # fmt: skip


def resolve_target(finder: Finder, name: str, place: Target | None) -> tuple[str, list[Symbol]]:
    """The name as it is shown, and the definitions that it means."""
    if place is not None:
        found, wanted = finder.at(*place)
        return (wanted[0].definition.qualified if wanted else found), wanted
    name = name.strip()
    wrong = len(name) > _LONGEST_NAME or not name.isprintable() or not any(map(str.isalnum, name.replace("_", "a")))
    if wrong or not split_qualified_name(name):
        raise QueryError(f"{name[:100]!r} is no name", "for example: Client.retry, or a place: src/client.py:42")
    return name, finder.definitions(name)


def _is_inside(symbol: Symbol, outer: Sequence[str]) -> bool:
    """Whether a definition is in these modules, folders and types, the outermost first."""
    module = symbol.file.path.rpartition(".")[0].removesuffix("/__init__")
    parts = [*module.split("/"), *symbol.definition.container.split(".")]
    return not outer or [part for part in parts if part][-len(outer) :] == list(outer)


def describe(symbol: Symbol) -> Place:
    start, _ = symbol.file.name_place(symbol)
    definition = symbol.definition
    return Place(
        symbol.file.path, symbol.file.line(start), symbol.file.column(start), definition.qualified, definition.kind,
        definition.signature,
    )  # fmt: skip


def make_reference(use: Use) -> Reference:
    start = use.occurrence[0]
    file, line = use.file, use.file.line(start)
    first, last = file.line_around(start)
    scope = file.holder(start)
    text = file.text[first:last].decode("utf-8", "replace").strip()
    meant = None
    if use.symbols:
        symbol = use.symbols[0]
        meant = symbol.file.path, symbol.file.line(symbol.file.name_place(symbol)[0])
    return Reference(
        file.path, line, file.column(start), use.kind, "" if scope is None else scope.definition.qualified,
        text[:_LONGEST_LINE], RESOLVED if use.certain else CANDIDATE, use.how, meant, file.is_test,
    )  # fmt: skip


def list_definitions(wanted: Sequence[Symbol]) -> tuple[Place, ...]:
    return tuple(map(describe, wanted[:_MOST_DEFINITIONS]))


def note_definitions(basis: Basis, name: str, wanted: Sequence[Symbol]) -> Basis:
    """Says of a name how many definitions it has where not all of them are listed."""
    if len(wanted) <= _MOST_DEFINITIONS:
        return basis
    reason = f"{name} has {len(wanted):,} definitions, of which {_MOST_DEFINITIONS} are listed"
    hint = "ask for one of them, as in Client.get, or by its place, as in src/client.py:42"
    return Basis(basis.index, (*basis.degraded, Degraded("references", reason, hint)))


def note_undefined(basis: Basis, name: str, wanted: Sequence[Symbol], else_shown: str = "") -> Basis:
    """Says of an answer that it is about a name which nothing defines: nothing found is no proof then."""
    if wanted:
        return basis
    note = Degraded("references", f"no definition of {name} is in the tree{else_shown}", "")
    return Basis(basis.index, (*basis.degraded, note))
