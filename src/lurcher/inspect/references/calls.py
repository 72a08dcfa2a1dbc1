"""Callers and callees of a definition over several steps, the tests that reach it, and what implements or overrides it."""

from __future__ import annotations

from heapq import heappop, heappush

from lurcher.errors import QueryError
from lurcher.inspect import Basis, plain_fields
from lurcher.inspect.references.answer import (
    CANDIDATE,
    RESOLVED,
    Finder,
    Place,
    Reference,
    ReferencesAnswer,
    Target,
    Use,
    describe,
    list_definitions,
    note_definitions,
    note_undefined,
    resolve_target,
)  # fmt: skip
from lurcher.languages.occurrences import CALL, DECORATOR, IMPORT, INHERITANCE, MEMBER, kind_name
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lurcher.inspect.references.program import SourceFile, Symbol

CALLERS, CALLEES, TESTS = "callers", "callees", "tests"
DIRECTIONS = (CALLERS, CALLEES, TESTS)
MOST_DEPTH = 10
TEST_DEPTH = 3
"""Steps from a definition to the tests that reach it, unless a depth is given."""
_MOST_VISITED = 500
"""Definitions whose callers or callees are looked for in one question."""
_MOST_DESCENDANTS = 2_000


class Call(Record):
    """A function that calls another one, or is called by it."""

    __slots__ = ("path", "line", "name", "depth", "via", "call_path", "call_line", "kind", "resolution", "how", "test")

    def __init__(
        self, path: str, line: int, name: str, depth: int, via: str, call_path: str, call_line: int, kind: str,
        resolution: str, how: str, test: bool,
    ) -> None:  # fmt: skip
        self.path = path
        self.line = line
        """Of its definition; of the call where that is outside of any definition."""
        self.name = name
        """Its qualified name; empty for code outside of any definition."""
        self.depth = depth
        self.via = via
        """The definition one step nearer to the one asked for."""
        self.call_path, self.call_line, self.kind, self.resolution, self.how = call_path, call_line, kind, resolution, how
        self.test = test

    def to_dict(self) -> dict[str, Any]:
        fields = plain_fields(self)
        return {**fields, "call": {"path": fields.pop("call_path"), "line": fields.pop("call_line")}}


class CallsAnswer(Record):
    """Resolved ones first, of those the nearest; each definition once, with the first call that leads to it."""

    __slots__ = ("name", "direction", "depth", "definitions", "calls", "total", "complete", "basis")

    def __init__(
        self, name: str, direction: str, depth: int, definitions: tuple[Place, ...], calls: tuple[Call, ...], total: int,
        complete: bool, basis: Basis,
    ) -> None:  # fmt: skip
        self.name, self.direction, self.depth, self.definitions, self.calls = name, direction, depth, definitions, calls
        self.total = total
        self.complete = complete
        """Whether everything within the depth was looked at."""
        self.basis = basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "direction": self.direction, "depth": self.depth,
            "definitions": [entry.to_dict() for entry in self.definitions],
            "calls": [entry.to_dict() for entry in self.calls], "total": self.total, "complete": self.complete,
            **self.basis.to_dict(),
        }  # fmt: skip


class Implementation(Record):
    """A type below another one, or a member that overrides another one."""

    __slots__ = ("path", "line", "column", "name", "kind", "signature", "of", "depth", "resolution", "how", "test")

    def __init__(
        self, path: str, line: int, column: int, name: str, kind: str, signature: str, of: str, depth: int, resolution: str,
        how: str, test: bool,
    ) -> None:  # fmt: skip
        self.path, self.line, self.column, self.name, self.kind = path, line, column, name, kind
        self.signature = signature
        self.of = of
        """The type or member one step nearer to the one asked for."""
        self.depth, self.resolution, self.how, self.test = depth, resolution, how, test

    def to_dict(self) -> dict[str, Any]:
        return plain_fields(self)


class ImplementationsAnswer(Record):
    """The types below a type, or what overrides a member; the nearest first."""

    __slots__ = ("name", "definitions", "implementations", "total", "basis")

    def __init__(
        self, name: str, definitions: tuple[Place, ...], implementations: tuple[Implementation, ...], total: int,
        basis: Basis,
    ) -> None:  # fmt: skip
        self.name, self.definitions, self.implementations = name, definitions, implementations
        self.total, self.basis = total, basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "definitions": [entry.to_dict() for entry in self.definitions],
            "implementations": [entry.to_dict() for entry in self.implementations], "total": self.total,
            **self.basis.to_dict(),
        }  # fmt: skip


AnyReferences = ReferencesAnswer | CallsAnswer | ImplementationsAnswer
AnyUse = Reference | Call | Implementation


