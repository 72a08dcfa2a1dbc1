"""The files of an index as resolution sees them: text, definitions, occurrences and scopes, and what their imports lead to.

Everything is read when it is first needed and kept for one question.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import islice
from threading import Lock

from lurcher.indexing.import_graph import IndexedTree
from lurcher.languages.detect import ecosystem_of, languages_of, load_language
from lurcher.languages.occurrences import (
    CALL,
    DEFINITION,
    IMPORT,
    INHERITANCE,
    LABEL,
    MEMBER,
    READ,
    WRITE,
    Occurrence,
    decode_occurrences,
)
from lurcher.query.validate import is_below
from lurcher.runtime.process import GC_PAUSED
from lurcher.runtime.stdlib import pattern
from lurcher.sources.roles import TEST
from lurcher.storage.segment import FUNCTION_KINDS
from lurcher.terms import compound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lurcher.languages.base import Resolver
    from lurcher.languages.parsed_file import Import
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Definition

TYPE_LIKE = frozenset(
    {"class", "struct", "enum", "interface", "trait", "type", "object", "union", "record", "protocol", "extension", "instance"}
)
"""Kinds whose members are taken out of them, or of their instances."""
_SCOPES = FUNCTION_KINDS | TYPE_LIKE | {"module"}
_ASSIGNING = frozenset({
    "python", "jupyter", "ruby", "php", "lua", "elixir", "julia", "bash", "perl", "powershell", "terraform",
})  # fmt: skip
"""Languages in which an assignment declares a name."""
NAMESPACES = frozenset({"php", "csharp", "cpp"})
"""Languages whose files say in which namespace their names are, so that names of another one are not visible."""
_USING = pattern(rb"\busing\s+namespace\s+([\w:]+)\s*;")
_MOST_DEFINING = 2_000
"""Files that define one name that are looked at."""


class Symbol:
    """One definition of the tree. Its names and signature are read when they are needed."""

    __slots__ = ("_definition", "_member", "end", "file", "kind", "number", "start")

    def __init__(self, file: SourceFile, number: int, start: int, end: int, kind: str) -> None:
        self.file = file
        self.number = number
        """Its place among the definitions of the file."""
        self.start, self.end, self.kind = start, end, kind
        self._definition: Definition | None = None
        self._member: bool | None = None

    @property
    def definition(self) -> Definition:
        known = self._definition
        if known is None:
            known = self._definition = self.file.decode_definition(self.number)
        return known

    @property
    def is_type(self) -> bool:
        return self.kind in TYPE_LIKE

    @property
    def is_function(self) -> bool:
        return self.kind in FUNCTION_KINDS

    @property
    def is_module(self) -> bool:
        """Whether it is a namespace in a file, or in several."""
        return self.kind == "module"

    @property
    def is_member(self) -> bool:
        """Whether it is taken out of a type: its bare name means it only where the language says so."""
        if self._member is None and self.kind == "field":
            self._member = True  # one that stands outside of any type is that of a type without a name
        if self._member is None:
            parent = self.file.parent(self) if self.definition.container else None
            self._member = bool(self.definition.container) and (parent is None or parent.is_type)
        return self._member


class Wanted:
    """The definitions that a question is about. Popular names have hundreds, so that what is asked of them is kept."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self.symbols = tuple(symbols)
        self._known = frozenset(self.symbols)
        self._fitting: dict[tuple[str, bool], tuple[Symbol, ...]] = {}
        self.owners: frozenset[Symbol] | None = None
        """The types above those whose members they are, once a resolver has found them out."""

    def __contains__(self, symbol: Symbol) -> bool:
        return symbol in self._known

    def __bool__(self) -> bool:
        return bool(self.symbols)

    @cached_property
    def ecosystems(self) -> frozenset[str]:
        return frozenset(symbol.file.ecosystem for symbol in self.symbols)

    def fitting(self, ecosystem: str, member: bool) -> tuple[Symbol, ...]:
        """Those that code of an ecosystem may mean; by a name with a receiver only members."""
        key = ecosystem, member
        known = self._fitting.get(key)
        if known is None:
            known = self._fitting[key] = tuple(
                symbol for symbol in self.symbols
                if symbol.file.ecosystem == ecosystem and (not member or symbol.is_member or symbol.definition.container)
            )
        return known


