"""Zig: a type is a constant whose value is a struct, an enum or a union; `pub` exports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Found,
    Language,
    MatchReader,
    OccurrenceRules,
    first,
    members,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _variable(node: Node) -> Iterator[tuple[str, Node]]:
    name = first(node)
    if name is not None and name.type == "identifier":
        yield "variable", name


def _type(kind: str) -> MatchReader:
    """Reads the value of a variable that names a type."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["value"][0].parent
        if node is not None and node.type == "variable_declaration":
            for _, name in _variable(node):
                yield kind, {"def": [node], "name": [name]}

    return read


def _errors(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The members of an error set are bare names."""
    for name in captures["in"][0].named_children:
        if name.type == "identifier":
            yield "enumerator", {"def": [name], "name": [name]}


_PATTERNS = (
    ("function", "(function_declaration) @def"),
    (_type("struct"), "[(struct_declaration) (union_declaration) (opaque_declaration)] @value"),
    (_type("enum"), "[(enum_declaration) (error_set_declaration)] @value"),
    (members({"variable_declaration": _variable}), "[(source_file) (struct_declaration)] @in"),
    ("enumerator", "(enum_declaration (container_field name: (identifier) @name) @def)"),
    ("field", "(container_field name: (identifier) @name) @def"),
    (_errors, "(error_set_declaration) @in"),
    (COMMENT, "(comment) @def"),
)

_IMPORT = re.compile(rb"\s*=\s*@import\b")


def _refine(found: Found, text: bytes) -> Found | None:
    """A constant that only names an import defines nothing."""
    if found.kind == "variable":
        if _IMPORT.match(text, found.name_end, found.end):
            return None
        if b"const" in text[found.start : found.name_start].split():
            found.kind = "constant"
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return found.kind in ("field", "enumerator") or modifiers.startswith((b"pub", b"export"))


_DEFINITIONS = DefinitionRules(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=_exported, refine=_refine)


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: function_declaration.name parameter.name container_field.name payload variable_declaration
    call: call_expression.function
    member: field_expression.member
    type: parameter.type container_field.type function_declaration.type variable_declaration.type
    write: assignment_expression.left
    inside: pointer_type nullable_type error_union_type slice_type
    """,
)


LANGUAGES = (
    Language(
        name="zig",
        extensions=("zig", "zon"),
        grammar=("tree_sitter_zig", "language"),
        sigil="_",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
    ),
)
