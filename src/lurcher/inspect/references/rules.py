"""What differs from language to language in how a name is resolved."""

from __future__ import annotations

from lurcher.languages.occurrences import CALL, MEMBER, READ, TYPE, WRITE
from lurcher.languages.parsed_file import PACKAGE
from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lurcher.inspect.references.program import Binding, SourceFile, Symbol
    from lurcher.languages.occurrences import Occurrence

SELVES = {
    "python": ("self", "cls"), "jupyter": ("self", "cls"), "rust": ("self", "Self"), "ruby": ("self",),
    "swift": ("self", "Self"), "lua": ("self",), "php": ("this", "$this", "self", "static"), "go": (), "objective-c": ("self",),
}  # fmt: skip
"""What an object calls itself; `this` in other languages."""
SUPERS = {"php": "parent", "csharp": "base"}
"""What an object calls what it inherits; `super` in other languages."""
FIRST_ARGUMENT = frozenset({"python", "jupyter"})
IMPLICIT = frozenset({"java", "kotlin", "csharp", "scala", "swift", "cpp", "dart", "ruby", "objective-c"})
"""Languages in which a bare name may be a member of the class around it."""
PACKAGES = frozenset({"go", "java", "kotlin", "scala", "csharp", "swift", "dart", "terraform", "php"})
"""Languages in which the files of a folder see each other's names."""
OPEN_TYPES = frozenset({"go", "rust", "cpp", "csharp", "swift", "kotlin", "ruby", "objective-c", "scala"})
"""Languages in which the members of a type may be in other files than the type."""
TYPE_NAMES = frozenset({"java", "csharp", "kotlin", "scala"})
"""Languages in which a name in the place of a type means no field of that name."""
MEMBER_NAMES = frozenset({"java", "rust", "php"})
"""Languages in which a method and a field of a type may have the same name."""
SCRIPTS = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
PYTHONS = frozenset({"python", "jupyter"})
_HEADS = frozenset({"kotlin", "scala", "csharp"})
"""Languages in which a class may have parameters, which are names in all of it."""
_MACROS = frozenset({"c", "cpp", "objective-c"})
"""Languages whose parsers take the arguments of a macro for types."""

_NOT_NAMESPACE = pattern(rb"[^\w\\\x80-\xff]")
_DEFINING = pattern(rb"\bdef\w*\s+\Z")
_ARGUMENT = pattern(rb"[(,]\s*\Z")
_ASSIGNED = pattern(rb"\s*=(?![=>])")
_BOUND = pattern(rb"\s*(?:<[^<>]*>)?\s*=(?![=>])")
_BEFORE_BOUND = pattern(rb"[<,]\s*\Z")
_CONDITION = pattern(rb"(?:#!?\[\s*cfg(?:_attr)?|\bcfg!)\s*\([^\])]*\Z")
_COLON = pattern(rb"\s*:")
_LABEL = pattern(rb"(?:[(,]|\b_)\s*\Z")


def is_label(file: SourceFile, occurrence: Occurrence) -> bool:
    """Whether a name says which parameter or associated type is given, and so means no definition that is visible there."""
    start, end, kind = occurrence
    text, base = file.text, kind & ~MEMBER
    if kind & MEMBER:
        return False
    if file.language == "php":  # a namespace in a qualified name
        return text[end : end + 1] == b"\\"
    if file.language in ("kotlin", "scala"):  # `f(name = value)`; an assignment is no expression there
        named = base in (READ, WRITE) and _ASSIGNED.match(text, end) is not None
        return named and _ARGUMENT.search(text, max(0, start - 200), start) is not None
    if file.language == "swift":  # `case failed(url: URL)` and `(_ url: URL) -> Void`; not `[url: 1]`
        named = base == READ and _COLON.match(text, end) is not None
        named = named and _LABEL.search(text, max(0, start - 200), start) is not None
        return named and _opening_before(text, start) == b"("
    if file.language == "rust":
        if base == TYPE and _BOUND.match(text, end) is not None:  # `Service<Request, Response = R>`
            return _BEFORE_BOUND.search(text, max(0, start - 200), start) is not None
        return base == READ and _CONDITION.search(text, file.line_around(start)[0], start) is not None
    if file.language == "elixir":  # a further clause of a function
        return base == CALL and _DEFINING.search(text, max(0, start - 20), start) is not None
    return False