class Namesakes:
    """The definitions of one name in one ecosystem that are no members."""

    def __init__(self, files: Iterable[SourceFile], name: str) -> None:
        self.defined = False
        """Whether there is any definition of the name, members included."""
        self.by_file: dict[int, list[Symbol]] = {}
        """In path order."""
        self.by_folder: dict[str, list[Symbol]] = {}
        for file in files:
            named = file.named(name)
            self.defined = self.defined or bool(named)
            outer = [symbol for symbol in named if not symbol.is_member]
            outer = outer if file.language in NAMESPACES else [symbol for symbol in outer if not symbol.definition.container]
            if outer:
                self.by_file[file.number] = outer
                self.by_folder.setdefault(file.folder, []).extend(outer)


class Binding:
    """A place that binds a name, and the innermost definition around it in which it is bound."""

    __slots__ = ("end", "kind", "scope", "start")

    def __init__(self, start: int, end: int, kind: int, scope: Symbol | None) -> None:
        self.start, self.end, self.kind, self.scope = start, end, kind, scope


class SourceFile:
    def __init__(self, program: Program, number: int) -> None:
        self.program, self.number = program, number
        snapshot = program.snapshot
        self.path, self.language = snapshot.path(number), snapshot.language(number)
        self.ecosystem = ecosystem_of(self.language)
        self.folder = self.path.rpartition("/")[0]
        self._symbols: dict[int, Symbol] = {}
        self._names: dict[str, list[Occurrence]] = {}
        self._bindings: dict[str, list[Binding]] = {}
        self._name_places: dict[int, tuple[int, int]] = {}
        self._own_places: dict[str, dict[int, Symbol]] = {}
        self._counted = 0, 1
        """A byte, and the line that it is in."""

    @property
    def is_test(self) -> bool:
        return bool(int(self.program.snapshot.file_roles[self.number]) & TEST)

    @cached_property
    def text(self) -> bytes:
        return self.program.snapshot.file_text(self.number)

    @cached_property
    def _encoded(self) -> bytes:
        return self.program.snapshot.occurrences(self.number)

    @cached_property
    def _numbers(self) -> range:
        return self.program.snapshot.definition_numbers(self.number)

    @cached_property
    def _extents(self) -> list[tuple[int, int, str]]:
        return self.program.snapshot.definition_extents(self.number)

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Its definitions in order of position."""
        return [self._symbol(number) for number in range(len(self._extents))]

    @cached_property
    def _definitions(self) -> list[Definition]:
        return self.program.snapshot.definitions_of(self.number)

    def decode_definition(self, number: int) -> Definition:
        """One by one, each costs several times as much, but most files are asked for one or two."""
        if "_definitions" in self.__dict__ or "symbols" in self.__dict__:
            return self._definitions[number]
        return self.program.snapshot.definition(self._numbers.start + number)

    def named(self, name: str) -> list[Symbol]:
        """Its definitions of a name, in order of position."""
        first = self._numbers.start
        numbers = self.program.defining(name).get(self.number, ())
        return [symbol for number in numbers if (symbol := self._symbol(number - first)).definition.name == name]

    def symbol(self, number: int) -> Symbol:
        """A definition by its number in the index."""
        return self._symbol(number - self._numbers.start)

    def _symbol(self, number: int) -> Symbol:
        known = self._symbols.get(number)
        if known is None:
            known = self._symbols[number] = Symbol(self, number, *self._extents[number])
        return known

    @cached_property
    def _scopes(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Of each function, type and namespace: its number, start and end, and the place here of what may be around it, or -1.

        That is the last one before it which has not ended where it begins; what is around that one is found the same way.
        """
        numbers: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        outer: list[int] = []
        for number, (start, end, kind) in enumerate(self._extents):
            if kind in _SCOPES:
                around = len(numbers) - 1
                while around >= 0 and ends[around] <= start:
                    around = outer[around]
                numbers.append(number)
                starts.append(start)
                ends.append(end)
                outer.append(around)
        return numbers, starts, ends, outer

    def line(self, byte: int) -> int:
        """The line of a byte. Counted from the place that was asked for before: those of a question are near each other."""
        last, line = self._counted
        line += self.text.count(b"\n", last, byte) if byte >= last else -self.text.count(b"\n", byte, last)
        self._counted = byte, line
        return line

    def line_around(self, byte: int) -> tuple[int, int]:
        """The line that a byte is in, without its end."""
        end = self.text.find(b"\n", byte)
        return self.text.rfind(b"\n", 0, byte) + 1, end if end >= 0 else len(self.text)

    def line_range(self, line: int) -> tuple[int, int]:
        """The bytes of a line, without its end."""
        start = 0
        for _ in range(line - 1):
            start = self.text.index(b"\n", start) + 1
        return self.line_around(start)

    @property
    def line_count(self) -> int:
        return self.text.count(b"\n") + 1

    def column(self, byte: int) -> int:
        """The 1-based character of its line at which a byte is."""
        return len(self.text[self.line_around(byte)[0] : byte].decode("utf-8", "replace")) + 1

    def occurrences(self, name: str) -> list[Occurrence]:
        """Where a name occurs, but for labels."""
        known = self._names.get(name)
        if known is None:
            data = name.lstrip("#@$%").rstrip("?!=").encode("utf-8", "surrogatepass")
            found = self.occurrences_between(0, 1 << 62, data) if data and data in self.text else []
            known = self._names[name] = [entry for entry in found if entry[2] != LABEL]
        return known

    def spelled(self, start: int, end: int) -> str:
        """The name at an occurrence; that of a private member of JavaScript begins with `#`."""
        start -= self.ecosystem == "ecmascript" and self.text[start - 1 : start] == b"#"
        return self.text[start:end].decode("utf-8", "replace")

    def bases_between(self, first: int, last: int) -> list[Occurrence]:
        """Where types are named as bases; finding out the kinds of all other names takes most of the time."""
        return [self._adjust(entry) for entry in self._decode(first, last) if entry[2] & ~MEMBER == INHERITANCE]

    def occurrences_between(self, first: int, last: int, name: bytes | None = None) -> list[Occurrence]:
        return list(map(self._adjust, self._decode(first, last, name)))

    def _decode(self, first: int, last: int, name: bytes | None = None) -> list[Occurrence]:
        try:
            return decode_occurrences(self._encoded, self.text, name, first, last)
        except ValueError as error:
            raise self.program.snapshot.corrupt(self.number, "its occurrences do not fit the text") from error

    def _adjust(self, occurrence: Occurrence) -> Occurrence:
        start, end, kind = occurrence
        return start, end, self._adjusted(start, end, kind)

    def _adjusted(self, start: int, end: int, kind: int) -> int:
        """The kind by what stands around the name, which some grammars leave out: whether it has a receiver, or is called."""
        base = kind & ~MEMBER
        if base == DEFINITION and self.language == "rust" and b"::" in (self.text[start - 2 : start], self.text[end : end + 2]):
            base = READ  # a path in a pattern, which binds nothing
        if base in (DEFINITION, IMPORT):
            return kind if kind == LABEL else base
        before = self.text[max(0, start - 3) : start]
        behind = self.text[end : end + 1]
        if base == READ and self.language == "dart" and behind == b"(":
            base = CALL
        if base == CALL and self.language == "swift" and behind == b"[":
            base = READ
        if before.endswith(b"::$"):
            return base | MEMBER
        if before.endswith((b".", b"::", b"->")) and not before.endswith(b".."):
            return base | MEMBER
        if kind & MEMBER and not before.rstrip().endswith((b".", b":", b">", b"#")):
            return READ if base == CALL else base
        return base | kind & MEMBER

    def holder(self, byte: int) -> Symbol | None:
        """The innermost function or type around a byte."""
        return next((scope for scope in self.scopes_at(byte) if not scope.is_module), None)

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """Those whose names can be written bare in it: its own, and those around them."""
        found = {""}
        for number, (_, _, kind) in enumerate(self._extents):
            name = self._symbol(number).definition.qualified if kind == "module" else ""
            while name:
                found.add(name)
                name = name.rpartition(".")[0]
        return frozenset(found) | self._opened_namespaces()

    def _opened_namespaces(self) -> set[str]:
        """Those whose names it makes visible all at once."""
        if self.language == "csharp":
            return {entry.spec for entry in self.imports if entry.kind == "using"}
        if self.language == "cpp":
            return {match.decode("utf-8", "replace").replace("::", ".") for match in _USING.findall(self.text)}
        return set()

    def scope_at(self, byte: int) -> Symbol | None:
        """The innermost function, type or namespace around a byte."""
        numbers, starts, ends, outer = self._scopes
        at = bisect_right(starts, byte) - 1
        while at >= 0 and byte >= ends[at]:
            at = outer[at]
        return self._symbol(numbers[at]) if at >= 0 else None

    def scopes_at(self, byte: int) -> list[Symbol]:
        """All of them, the innermost first."""
        numbers, starts, ends, outer = self._scopes
        found = []
        at = bisect_right(starts, byte) - 1
        while at >= 0:
            if byte < ends[at]:
                found.append(self._symbol(numbers[at]))
            at = outer[at]
        return found

    def parent(self, symbol: Symbol) -> Symbol | None:
        """The function, type or namespace around a definition: the last one before it that holds all of it."""
        numbers, _, ends, outer = self._scopes
        at = bisect_left(numbers, symbol.number) - 1
        while at >= 0 and ends[at] < symbol.end:
            at = outer[at]
        return self._symbol(numbers[at]) if at >= 0 else None

    def name_place(self, symbol: Symbol) -> tuple[int, int]:
        """Where the name of a definition stands: start and end."""
        known = self._name_places.get(symbol.number)
        if known is None:
            known = self._name_places[symbol.number] = self._find_name(symbol)
        return known

    def _find_name(self, symbol: Symbol) -> tuple[int, int]:
        start, end = symbol.start, symbol.end
        occurrences = self.occurrences(symbol.definition.name)
        first = at = bisect_left(occurrences, (start,))
        while at < len(occurrences) and occurrences[at][0] < end:
            if occurrences[at][2] == DEFINITION:
                return occurrences[at][0], occurrences[at][1]
            at += 1
        return (occurrences[first][0], occurrences[first][1]) if at > first else (start, start)

    def own_places(self, name: str) -> dict[int, Symbol]:
        """Where definitions of a name have it."""
        known = self._own_places.get(name)
        if known is None:
            known = self._own_places[name] = {self.name_place(symbol)[0]: symbol for symbol in self.named(name)}
        return known

    def bindings(self, name: str) -> list[Binding]:
        """Every place that binds a name, in order."""
        known = self._bindings.get(name)
        if known is None:
            known = self._bindings[name] = []
            own = self.own_places(name)
            for start, end, kind in self.occurrences(name):
                if kind in (DEFINITION, IMPORT) or start in own or (kind == WRITE and self.language in _ASSIGNING):
                    symbol = own.get(start)
                    scope = self.scope_at(start)
                    if symbol is not None and symbol is scope:
                        scope = self.parent(symbol)
                    known.append(Binding(start, end, kind, scope))
        return known

    def top_level(self, name: str) -> list[Symbol]:
        """The definitions of a name that are not inside of another one."""
        return [symbol for symbol in self.named(name) if not symbol.definition.container and symbol.kind != "field"]

    def members(self, container: Symbol, name: str) -> list[Symbol]:
        qualified = container.definition.qualified
        return [symbol for symbol in self.named(name) if symbol.definition.container == qualified]

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return self.program.snapshot.imports({self.number}).get(self.number, ())


