"""Dart.

Definitions: types and their members, top-level functions and variables. A function's body is a sibling of its signature, and a
top-level variable has no node of its own: both are captured from where they begin to where they end.

Imports: `import`, `export` and `part` of a literal, with the names that `show` lists.

Resolution: relative paths, and `package:name/…` in the `lib` folder of the package that a `pubspec.yaml` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    ATTRIBUTE,
    COMMENT,
    TYPES,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    child,
    cut,
    extent,
    kept,
    line_of,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest

if TYPE_CHECKING:
    from tree_sitter import Node

_CONSTRUCTORS = ("constructor_signature", "constant_constructor_signature", "factory_constructor_signature",
                 "redirecting_factory_constructor_signature")  # fmt: skip
_SIGNATURES = (
    "function_signature", "getter_signature", "setter_signature", "operator_signature", *_CONSTRUCTORS,
)  # fmt: skip
_LISTS = ("static_final_declaration_list", "initialized_identifier_list")
_BEFORE_VARIABLE = frozenset({
    "const_builtin", "final_builtin", "late_builtin", "inferred_type", "type_identifier", "type_arguments", "nullable_type",
    "function_type", "record_type", "void_type",
})  # fmt: skip


def _members(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The functions and variables of a type or of the file, each from where it begins to where it ends."""
    nodes = captures["in"][0].named_children
    begins: int | None = None
    """Where the modifiers and the type of a variable of the file begin."""
    constant = False
    for number, node in enumerate(nodes, 1):
        kind = node.type
        if kind in _BEFORE_VARIABLE:
            if begins is None:
                begins, constant = node.start_byte, kind == "const_builtin"
            continue
        if kind in _LISTS:
            whole = extent(node.start_byte if begins is None else begins, node.end_byte)
            yield from _variables("constant" if constant else "variable", whole, node)
        elif kind == "declaration":
            names = child(node, *_LISTS)
            if names is not None:
                yield from _variables("field", node, names)
        signature = child(node, *_SIGNATURES) if kind in ("method_signature", "declaration") else node
        if signature is not None and signature.type in _SIGNATURES:
            yield from _callable(signature, node, nodes[number] if number < len(nodes) else None)
        begins, constant = None, False


def _callable(signature: Node, whole: Node, body: Node | None) -> Iterator[tuple[str, Captures]]:
    """A function, accessor, operator or constructor together with its body."""
    constructs = signature.type in _CONSTRUCTORS
    name = _constructed(signature) if constructs else signature.child_by_field_name("name")
    if name is None and signature.type == "operator_signature":
        name = child(signature, "binary_operator", "unary_operator")
    if name is None:
        return
    kind = "constructor" if constructs else "function"
    if body is None or body.type != "function_body":
        yield kind, {"def": [whole], "name": [name]}
    else:
        yield kind, {"def": [extent(whole.start_byte, body.end_byte)], "name": [name], "body": [body]}


def _constructed(signature: Node) -> Node | None:
    """`named` in `Shape.named(…)`, `Shape` in `Shape(…)`."""
    names = [entry for entry in signature.named_children if entry.type == "identifier"]
    return names[-1] if names else None


def _variables(kind: str, whole: Node, names: Node) -> Iterator[tuple[str, Captures]]:
    for entry in names.named_children:
        name = child(entry, "identifier")
        if name is not None:
            yield kind, {"def": [whole], "name": [name]}


def _mixin(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """Its name and body have no fields."""
    name, body = child(captures["def"][0], "identifier"), child(captures["def"][0], "class_body")
    if name is not None:
        yield "trait", {**captures, "name": [name], **({"body": [body]} if body is not None else {})}


def _alias(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`typedef F = …` names the first identifier, `typedef int F(…)` the last before the parameters."""
    node = captures["def"][0]
    names = [entry for entry in node.named_children if entry.type == "type_identifier"]
    if names:
        old = child(node, "formal_parameter_list") is not None
        yield "type", {**captures, "name": [names[-1] if old else names[0]]}


_PATTERNS = (
    ("class", "(class_definition) @def"),
    (_mixin, "(mixin_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("extension", "(extension_declaration) @def"),
    ("type", "(extension_type_declaration) @def"),
    (_alias, "(type_alias) @def"),
    (_members, "[(program) (class_body) (enum_body) (extension_body)] @in"),
    ("enumerator", "(enum_constant) @def"),
    (ATTRIBUTE, "(annotation) @def"),
    (COMMENT, "[(comment) (documentation_comment)] @def"),
)


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return not found.name.startswith("_")


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "documentation_comment", "annotation"}),
    exported=_exported,
    methods_in=TYPES | {"extension"},
    annotations=b"@",
)

_KINDS = {"library_export": "export", "part_directive": "include"}


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        uri, names = _parts(node)
        spec = cut(uri, text).strip("'\"") if uri is not None else ""
        if spec and "$" not in spec:
            kind = _KINDS.get(node.type, "import")
            found.append(Import(spec, kept(cut(name, text) for name in names), line_of(node), kind))
    return found


def _parts(node: Node) -> tuple[Node | None, list[Node]]:
    """The address of a directive, and the names that it shows."""
    uri, names = None, []
    stack = [node]
    while stack:
        part = stack.pop()
        if part.type == "uri":
            uri = part
        elif part.type == "combinator":
            if part.child_count and part.children[0].type == "show":
                names = [entry for entry in part.named_children if entry.type == "identifier"]
        else:
            stack += [entry for entry in part.named_children if entry.type != "configuration_uri"]
    return uri, names


_IMPORTS = ImportRules(
    words=(b"import", b"export", b"part"),
    query="(library_import) @import (library_export) @import (part_directive) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)

_NAME = re.compile(r"(?m)^name:[ \t]*['\"]?([\w.-]+)")


class DartResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = frozenset(tree.paths_of("dart"))
        self._packages: dict[str, list[str]] = {}
        """Name of a package to its folders."""
        for path in tree.configurations("pubspec.yaml"):
            name = _NAME.search(tree.text(path) or "")
            if name is not None:
                self._packages.setdefault(name.group(1), []).append(folder_of(path))

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        scheme, colon, rest = found.spec.partition(":")
        if not colon:
            place = joined(folder_of(path), found.spec)
            return (Target(place, 1.0),) if place in self._files else ()
        if scheme != "package":
            return ()
        package, _, inside = rest.partition("/")
        places = [joined(folder, f"lib/{inside}") for folder in self._packages.get(package, ())]
        return nearest(path, [place for place in places if place is not None and place in self._files])


_OCCURRENCES = OccurrenceRules(
    names="identifier type_identifier=type",
    places="""
    definition: class_definition.name function_signature.name constructor_signature.name initialized_identifier
    definition: formal_parameter.name constructor_param initialized_variable_definition.name for_loop_parts.name
    definition: enum_declaration.name enum_constant.name extension_declaration.name type_parameter getter_signature.name
    definition: setter_signature.name static_final_declaration
    call: new_expression const_object_expression
    member: unconditional_assignable_selector conditional_assignable_selector
    write: assignment_expression.left
    inheritance: superclass mixins interfaces
    type: type_arguments
    import: import_specification
    label: label
    inside: assignable_expression
    """,
)


LANGUAGES = (
    Language(
        name="dart",
        extensions=("dart",),
        interpreters=("dart",),
        grammar=("tree_sitter_dart", "language"),
        optional=True,
        sigil="$",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="dart",
        resolver=DartResolver,
    ),
)
