"""Julia.

Definitions: modules, types with their fields, functions in both forms, macros, constants and variables of modules. A string
before a definition is its documentation.

Imports: `using`, `import` and `include` of a literal.

Resolution: `include` from the file's folder; a package is `src/<Name>.jl`, a module of the tree the file that bears its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Import,
    ImportRules,
    Language,
    MatchReader,
    OccurrenceRules,
    child,
    cut,
    extent,
    kept,
    line_of,
    no_underscore,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 20
_AROUND = ("where_expression", "typed_expression", "binary_expression", "parametrized_type_expression")
"""What may surround a name: `f(x)::Int where T`, `Circle{T} <: Shape`."""


def _head(node: Node | None) -> Node | None:
    """What is left of a signature or the head of a type without what surrounds it: a name or a call."""
    for _ in range(_DEEPEST):
        if node is None or node.type not in _AROUND:
            return node
        node = node.named_child(0)
    return None


def _called(node: Node | None) -> Node | None:
    """The name in `f(x)` and `Base.f(x)::Int where T`."""
    call = _head(node)
    name = call.named_child(0) if call is not None and call.type == "call_expression" else None
    name = _head(name)
    return name if name is not None and name.type in ("identifier", "field_expression", "operator") else None


def _module(captures: Captures) -> Iterator[tuple[str, Captures]]:
    node = captures["def"][0]
    name = node.child_by_field_name("name")
    if name is not None:
        yield "module", {"def": [node], "name": [name], "body": [extent(name.end_byte, node.end_byte)]}


def _type(kind: str) -> MatchReader:
    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        head = child(node, "type_head")
        name = _head(head.named_child(0)) if head is not None else None
        if head is None or name is None or name.type != "identifier":
            return
        yield kind, {"def": [node], "name": [name], "body": [extent(head.end_byte, node.end_byte)]}
        if kind != "struct":
            return
        for field in node.named_children:
            inner = child(field, "identifier") if field.type == "typed_expression" else field
            if inner is not None and inner.type == "identifier":
                yield "field", {"def": [field], "name": [inner]}

    return read


def _function(kind: str) -> MatchReader:
    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        signature = child(node, "signature")
        if signature is None:
            return
        inner = signature.named_child(0)
        name = inner if inner is not None and inner.type == "identifier" else _called(inner)
        if name is not None:
            yield kind, {"def": [node], "name": [name], "body": [extent(signature.end_byte, node.end_byte)]}

    return read


def _assignment(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`f(x) = …` anywhere, `name = …` in a module."""
    node = captures["def"][0]
    left, outer = node.named_child(0), node.parent
    if left is None or outer is None:
        return
    name = _called(left)
    if name is not None:
        yield "function", {"def": [node], "name": [name], "body": [extent(left.end_byte, node.end_byte)]}
        return
    name = _head(left)
    if name is None or name.type != "identifier":
        return
    if outer.type in ("const_statement", "global_statement"):
        yield "constant" if outer.type == "const_statement" else "variable", {"def": [outer], "name": [name]}
    elif outer.type in ("source_file", "module_definition"):
        yield "variable", {"def": [node], "name": [name]}


def _enum(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`@enum Color red green`."""
    node = captures["def"][0]
    macro, arguments = child(node, "macro_identifier"), child(node, "macro_argument_list")
    if macro is None or arguments is None or macro.text != b"@enum":
        return
    for number, argument in enumerate(arguments.named_children):
        name = child(argument, "identifier") if argument.named_child_count else argument
        if name is not None and name.type == "identifier":
            yield ("enumerator", {"def": [argument], "name": [name]}) if number else ("enum", {"def": [node], "name": [name]})


_PATTERNS = (
    (_module, "(module_definition) @def"),
    (_type("struct"), "(struct_definition) @def"),
    (_type("type"), "[(abstract_definition) (primitive_definition)] @def"),
    (_function("function"), "(function_definition) @def"),
    (_function("macro"), "(macro_definition) @def"),
    (_assignment, "(assignment) @def"),
    (_enum, "(macrocall_expression) @def"),
    (COMMENT, "(source_file (string_literal) @def)"),
    (COMMENT, "(module_definition (string_literal) @def)"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)

_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"line_comment", "block_comment", "string_literal"}),
    exported=no_underscore,
    methods_in=frozenset({"struct"}),
    constructor_is_class=True,
    qualifiers=r"\.",
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        line = line_of(node)
        if node.type == "call_expression":
            name, arguments = node.named_child(0), child(node, "argument_list")
            if name is None or arguments is None or name.end_byte - name.start_byte != 7 or cut(name, text) != "include":
                continue
            given = child(arguments, "string_literal")
            content = child(given, "content") if given is not None else None
            if content is not None:
                found.append(Import(cut(content, text), (), line, "include"))
            continue
        for entry in node.named_children:
            if entry.type == "selected_import":
                module, *names = entry.named_children
                found.append(Import(cut(module, text), kept(cut(name, text) for name in names), line, "import"))
            elif entry.type in ("identifier", "import_path", "scoped_identifier"):
                found.append(Import(cut(entry, text), (), line, "import"))
    return found


_IMPORTS = ImportRules(
    words=(b"using", b"import", b"include"),
    query="(using_statement) @import (import_statement) @import (call_expression) @import",
    read=_read_imports,
    line_comments=(b"#",),
    common=True,
)


class JuliaResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = frozenset(tree.paths_of("julia"))
        self._modules: dict[str, list[str]] = {}
        for path in sorted(self._files):
            self._modules.setdefault(path[path.rfind("/") + 1 :].removesuffix(".jl"), []).append(path)

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "include":
            place = joined(folder_of(path), found.spec)
            return (Target(place, 1.0),) if place in self._files else ()
        name = found.spec.lstrip(".").partition(".")[0]
        files = [entry for entry in self._modules.get(name, ()) if entry != path]
        packages = [entry for entry in files if entry == f"src/{name}.jl" or entry.endswith(f"/src/{name}.jl")]
        return nearest(path, packages or (files if found.spec.startswith(".") else ()))


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: module_definition.name
    call: call_expression broadcast_call_expression macrocall_expression
    member: field_expression
    import: using_statement import_statement selected_import
    inheritance: type_head
    inside: macro_identifier binary_expression parametrized_type_expression
    """,
)


LANGUAGES = (
    Language(
        name="julia",
        extensions=("jl",),
        aliases=("jl",),
        interpreters=("julia",),
        grammar=("tree_sitter_julia", "language"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="julia",
        resolver=JuliaResolver,
    ),
)