def entries_of(answer: AnyReferences) -> tuple[AnyUse, ...]:
    """What an answer lists."""
    if isinstance(answer, ReferencesAnswer):
        return answer.references
    return answer.calls if isinstance(answer, CallsAnswer) else answer.implementations


def with_entries(answer: AnyReferences, entries: tuple[AnyUse, ...], total: int) -> AnyReferences:
    """The answer with other entries, of which there are `total`."""
    field = {ReferencesAnswer: "references", CallsAnswer: "calls", ImplementationsAnswer: "implementations"}[type(answer)]
    changes: dict[str, Any] = {field: entries, "total": total}
    return answer.replace(**changes)


def use_line(entry: AnyUse) -> str:
    """One line of text about an entry."""
    said = [f"{entry.path}:{entry.line}", entry.kind, getattr(entry, "enclosing", None) or getattr(entry, "name", "")]
    depth, via = getattr(entry, "depth", 1), getattr(entry, "via", "")
    said += [f"depth {depth} via {via}"] if depth > 1 and via else []
    said += [] if entry.resolution == RESOLVED else [entry.resolution]
    said += [entry.text] if isinstance(entry, Reference) else []
    return "  ".join(word for word in said if word) + "\n"


def find_calls(
    finder: Finder, name: str, place: Target | None, direction: str, depth: int | None, limit: int | None, basis: Basis
) -> CallsAnswer:
    """Who calls the definitions of a name, what they call, or which tests reach them."""
    steps = (TEST_DEPTH if direction == TESTS else 1) if depth is None else depth
    if not 1 <= steps <= MOST_DEPTH:
        raise QueryError(f"the depth is {steps}", f"use 1 to {MOST_DEPTH}")
    name, wanted = resolve_target(finder, name, place)
    found: list[Call] = []
    seen: set[Symbol] = set()
    # By certainty, then depth: what is reached through a candidate is one as well, unless a resolved path leads there too.
    waiting: list[tuple[bool, int, int, Symbol, Call | None]] = []
    for symbol in wanted:
        heappush(waiting, (False, 0, len(waiting), symbol, None))
    pushed = len(waiting)
    while waiting and len(seen) < _MOST_VISITED:
        unsure, step, _, symbol, reached = heappop(waiting)
        if symbol in seen:
            continue
        seen.add(symbol)
        if reached is not None:
            found.append(reached)
        if step == steps:
            continue
        around = _callees(finder, symbol) if direction == CALLEES else _callers(finder, symbol, direction == TESTS)
        for call, other in around:
            doubtful = unsure or call.resolution != RESOLVED
            call = call.replace(depth=step + 1, resolution=CANDIDATE if doubtful else RESOLVED)
            if other is None:
                found.append(call)
            elif other not in seen:
                pushed += 1
                heappush(waiting, (doubtful, step + 1, pushed, other, call))
    if direction == TESTS:
        found = [call for call in found if call.test]
    complete = not waiting and not finder.cut_short
    found.sort(key=lambda call: (call.resolution != RESOLVED, call.depth, call.path, call.line))
    unique = list({(call.path, call.line, call.name): call for call in reversed(found)}.values())[::-1]
    return CallsAnswer(
        name, direction, steps, list_definitions(wanted), tuple(unique if limit is None else unique[:limit]), len(unique),
        complete, note_definitions(note_undefined(basis, name, wanted), name, wanted),
    )  # fmt: skip


def _callers(finder: Finder, symbol: Symbol, any_use: bool) -> Iterator[tuple[Call, Symbol | None]]:
    """The functions with a call of a definition; for tests with any use of it."""
    for use in finder.uses(symbol.definition.name, [symbol]):
        kind = use.occurrence[2] & ~MEMBER
        if kind == IMPORT or (not any_use and kind not in (CALL, DECORATOR)):
            continue
        if not use.certain and not symbol.definition.container and use.how == "name":
            continue
        holder = _holder(use)
        yield _describe_call(use, holder, symbol), holder


def _holder(use: Use) -> Symbol | None:
    """The function around a use, or the type for one outside of its functions."""
    return use.file.holder(use.occurrence[0])


def _describe_call(use: Use, holder: Symbol | None, symbol: Symbol) -> Call:
    file: SourceFile = use.file
    line = file.line(use.occurrence[0])
    own = line if holder is None else file.line(file.name_place(holder)[0])
    return Call(
        file.path, own, "" if holder is None else holder.definition.qualified, 0, symbol.definition.qualified, file.path, line,
        use.kind, RESOLVED if use.certain else CANDIDATE, use.how, file.is_test,
    )  # fmt: skip


