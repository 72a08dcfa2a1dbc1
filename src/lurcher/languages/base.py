"""What a language file declares: `LANGUAGES`, a tuple of `Language`, and the rules that a `Language` is made of.

Definitions are found by tree-sitter patterns with a kind each, and by the rules that queries cannot express. A pattern
captures `@def` (the whole definition) and `@name`, which is the definition's field of that name where it is not captured;
optionally `@owner` (the type that a definition outside its type belongs to), `@body` (where the signature ends) or `@value`
(a function or type literal whose body ends it).

Patterns are as flat as they can be: one node, with a field or a child only where that is cheap or keeps much else from
matching. To compile a query tree-sitter follows every nested pattern through the states of the parser, which in a large
grammar takes up to a fifth of a second for a single one; flat patterns cost nothing. What a flat pattern cannot say is left
to a reader, which looks at the nodes around the match and returns what a nested pattern would have captured.

The functions at the end read syntax trees for language files: names out of nodes, definitions and imports out of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from lurcher.languages.parsed_file import PACKAGE as PACKAGE
from lurcher.languages.parsed_file import Import as Import  # for language files
from lurcher.runtime.stdlib import NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from tree_sitter import Node

    from lurcher.languages.resolution import Target, Tree


class _Extent:
    """Stands for a node that a grammar has not: from one byte to another."""

    __slots__ = ("byte_range", "end_byte", "start_byte")

    def __init__(self, start: int, end: int) -> None:
        self.start_byte, self.end_byte, self.byte_range = start, end, (start, end)

    def child_by_field_name(self, name: str) -> None:
        return None


def extent(start: int, end: int) -> Node:
    """Something to capture from one byte to another, where the grammar has no node for it."""
    return _Extent(start, end)  # type: ignore[return-value]


Finder = Callable[["Node"], "Iterable[tuple[str, Node]]"]
"""The names that a node defines, each with its kind."""


def names(kind: str, field: str, *types: str) -> Finder:
    """Finds the names in a field that may hold several, if they are nodes of these types."""

    def find(node: Node) -> list[tuple[str, Node]]:
        return [(kind, name) for name in node.children_by_field_name(field) if name.type in types]

    return find


def first(node: Node) -> Node | None:
    """The first child, if there is one."""
    return node.named_child(0) if node.named_child_count else None


def child(node: Node, *types: str) -> Node | None:
    """The first child of one of these types."""
    return next((entry for entry in node.named_children if entry.type in types), None)


def each(find: Finder) -> MatchReader:
    """Reads `@def` as a definition of each name found in it."""

    def read(captures: Captures) -> list[tuple[str, Captures]]:
        definition = captures["def"]
        return [(kind, {"def": definition, "name": [name]}) for kind, name in find(definition[0])]

    return read


def members(finders: Mapping[str, Finder]) -> MatchReader:
    """Reads the children of `@in`, by their types, as definitions of the names found in them."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        for member in captures["in"][0].children:
            find = finders.get(member.type)
            if find is not None:
                for kind, name in find(member):
                    yield kind, {"def": [member], "name": [name]}

    return read


_MOST_NAMES = 400
"""Names kept of one import or package."""


def cut(node: Node, text: bytes) -> str:
    """The node's text without white space and line continuations: `a . b` is `a.b`."""
    start, end = node.start_byte, node.end_byte
    if end - start > 4 * LONGEST:
        return ""
    found = text[start:end].decode("utf-8", "replace")
    parts = found.split()
    return found if len(parts) == 1 else "".join(part for part in parts if part != "\\")


def literal(node: Node | None, text: bytes) -> str | None:
    """What a string literal says; None where it is not one plain piece of text."""
    if node is None:
        return None
    pieces = node.named_children
    if len(pieces) != 1 or pieces[0].end_byte - pieces[0].start_byte > LONGEST or not pieces[0].type.endswith(_PLAIN):
        return None
    return text[pieces[0].start_byte : pieces[0].end_byte].decode("utf-8", "replace").strip() or None


_PLAIN = ("fragment", "content", "literal_content")


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def kept(names: Iterable[str]) -> tuple[str, ...]:
    """Distinct names in order, not too many and not too long."""
    return tuple(name for name in dict.fromkeys(names) if name and len(name) <= LONGEST)[:_MOST_NAMES]


