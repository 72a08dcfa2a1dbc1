"""Ruby.

Definitions: modules and classes, methods, constants, attributes declared with attr_*, and the fields of records.

Imports: `require`, `require_relative`, `load` and `autoload` of a literal.

Resolution: `require_relative` from the file, `require` along load paths: `lib`, the folders of `app`, tests, the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    TYPES,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    line_of,
    literal,
    no_underscore,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest

if TYPE_CHECKING:
    from tree_sitter import Node


_RECORDS = ((b"Struct", b"new"), (b"Data", b"define"))
_ATTRIBUTES = (b"attr_reader", b"attr_writer", b"attr_accessor")


def _symbols(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The symbols among the arguments of a method that defines what they name."""
    arguments = captures["in"][0]
    call = arguments.parent
    method = call.child_by_field_name("method") if call is not None else None
    if call is None or method is None or method.type != "identifier":
        return
    macro = method.text
    if macro in (b"new", b"define"):
        receiver = call.child_by_field_name("receiver")
        if receiver is not None and (receiver.text, macro) in _RECORDS:
            for symbol in arguments.named_children:
                if symbol.type == "simple_symbol":
                    yield "field", {"def": [symbol], "name": [symbol]}
    elif macro in _ATTRIBUTES or macro == b"define_method":
        kind, limit = ("field", None) if macro in _ATTRIBUTES else ("function", 1)
        for symbol in arguments.named_children[:limit]:
            if symbol.type == "simple_symbol":
                yield kind, {"def": [call], "name": [symbol]}


def _several(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`A, B = 1, 2` defines two constants."""
    names = captures["in"][0]
    if names.parent is not None and names.parent.type == "assignment":
        for name in names.named_children:
            if name.type == "constant":
                yield "constant", {"def": [names.parent], "name": [name]}


_PATTERNS = (
    ("module", "(module) @def"),
    ("class", "(class) @def"),
    ("function", "[(method) (singleton_method)] @def"),
    ("constant", "(assignment left: [(constant) (scope_resolution)] @name right: (_) @value) @def"),
    (_several, "(left_assignment_list) @in"),
    (_symbols, "(argument_list (simple_symbol)) @in"),
    (COMMENT, "(comment) @def"),
)

_CLASS_MAKERS = (b"Struct.new", b"Class.new", b"Data.define")


def _refine(found: Found, text: bytes) -> Found | None:
    """`Point = Struct.new(:x)` defines a class; `attr_reader :name` a field without its colon."""
    found.name = found.name.removeprefix(":")
    if found.kind == "constant" and text.startswith(_CLASS_MAKERS, found.value_start):
        found.kind = "class"
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment"}),
    exported=no_underscore,
    methods_in=TYPES | {"module"},
    constructors=frozenset({"initialize"}),
    qualifiers="::",
    refine=_refine,
)


_KINDS = {b"require": "require", b"require_relative": "relative", b"load": "load", b"autoload": "autoload"}


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        method = node.child_by_field_name("method")
        if method is None or method.end_byte - method.start_byte > 16:
            continue
        kind = _KINDS.get(text[method.start_byte : method.end_byte])
        arguments = node.child_by_field_name("arguments") if kind is not None else None
        if kind is None or arguments is None:
            continue
        given = arguments.named_children
        names: tuple[str, ...] = ()
        if kind == "autoload":
            if len(given) < 2:
                continue
            names = (cut(given[0], text).lstrip(":").strip("'\""),)
            given = given[1:]
        spec = literal(given[0], text) if given and given[0].type == "string" else None
        if spec is not None:
            found.append(Import(spec, names, line_of(node), kind))
    return found


_IMPORTS = ImportRules(
    words=tuple(_KINDS),
    query="(call method: (identifier)) @import",
    read=_read_imports,
    line_comments=(b"#",),
    common=True,
)


_LOADED = frozenset({"lib", "test", "tests", "spec", "ext", "app"})
"""Folders that tools put on the load path."""


class RubyResolver:
    def __init__(self, tree: Tree) -> None:
        self._paths = frozenset(tree.paths_of("ruby"))
        self._roots = sorted(folder for folder in tree.folders if _is_root(folder))
        self._by_name: dict[str, list[str]] = {}
        """Path below a load path to the files that have it."""
        roots = set(self._roots)
        for path in sorted(self._paths):
            above = folder_of(path)
            while True:
                if above in roots:
                    self._by_name.setdefault(path[len(above) + 1 :] if above else path, []).append(path)
                if not above:
                    break
                above = folder_of(above)
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found.spec, found.kind)
        return answer

    def _resolve(self, path: str, folder: str, spec: str, kind: str) -> tuple[Target, ...]:
        if kind == "relative" or spec.startswith(("./", "../")):
            return self._exactly(joined(folder, spec))
        if kind == "load" and (answer := self._exactly(joined("", spec))):
            return answer
        name = joined("", spec)
        if not name:
            return ()
        return nearest(path, self._by_name.get(f"{name}.rb") or self._by_name.get(name) or ())

    def _exactly(self, place: str | None) -> tuple[Target, ...]:
        if place is None:
            return ()
        found = next((path for path in (f"{place}.rb", place) if path in self._paths), None)
        return (Target(found, 1.0),) if found is not None else ()


def _is_root(folder: str) -> bool:
    """`a/lib`, `a/app/models`, and the root itself."""
    above, _, name = folder.rpartition("/")
    return not folder or name in _LOADED or above == "app" or above.endswith("/app")


_OCCURRENCES = OccurrenceRules(
    names="identifier constant instance_variable class_variable",
    places="""
    definition: method.name singleton_method.name class.name module.name method_parameters optional_parameter.name
    definition: splat_parameter.name hash_splat_parameter.name keyword_parameter.name block_parameter.name block_parameters
    definition: exception_variable
    call: call.method
    member: scope_resolution.name
    write: assignment.left operator_assignment.left
    inheritance: superclass
    inside: left_assignment_list
    """,
)


LANGUAGES = (
    Language(
        name="ruby",
        extensions=("rb", "rake", "gemspec", "ru", "podspec", "rbi"),
        filenames=("Rakefile", "Gemfile", "Guardfile", "Podfile", "Vagrantfile", "Capfile", "Brewfile", "Fastfile", "Thorfile"),
        aliases=("rb",),
        interpreters=("ruby", "jruby"),
        grammar=("tree_sitter_ruby", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="ruby",
        resolver=RubyResolver,
    ),
)