def _callees(finder: Finder, symbol: Symbol) -> Iterator[tuple[Call, Symbol | None]]:
    """The definitions that a function calls; calls that only might mean something are left out."""
    file, definition = symbol.file, symbol.definition
    for occurrence in file.occurrences_between(definition.start_byte, definition.end_byte):
        start, end, kind = occurrence
        if kind & ~MEMBER not in (CALL, DECORATOR):
            continue
        found = finder.resolver.resolve(file, file.spelled(start, end), occurrence)
        if found is None or not found.certain:
            continue
        for other in found.symbols[:1]:
            call = Call(
                other.file.path, other.file.line(other.file.name_place(other)[0]), other.definition.qualified, 0,
                definition.qualified, file.path, file.line(start), kind_name(kind), RESOLVED, found.how, other.file.is_test,
            )  # fmt: skip
            yield call, other


# -- implementations ----------------------------------------------------------------------------------------------------------


def find_implementations(
    finder: Finder, name: str, place: Target | None, limit: int | None, basis: Basis
) -> ImplementationsAnswer:
    """The types below those of a name, and for members what overrides them there."""
    name, wanted = resolve_target(finder, name, place)
    found: dict[Symbol, Implementation] = {}
    for symbol in wanted:
        if symbol.is_type:
            for below, above, depth, how, certain in _descendants(finder, symbol):
                found.setdefault(below, _implementation(below, above, depth, how, certain))
            continue
        owner = symbol.file.parent(symbol)
        if owner is None or not owner.is_type:
            continue
        for below, _, depth, how, certain in _descendants(finder, owner):
            for member in finder.resolver.own_members(below, symbol.definition.name):
                found.setdefault(member, _implementation(member, symbol, depth, how, certain))
    ordered = sorted(found.values(), key=lambda entry: (entry.resolution != RESOLVED, entry.depth, entry.path, entry.line))
    return ImplementationsAnswer(
        name, list_definitions(wanted), tuple(ordered if limit is None else ordered[:limit]), len(ordered),
        note_definitions(note_undefined(basis, name, wanted), name, wanted),
    )  # fmt: skip


def _implementation(below: Symbol, above: Symbol, depth: int, how: str, certain: bool) -> Implementation:
    place = describe(below)
    return Implementation(
        place.path, place.line, place.column, place.name, place.kind, place.signature, above.definition.qualified, depth,
        RESOLVED if certain else CANDIDATE, how, below.file.is_test,
    )  # fmt: skip


def _descendants(finder: Finder, symbol: Symbol) -> Iterator[tuple[Symbol, Symbol, int, str, bool]]:
    """Types below a type, each with the one above it, how far down it is, how that is known and whether it is certain."""
    seen, level, depth = {symbol}, [(symbol, True)], 0
    while level and len(seen) < _MOST_DESCENDANTS:
        depth += 1
        following: list[tuple[Symbol, bool]] = []
        for above, sure in level:
            for below, how, certain in _subtypes(finder, above):
                if below not in seen:
                    seen.add(below)
                    following.append((below, sure and certain))
                    yield below, above, depth, how, sure and certain
        level = following


def _subtypes(finder: Finder, symbol: Symbol) -> Iterator[tuple[Symbol, str, bool]]:
    """The types that name a type as their base, or have the methods of an interface; how, and whether that is certain."""
    for use in finder.uses(symbol.definition.name, [symbol]):
        if use.occurrence[2] & ~MEMBER == INHERITANCE:
            below = finder.resolver.heir(use.file, use.occurrence[0])
            if below is not None and below is not symbol:
                yield below, use.how, use.certain
    if symbol.file.language == "go" and symbol.kind == "interface":
        yield from ((below, "methods", False) for below in _satisfying(finder, symbol))


def _satisfying(finder: Finder, interface: Symbol) -> list[Symbol]:
    """The types of a language without `implements` that have all methods of an interface."""
    qualified = interface.definition.qualified
    names = {
        symbol.definition.name for symbol in interface.file.symbols
        if symbol.definition.container == qualified and symbol.is_function
    }  # fmt: skip
    own = interface.file.folder, interface.definition.name  # which a file for other builds may declare again
    owners: dict[tuple[str, str], int] = {}
    for name in names:
        for key in {
            (symbol.file.path.rpartition("/")[0], symbol.definition.container)
            for symbol in finder.program.named(name)
            if symbol.definition.container and symbol.file.ecosystem == interface.file.ecosystem
        }:
            owners[key] = owners.get(key, 0) + 1
    found = []
    for folder, container in sorted(key for key, count in owners.items() if names and count == len(names)):
        found += [
            symbol for symbol in finder.program.named(container)
            if symbol.is_type and symbol.file.folder == folder and (folder, symbol.definition.name) != own
        ]  # fmt: skip
    return found