def _opening_before(text: bytes, start: int) -> bytes:
    """The bracket that is open at a byte."""
    depth = 0
    for at in range(start - 1, max(-1, start - 1_000), -1):
        letter = text[at : at + 1]
        if letter in b")]}":
            depth += 1
        elif letter in b"([{":
            if depth == 0:
                return letter
            depth -= 1
    return b""


def is_variable(file: SourceFile, start: int) -> bool:
    """Whether a bare name is a variable by its sigil, and so no function, type or member of that name."""
    return file.language == "php" and file.text[start - 1 : start] == b"$"


def may_mean(file: SourceFile, symbol: Symbol, kind: int) -> bool:
    """Whether an occurrence of a kind may mean a definition: what C's parser takes for a type is no function or variable, and
    in Elixir a name that is not called is no function."""
    if file.language == "elixir":
        return symbol.is_function == (kind == CALL) and symbol.kind != "field"
    return file.language not in _MACROS or kind != TYPE or symbol.is_type or symbol.kind in ("constant", "macro")


def has_parameters(scope: Symbol) -> bool:
    return scope.is_type and scope.file.language in _HEADS


def qualified_name(file: SourceFile, start: int) -> str:
    """What stands before a name of PHP that is written with its namespace: `\\A\\B\\` or `B\\`."""
    if file.language != "php" or file.text[start - 1 : start] != b"\\":
        return ""
    written = _NOT_NAMESPACE.split(file.text[max(0, start - 300) : start])[-1]
    return written.decode("utf-8", "replace")


def select_visible(file: SourceFile, named: Iterable[Symbol]) -> list[Symbol]:
    """Of the definitions of a name those whose namespace a file is in, or opens; in PHP the own before the global one."""
    found = [symbol for symbol in named if symbol.definition.container in file.namespaces]
    if file.language == "php":
        own = max((entry.spec for entry in file.imports if entry.kind == PACKAGE), key=len, default="").replace("\\", ".")
        inner = [symbol for symbol in found if symbol.definition.container == own]
        return inner or [symbol for symbol in found if not symbol.definition.container and not symbol.is_type]
    return found


def is_same(symbols: list[Symbol]) -> bool:
    """Whether several definitions are one thing: overloads; and where a type or a function may be declared in several files."""
    anywhere = symbols[0].file.language in ("csharp", "cpp")
    return len({("" if anywhere else symbol.file.path, symbol.definition.container) for symbol in symbols}) == 1


def is_overwritten(file: SourceFile, bindings: list[Binding]) -> bool:
    """Whether a method at the top of a file may be hidden by a variable that is assigned there."""
    return file.language == "ruby" and any(binding.scope is None and binding.kind == WRITE for binding in bindings)


def may_hold(owner: Symbol, member: Symbol) -> bool:
    """Whether a member in another file may be one of a type, of whose name it says that it is."""
    language = owner.file.language
    if member.file.ecosystem != owner.file.ecosystem:
        return False
    if language == "go":  # methods are in the package of their type
        return member.file.folder == owner.file.folder
    container, own = member.definition.container, owner.definition
    beside = [other.definition.qualified for other in member.file.named(own.name) if other.is_type and other is not owner]
    if language == "rust":  # a type of that name beside the member is the one that is meant
        return not beside
    if own.qualified == container:
        return True
    longer, shorter = sorted((container, own.qualified), key=len, reverse=True)
    return longer.endswith("." + shorter) and container not in beside
