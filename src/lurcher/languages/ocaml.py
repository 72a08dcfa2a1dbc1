"""OCaml, and the interfaces of its modules, for which there is a grammar of their own.

Definitions: modules and their types, types with constructors and fields, values, exceptions, classes with their members. Of
values only those of modules count; one with parameters, or whose value is a function, is a function.

Imports: `open`, `include` and `module X = Y` of a path of modules.

Resolution: a module is the file that bears its name; in `Lib.Part`, `Lib` may be a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    TYPES,
    WRAP,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    MatchReader,
    OccurrenceRules,
    child,
    cut,
    line_of,
)
from lurcher.languages.resolution import Target, Tree, nearest

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = ("fun_expression", "function_expression")
_IN_MODULE = ("compilation_unit", "structure", "signature")


def _named(kind: str, *types: str) -> MatchReader:
    """Reads a node whose name is its first child of one of these types."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        name = child(captures["def"][0], *types)
        if name is not None:
            yield kind, {**captures, "name": [name]}

    return read


def _module(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """Its signature ends where its body or its interface begins."""
    node = captures["def"][0]
    name, body = child(node, "module_name"), node.child_by_field_name("body") or node.child_by_field_name("module_type")
    if name is not None:
        yield "module", {**captures, "name": [name], **({"body": [body]} if body is not None else {})}


def _value(captures: Captures) -> Iterator[tuple[str, Captures]]:
    binding = captures["def"][0]
    statement = binding.parent
    if statement is None or statement.parent is None or statement.parent.type not in _IN_MODULE:
        return
    pattern, body = binding.child_by_field_name("pattern"), binding.child_by_field_name("body")
    if pattern is None:
        return
    callable_ = child(binding, "parameter") is not None or (body is not None and body.type in _FUNCTIONS)
    names = [pattern] if pattern.type in ("value_name", "parenthesized_operator") else _names_in(pattern)
    for name in names:
        yield "function" if callable_ and name is pattern else "variable", {**captures, "name": [name]}


def _names_in(pattern: Node) -> list[Node]:
    """The names in `(a, b)`."""
    while pattern.type in ("parenthesized_pattern", "typed_pattern") and pattern.named_child_count:
        inner = pattern.named_child(0)
        if inner is None:
            break
        pattern = inner
    names = pattern.named_children if pattern.type == "tuple_pattern" else [pattern]
    return [name for name in names if name.type == "value_name"]


def _specified(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`val name : type`."""
    node = captures["def"][0]
    name, type_ = child(node, "value_name", "parenthesized_operator"), node.child_by_field_name("type")
    if name is not None:
        is_function = node.type == "external" or (type_ is not None and type_.type == "function_type")
        yield "function" if is_function else "variable", {**captures, "name": [name]}


def _constructor(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A constructor of a type, or an exception."""
    node = captures["def"][0]
    name = child(node, "constructor_name")
    if name is None:
        return
    outer = node.parent
    if outer is not None and outer.type == "exception_definition":
        yield "type", {"def": [outer], "name": [name]}
    else:
        yield "enumerator", {**captures, "name": [name]}


_PATTERNS = (
    (_module, "(module_binding) @def"),
    (_named("interface", "module_type_name"), "(module_type_definition) @def"),
    ("type", "(type_binding) @def"),
    (_constructor, "(constructor_declaration) @def"),
    (_named("field", "field_name"), "(field_declaration) @def"),
    (_value, "(let_binding) @def"),
    (_specified, "[(value_specification) (external)] @def"),
    (_named("class", "class_name"), "(class_binding) @def"),
    (_named("interface", "class_type_name"), "(class_type_binding) @def"),
    (_named("method", "method_name"), "[(method_definition) (method_specification)] @def"),
    (_named("field", "instance_variable_name"), "(instance_variable_definition) @def"),
    (WRAP, "(module_definition . (module_binding) @inner .) @def"),
    (WRAP, "(type_definition . (type_binding) @inner .) @def"),
    (WRAP, "(value_definition . (let_binding) @inner .) @def"),
    (WRAP, "(class_definition . (class_binding) @inner .) @def"),
    (WRAP, "(class_type_definition . (class_type_binding) @inner .) @def"),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`( + )` is named +."""
    if found.name[:1] == "(":
        found.name = found.name.strip("() ")
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return not found.name.startswith("_") and b"private" not in modifiers.split()


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment"}),
    exported=_exported,
    methods_in=TYPES - {"interface"},
    refine=_refine,
)


_STATEMENTS = {
    "open_module": ("import", "module"),
    "open_module_signature": ("import", "module"),
    "include_module": ("include", "module"),
    "include_module_type": ("include", "module_type"),
    "module_binding": ("alias", "body"),
}
"""Kind of import, and the field that has the path."""


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        kind, field = _STATEMENTS[node.type]
        path = node.child_by_field_name(field)
        if path is not None and path.type == "module_type_path":
            path = path.named_child(0)
        if path is not None and path.type in ("module_path", "extended_module_path"):
            found.append(Import(cut(path, text), (), line_of(node), kind))
    return found


_IMPORTS = ImportRules(
    words=(b"open", b"open!", b"include", b"module"),
    query=" ".join(f"({statement}) @import" for statement in _STATEMENTS),
    read=_read_imports,
)


class OcamlResolver:
    def __init__(self, tree: Tree) -> None:
        self._modules: dict[str, list[str]] = {}
        """Name of a module, in lower case, to its files; an interface only where there is no implementation."""
        for path in sorted(tree.paths_of("ocaml", "ocaml-interface")):
            stem, _, suffix = path[path.rfind("/") + 1 :].rpartition(".")
            if suffix == "ml" or (suffix == "mli" and path[:-1] not in tree):
                self._modules.setdefault(stem.lower(), []).append(path)

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        first, *rest = found.spec.split(".")
        whole = self._modules.get(first.lower(), ())
        if whole or not rest:
            return nearest(path, [entry for entry in whole if entry != path])
        inside = [entry for entry in self._modules.get(rest[0].lower(), ()) if f"/{first.lower()}/" in f"/{entry.lower()}"]
        return nearest(path, inside)


_OCCURRENCES = OccurrenceRules(
    names="value_name value_pattern module_name constructor_name field_name class_name method_name type_constructor=type",
    places="""
    definition: let_binding.pattern parameter.pattern type_binding.name constructor_declaration field_declaration class_binding
    definition: method_definition module_binding value_specification
    call: application_expression.function method_invocation.method
    inheritance: inheritance_definition.class
    value: module_path
    inside: value_path constructor_path field_path class_path
    """,
)


LANGUAGES = (
    Language(
        name="ocaml",
        extensions=("ml", "mll", "mly"),
        aliases=("ml",),
        also=("ocaml-interface",),
        interpreters=("ocaml",),
        grammar=("tree_sitter_ocaml", "language_ocaml"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="ocaml",
        resolver=OcamlResolver,
    ),
    Language(
        name="ocaml-interface",
        extensions=("mli",),
        grammar=("tree_sitter_ocaml", "language_ocaml_interface"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="ocaml",
        resolver=OcamlResolver,
    ),
)