_LOCK = Lock()
_LAZY = frozenset({"python", "ecmascript", "go", "ruby"})
"""Ecosystems whose resolvers do not look at the imports of all files."""


class Program:
    """The files of a snapshot; of one that may not be shown as a whole, those below `folders`.

    What is outside of them is never a `SourceFile`, so that no answer can name it.
    """

    def __init__(self, snapshot: Snapshot, folders: tuple[str, ...] | None = None) -> None:
        self.snapshot = snapshot
        self._folders = folders
        self._files: dict[int, SourceFile] = {}
        self._named: dict[str, list[Symbol]] = {}
        self._members: dict[str, dict[str, list[Symbol]]] = {}
        self._containing: dict[str, set[int]] = {}
        self._defining: dict[str, dict[int, list[int]]] = {}
        self._files_defining: dict[str, list[SourceFile]] = {}
        self._namesakes: dict[tuple[str, str], Namesakes] = {}
        self._resolvers: dict[tuple[str, str], Resolver | None] = snapshot.resolvers
        self._targets: dict[tuple[int, str, tuple[str, ...], str], list[tuple[SourceFile, float]]] = {}

    def shows(self, number: int) -> bool:
        return self._folders is None or is_below(self.snapshot.path(number), self._folders)

    def file(self, number: int) -> SourceFile:
        known = self._files.get(number)
        if known is None:
            known = self._files[number] = SourceFile(self, number)
        return known

    def containing(self, name: str) -> set[int]:
        """The files that contain a name, or one that differs in letter case."""
        known = self._containing.get(name)
        if known is None:
            units, _ = self.snapshot.postings("body", compound(name))
            known = self._containing[name] = set(self.snapshot.unit_file[units].tolist()) if len(units) else set()
        return known

    def files_with(self, name: str) -> list[SourceFile]:
        """These files as far as they are shown, in path order."""
        return sorted(map(self.file, filter(self.shows, self.containing(name))), key=lambda file: file.path)

    def defining(self, name: str) -> dict[int, list[int]]:
        """The files that define a name, or one that differs in letter case, with the numbers of these definitions."""
        known = self._defining.get(name)
        if known is None:
            numbers, _ = self.snapshot.postings("definitions", compound(name))
            known = self._defining[name] = {}
            files = self.snapshot.definition_file[numbers].tolist() if len(numbers) else ()
            for file, number in zip(files, numbers.tolist() if len(numbers) else (), strict=True):
                known.setdefault(file, []).append(number)
        return known

    def files_defining(self, name: str) -> list[SourceFile]:
        """These files as far as they are shown, in path order."""
        known = self._files_defining.get(name)
        if known is None:
            found = map(self.file, filter(self.shows, islice(self.defining(name), _MOST_DEFINING)))
            known = self._files_defining[name] = sorted(found, key=lambda file: file.path)
        return known

    def namesakes(self, name: str, ecosystem: str) -> Namesakes:
        key = name, ecosystem
        known = self._namesakes.get(key)
        if known is None:
            files = (file for file in self.files_defining(name) if file.ecosystem == ecosystem)
            known = self._namesakes[key] = Namesakes(files, name)
        return known

    def named(self, name: str) -> list[Symbol]:
        """The definitions of a name, exactly as it is spelled, in path order."""
        known = self._named.get(name)
        if known is None:
            known = self._named[name] = [symbol for file in self.files_defining(name) for symbol in file.named(name)]
        return known

    def members_by_owner(self, name: str) -> dict[str, list[Symbol]]:
        """The definitions of a name by the name of what they are in, in path order."""
        known = self._members.get(name)
        if known is None:
            known = self._members[name] = {}
            for symbol in self.named(name):
                known.setdefault(symbol.definition.container.rpartition(".")[2], []).append(symbol)
        return known

    def resolve_import(self, file: SourceFile, found: Import) -> list[tuple[SourceFile, float]]:
        """The files that an import leads to, with the confidence in each; none outside of the tree."""
        key = file.number, found.spec, found.names, found.kind
        known = self._targets.get(key)
        if known is None:
            prefix = self.snapshot.prefix(file.number)
            resolver = self._resolver(prefix, file)
            targets = () if resolver is None else resolver.resolve(self.snapshot.bare_path(file.number), found)
            numbers = [(self.snapshot.live_paths.get(prefix + target.path), target.confidence) for target in targets]
            known = self._targets[key] = [
                (self.file(number), sure) for number, sure in numbers if number is not None and self.shows(number)
            ]
        return known

    def _resolver(self, prefix: str, file: SourceFile) -> Resolver | None:
        key = prefix, file.ecosystem
        if key not in self._resolvers:
            with _LOCK:
                if key not in self._resolvers:
                    self._resolvers[key] = self._make_resolver(prefix, file) if file.ecosystem else None
        return self._resolvers[key]

    def _make_resolver(self, prefix: str, file: SourceFile) -> Resolver | None:
        make = load_language(file.language).resolver
        if make is None:
            return None
        # Collecting garbage among the imports of all files would take half of the time.
        with GC_PAUSED:
            eager = frozenset() if file.ecosystem in _LAZY else frozenset(languages_of(file.ecosystem))
            return make(IndexedTree(self.snapshot, prefix, eager))
