"""C#: types with their members; a namespace without braces reaches to the end of its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import each
from lurcher.chunking.definitions.spec import COMMENT, Found, Spec, not_private

if TYPE_CHECKING:
    from tree_sitter import Node


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    """`int width, height;` declares two."""
    for declaration in node.named_children:
        if declaration.type == "variable_declaration":
            for declarator in declaration.named_children:
                if declarator.type == "variable_declarator":
                    for name in declarator.children_by_field_name("name"):
                        yield "field", name


_PATTERNS = (
    ("class", "[(class_declaration) (record_declaration)] @def"),
    ("interface", "(interface_declaration) @def"),
    ("struct", "(struct_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("type", "(delegate_declaration) @def"),
    ("module", "[(namespace_declaration) (file_scoped_namespace_declaration)] @def"),
    ("constructor", "(constructor_declaration) @def"),
    ("method", "(method_declaration) @def"),
    ("function", "(local_function_statement) @def"),
    ("field", "[(property_declaration) (event_declaration)] @def"),
    (each(_fields), "[(field_declaration) (event_field_declaration)] @def"),
    ("enumerator", "(enum_member_declaration) @def"),
    ("field", "(record_declaration (parameter_list (parameter name: (identifier) @name) @def))"),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == "module" and text[found.end - 1 : found.end] == b";":
        found.end = len(text)
        found.signature_end = found.name_end
    elif found.kind == "field" and b"const" in text[found.start : found.name_start].split():
        found.kind = "constant"
    return found


SPECS = {
    "csharp": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment"}),
        exported=not_private,
        annotations=b"[",
        qualifiers=r"\.",
        refine=_refine,
    )
}
