"""Swift: one node type stands for class, struct, enum, actor and extension; the keyword tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import Finder, each, members, names
from lurcher.chunking.definitions.spec import COMMENT, SCOPE, Found, Spec, not_private

if TYPE_CHECKING:
    from tree_sitter import Node

_KEYWORDS = {"class": "class", "actor": "class", "struct": "struct", "enum": "enum", "extension": SCOPE}


def _type(node: Node) -> Iterator[tuple[str, Node]]:
    """What a class declaration declares; an extension's name is a type of any form."""
    keyword, name = node.child_by_field_name("declaration_kind"), node.child_by_field_name("name")
    kind = _KEYWORDS.get(keyword.type) if keyword is not None else None
    if kind is not None and name is not None and (kind is SCOPE or name.type == "type_identifier"):
        yield kind, name


def _function(kind: str) -> Finder:
    """Finds a function's name unless it is an operator."""

    def find(node: Node) -> list[tuple[str, Node]]:
        name = node.child_by_field_name("name")
        return [(kind, name)] if name is not None and name.type == "simple_identifier" else []

    return find


def _property(kind: str) -> Finder:
    """Finds the names that a property's patterns bind."""

    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for pattern in node.children_by_field_name("name"):
            name = pattern.child_by_field_name("bound_identifier")
            if name is not None and name.type == "simple_identifier":
                yield kind, name

    return find


_PATTERNS = (
    (each(_type), "(class_declaration) @def"),
    ("interface", "(protocol_declaration) @def"),
    ("type", "(typealias_declaration) @def"),
    (each(_function("function")), "(function_declaration) @def"),
    (each(_function("method")), "(protocol_function_declaration) @def"),
    ("constructor", '(init_declaration "init" @name) @def'),
    (each(_property("field")), "(class_body (property_declaration) @def)"),
    (each(_property("field")), "(enum_class_body (property_declaration) @def)"),
    (each(names("enumerator", "name", "simple_identifier")), "(enum_entry) @def"),
    (each(_property("field")), "(protocol_property_declaration) @def"),
    (members({"property_declaration": _property("variable")}), "(source_file) @in"),
    (COMMENT, "[(comment) (multiline_comment)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`extension Array<Int>?` extends Array; back-ticks quote a name."""
    found.name = found.name.strip("`")
    if found.kind == SCOPE:
        found.name = found.name.split("<", 1)[0].strip(" ?![]")
    return found


SPECS = {
    "swift": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "multiline_comment"}),
        exported=not_private,
        annotations=b"@",
        qualifiers=r"\.",
        refine=_refine,
    )
}