def flat(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes, including those inside an error: a mistake in one place does not hide what follows it."""
    for node in nodes:
        if node.type == "ERROR":
            yield from node.children
        else:
            yield node


def declared(nodes: Iterable[Node], text: bytes) -> tuple[str, ...]:
    """The names that declarations among `nodes` give."""
    names = []
    for node in flat(nodes):
        name = node.child_by_field_name("name") if not node.type.startswith(_OTHERS) else None
        if name is not None:
            names.append(cut(name, text))
    return kept(names)


_OTHERS = ("namespace", "file_scoped_namespace", "using", "module")
"""Statements that have a name and declare none of the package."""


Captures: TypeAlias = "dict[str, list[Node]]"
"""The nodes of a match by the names of their captures."""
MatchReader: TypeAlias = "Callable[[Captures], Iterable[tuple[str, Captures]]]"
"""Makes any number of definitions and comments, each a kind and its captures, of the match of a flat pattern."""
Patterns: TypeAlias = "tuple[tuple[str | MatchReader, str], ...]"
"""Each with its kind or its reader."""

COMMENT = "comment"
"""`@def` is a comment or a documentation string."""
ATTRIBUTE = "attribute"
"""`@def` is a sibling that belongs to the definition it precedes."""
WRAP = "wrap"
"""`@def` is a wrapper (decorators, export, template) around the definition captured as `@inner`."""
SCOPE = "scope"
"""`@def` defines nothing itself but contains definitions of `@name`: an impl block, an extension."""
OPEN_SCOPE = "open scope"
"""A scope whose members are visible whatever their modifiers: the implementation of a trait."""

TYPES = frozenset({"class", "struct", "enum", "interface", "trait", "type", SCOPE, OPEN_SCOPE})
"""Kinds in which a function is a method."""

KINDS = (
    PACKAGE, "import", "from", "export", "require", "dynamic", "static", "use", "mod", "mod-path", "crate", "quote", "angle",
    "using", "alias", "relative", "load", "autoload", "function", "const", "include", "here",
    "wikilink", "embed", "link", "title", "tag", "date", "block", "broken",
)  # fmt: skip
"""Every kind of an import; an index holds their numbers, so new ones go to the end."""
LONGEST = 1_000
"""Characters of what is imported beyond which it is a misreading."""


class Found:
    """A definition that a pattern matched, before it has its place among the others."""

    __slots__ = (
        "kind", "name", "owner", "start", "end", "signature_start", "signature_end", "name_start", "name_end", "value_start",
    )  # fmt: skip

    def __init__(
        self, kind: str, name: str, owner: str, start: int, end: int, signature_start: int, signature_end: int,
        name_start: int, name_end: int, value_start: int,
    ) -> None:  # fmt: skip
        self.kind, self.name, self.owner, self.start, self.end = kind, name, owner, start, end
        self.signature_start, self.signature_end = signature_start, signature_end
        self.name_start, self.name_end = name_start, name_end
        self.value_start = value_start
        """Where the captured value begins; the end of the name where none was captured."""


def always(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return True


def no_underscore(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """A leading underscore hides, except in names such as `__init__` that the language itself calls."""
    name = found.name
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def not_private(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """The rule of most class-based languages: visible unless the modifiers say otherwise."""
    words = modifiers.split()
    return not any(word in (b"private", b"fileprivate") or word.startswith(b"private[") for word in words)


class DefinitionRules(NamedTuple):
    """What a language calls a definition."""

    patterns: Patterns
    """In order of preference: of two patterns that find one name in one place the earlier wins, and of what one reader finds
    there the first."""
    leads: frozenset[str]
    """Node types that stay with the node they precede: comments, attributes, decorators."""
    exported: Callable[[Found, bytes, str], bool] = always
    """Whether a definition is visible outside, from the bytes between its start and its name and its parent's kind."""
    methods_in: frozenset[str] = TYPES
    """Kinds of parents in which a function is called a method."""
    constructors: frozenset[str] = frozenset()
    """Method names that construct."""
    constructor_is_class: bool = False
    """Whether a method that bears its class's name constructs."""
    qualifiers: str | None = None
    """What separates the parts of a qualified name, as a regular expression; None where names have no parts."""
    divided: frozenset[str] = frozenset()
    """Node types that chunking always divides, because their grammar puts a neighbour's comment into them."""
    contains_nothing: frozenset[str] = frozenset()
    """Kinds that are not containers of what lies in them."""
    annotations: bytes = b""
    """First bytes of annotations that lie inside a definition's node; its signature begins after them."""
    signature_at_wrapper: bool = True
    """Whether the signature includes the wrapper's own text (`export`, `template <…>`), as decorators do not."""
    refine: Callable[[Found, bytes], Found | None] | None = None
    """Called for each definition last: it changes the definition, or drops it by returning None."""
    merge_equations: bool = False
    """Whether successive definitions of one name in one container are parts of one definition."""


class ImportRules(NamedTuple):
    """How a language writes imports."""

    words: tuple[bytes, ...]
    """Keywords one of which every import has."""
    query: str
    """Flat patterns (nested ones take long to compile) that capture statements as `@import`."""
    read: Callable[[list[Node], bytes, Node], list[Import]]
    """Imports out of the captured nodes, which are in order of position, the text, and the root."""
    before_quote: tuple[bytes, ...] = ()
    """Keywords that count only where a quotation mark follows."""
    line_comments: tuple[bytes, ...] = ()
    """What begins a line that is a comment."""
    common: bool = False
    """Whether the patterns match much that is no import, such as every call."""


class OccurrenceRules(NamedTuple):
    """Which nodes are names, and what a name is by its place in the nodes around it."""

    names: str
    """Types of leaves that are names; `type=kind` where they are something else than a read unless their place says so."""
    places: str
    """A line each: `kind: node.field node …`, the kind being one of `KIND_NAMES` in occurrences.py; `label`, which is no use
    of a name; or what leaves the decision to the node around: `inside`, `member` (a receiver stands before the name), `value`
    (what is indexed), `argument` (in brackets, so at most a type) or `typed` (a type, unless the node around says more).
    Without a field, any field that no other line names."""


class Resolver(Protocol):
    """Knows one ecosystem's rules on one tree."""

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        """The files of the tree that an import in `path` leads to; none if it is external or unknown."""


class Language(NamedTuple):
    """One language. Everything up to `script` is also in `table.py`, so that no language file is imported to detect one."""

    name: str
    extensions: tuple[str, ...] = ()
    """Without the dot, in lower case unless only that spelling counts."""
    filenames: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Beginnings of file names, such as `Dockerfile.`, where the extension says nothing."""
    aliases: tuple[str, ...] = ()
    """Other names that a user may say."""
    also: tuple[str, ...] = ()
    """Further languages that a filter by this one's name includes: the interfaces of its modules."""
    interpreters: tuple[str, ...] = ()
    """Programs that a first line `#!…` names."""
    grammar: tuple[str, str] | None = None
    """Module and function that returns the tree-sitter language; None where files are cut by lines."""
    optional: bool = False
    """Whether the grammar's package comes with the extra `languages` only."""
    ecosystem: str = ""
    """Where imports are resolved: languages of one ecosystem share a resolver. Empty for languages without one."""
    sigil: str = ""
    """What ast-grep puts for a `$` in this language's patterns; empty where it has no grammar."""
    ast_grep: str = ""
    """What ast-grep calls the language, where that is another name."""
    markup: bool = False
    """Markup and data, in which nearly every text parses: searched by structure only when the language is named."""
    script: bool = False
    """Whether files are markup with scripts of another language in them: see `scripts`."""

    decide: Callable[[str, bytes], str] | None = None
    """The language of a file by its extension and first bytes, where this language shares extensions with another."""
    prepare: Callable[[bytes], bytes] | None = None
    """A text as its parser is to see it: of the same length, with every name where it was; names are cut from the text."""
    definitions: DefinitionRules | None = None
    imports: ImportRules | None = None
    resolver: Callable[[Tree], Resolver] | None = None
    occurrences: OccurrenceRules | None = None
    scripts: Callable[[bytes], list[tuple[int, int, str]]] | None = None
    """The scripts in a text, in order: start, end and language of each."""
