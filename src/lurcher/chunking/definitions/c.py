"""C and C++: functions and their prototypes, types with their fields, macros; `Foo::bar` outside its class belongs to Foo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import Finder, child, each, members, names
from lurcher.chunking.definitions.spec import COMMENT, WRAP, Captures, Found, Patterns, Spec

if TYPE_CHECKING:
    from tree_sitter import Node

_SPECIFIERS = {"class_specifier": "class", "struct_specifier": "struct", "union_specifier": "struct", "enum_specifier": "enum"}
_FILE_LEVEL = "[(translation_unit) (preproc_ifdef) (preproc_if) (preproc_else) (declaration_list)] @in"
_C_NAMES = frozenset({"identifier", "field_identifier"})
_CPP_NAMES = _C_NAMES | {"qualified_identifier", "operator_name", "destructor_name", "template_function"}


def _type(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A type, by its body: its name alone is everywhere."""
    node = captures["body"][0].parent
    if node is not None and node.type in _SPECIFIERS:
        yield _SPECIFIERS[node.type], {"def": [node], "body": captures["body"]}


def _typedef(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The names of a typedef; a plain one may be the only name of the type that precedes it."""
    definition = captures["def"]
    specifier = definition[0].child_by_field_name("type")
    declarators = definition[0].children_by_field_name("declarator")
    if specifier is not None and specifier.type in _SPECIFIERS and specifier.child_by_field_name("name") is None:
        body = specifier.children_by_field_name("body")
        for declarator in declarators if body else ():
            if declarator.type == "type_identifier":
                yield _SPECIFIERS[specifier.type], {"def": definition, "name": [declarator], "body": body}
    for declarator in declarators:
        name = _typedef_name(declarator)
        if name is not None:
            yield "type", {"def": definition, "name": [name]}


def _typedef_name(declarator: Node) -> Node | None:
    """`name`, `*name`, `name[3]` or `(*name)(int)`."""
    name: Node | None = declarator
    if declarator.type == "function_declarator":
        name = declarator.child_by_field_name("declarator")
        name = child(name, "pointer_declarator") if name is not None and name.type == "parenthesized_declarator" else None
    if name is not None and name.type in ("pointer_declarator", "array_declarator"):
        name = name.child_by_field_name("declarator")
    return name if name is not None and name.type == "type_identifier" else None


def _function_name(declarator: Node, named: frozenset[str]) -> Node | None:
    """The name of a function that is declared to return a value, a pointer, a pointer to one, or a reference."""
    function: Node | None = declarator
    if declarator.type == "reference_declarator":
        function = child(declarator, "function_declarator")
    for _ in range(2):
        if function is not None and function.type == "pointer_declarator":
            function = function.child_by_field_name("declarator")
    if function is None or function.type != "function_declarator":
        return None
    name = function.child_by_field_name("declarator")
    return name if name is not None and name.type in named else None


def _functions(named: frozenset[str]) -> Finder:
    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for declarator in node.children_by_field_name("declarator"):
            name = _function_name(declarator, named)
            if name is not None:
                yield "function", name

    return find


def _declared(named: frozenset[str]) -> Finder:
    """Finds functions and then variables; a variable's name is its declarator."""

    def find(node: Node) -> Iterator[tuple[str, Node]]:
        declarators = node.children_by_field_name("declarator")
        functions = [_function_name(declarator, named) for declarator in declarators]
        yield from (("function", name) for name in functions if name is not None)
        for declarator, function in zip(declarators, functions, strict=True):
            if function is None and _is_variable(declarator):
                yield "variable", declarator

    return find


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    for declarator in node.children_by_field_name("declarator"):
        name = _field_name(declarator)
        if name is not None:
            yield "field", name


def _field_name(declarator: Node) -> Node | None:
    """`name`, `*name`, `name[3]`, `&name` or `(*name)(int)`, in any depth that occurs."""
    name: Node | None = declarator
    for _ in range(6):
        if name is None or name.type == "field_identifier":
            return name
        if name.type == "function_declarator":
            name = name.child_by_field_name("declarator")
            if name is None or name.type != "parenthesized_declarator":
                return None
        elif name.type in ("pointer_declarator", "array_declarator"):
            name = name.child_by_field_name("declarator")
        elif name.type in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
            name = child(name, "field_identifier", "pointer_declarator", "array_declarator", "function_declarator")
        else:
            return None
    return None


def _member(node: Node) -> Iterator[tuple[str, Node]]:
    """The functions that a class declares, and its fields."""
    yield from _functions(_CPP_NAMES)(node)
    yield from _fields(node)


def _is_variable(declarator: Node) -> bool:
    if declarator.type == "pointer_declarator":
        return child(declarator, "identifier", "array_declarator") is not None
    return declarator.type in ("init_declarator", "identifier", "array_declarator")


def _definition(node: Node) -> Iterator[tuple[str, Node]]:
    """A class with a macro before its name, which reads like the type of what follows, or a function."""
    specifier = node.child_by_field_name("type")
    if specifier is not None and specifier.type in ("class_specifier", "struct_specifier"):
        yield from names("class", "declarator", "identifier")(node)
    yield from _functions(_CPP_NAMES)(node)


def _shared(definition: Finder, member: Finder, named: frozenset[str]) -> Patterns:
    """What both languages define; `named` are the types of nodes that name a function."""
    return (
        (_type, "[(field_declaration_list) (enumerator_list)] @body"),
        (each(definition), "(function_definition) @def"),
        (members({"declaration": _declared(named)}), _FILE_LEVEL),
        (each(member), "(field_declaration) @def"),
        ("enumerator", "(enumerator) @def"),
        (_typedef, "(type_definition) @def"),
        ("macro", "(preproc_function_def) @def"),
        ("constant", "(preproc_def value: (_)) @def"),
        (COMMENT, "(comment) @def"),
    )


_CPP: Patterns = (
    ("module", "(namespace_definition) @def"),
    ("type", "[(alias_declaration) (concept_definition)] @def"),
    *_shared(_definition, _member, _CPP_NAMES),
    (members({"declaration": _functions(_CPP_NAMES)}), "[(field_declaration_list) (template_declaration)] @in"),
    (
        WRAP,
        """(template_declaration [(class_specifier) (struct_specifier) (union_specifier) (function_definition)
            (declaration) (alias_declaration) (concept_definition)] @inner) @def""",
    ),
)

_VARIABLE_NAME = re.compile(r"[*&\s]*([A-Za-z_]\w*)")
_OPERATOR = re.compile(r"\boperator\b\s*(.*)\Z", re.DOTALL)
_SCOPE = re.compile(r"[\w:\s]*")
_INNERMOST_ARGUMENTS = re.compile(r"<[^<>]*>")


def _refine(found: Found, text: bytes) -> Found | None:
    """Reduce declarators to names: `*table[3] = …` to table, `ns::Box<T>::get` to get of ns::Box."""
    if found.kind == "variable":
        match = _VARIABLE_NAME.match(found.name)
        found.name = match.group(1) if match else ""
    elif found.kind == "macro":
        found.signature_end = _macro_end(text, found)
    elif "<" in found.name or "operator" in found.name:
        _qualify(found)
    return found if _SCOPE.fullmatch(found.owner) else None


def _macro_end(text: bytes, found: Found) -> int:
    """A macro's signature is its parameter list."""
    closing = text.find(b")", found.name_end, found.end)
    return closing + 1 if closing >= 0 else found.end


def _qualify(found: Found) -> None:
    operator = _OPERATOR.search(found.name)
    scope = found.name[: operator.start()] if operator else found.name
    bare = _INNERMOST_ARGUMENTS.sub("", scope)
    while bare != scope:
        scope, bare = bare, _INNERMOST_ARGUMENTS.sub("", bare)
    if operator is None:
        found.name = scope if _SCOPE.fullmatch(scope.replace("~", "")) else ""
        return
    symbol = " ".join(operator.group(1).split())
    found.owner = scope.strip().removesuffix("::")
    found.name = f"operator {symbol}" if symbol[:1].isalpha() else f"operator{symbol}"


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """`static` hides at file level; in a class it says something else."""
    return parent_kind in ("class", "struct") or b"static" not in modifiers.split()


_LEADS = frozenset({"comment"})
_TYPEDEF = frozenset({"type"})

SPECS = {
    "c": Spec(
        patterns=_shared(_functions(_C_NAMES), _fields, _C_NAMES),
        leads=_LEADS,
        exported=_exported,
        contains_nothing=_TYPEDEF,
        refine=_refine,
    ),
    "cpp": Spec(
        patterns=_CPP,
        leads=_LEADS | {"access_specifier"},
        exported=_exported,
        qualifiers="::",
        constructor_is_class=True,
        contains_nothing=_TYPEDEF,
        refine=_refine,
    ),
}
