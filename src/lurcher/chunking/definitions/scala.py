"""Scala: classes, traits, objects and their members; an extension's methods belong to the type it extends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import each, members, names
from lurcher.chunking.definitions.spec import COMMENT, SCOPE, TYPES, Found, Spec, not_private

if TYPE_CHECKING:
    from tree_sitter import Node

_FIELD = names("field", "pattern", "identifier")
_DECLARED_FIELD = names("field", "name", "identifier")
_VARIABLE = names("variable", "pattern", "identifier")


def _extended(node: Node) -> Iterator[tuple[str, Node]]:
    """The types of an extension's parameters."""
    for parameters in node.children_by_field_name("parameters"):
        for parameter in parameters.named_children:
            if parameter.type == "parameter":
                for extended in parameter.children_by_field_name("type"):
                    yield SCOPE, extended


def _parameter(node: Node) -> Iterator[tuple[str, Node]]:
    """A parameter of a class is a field with `val` or `var`, and always if it is a case class."""
    around = node.parent.parent if node.parent is not None else None
    if any(entry.type in ("val", "var") for entry in node.children) or (
        around is not None and around.type == "class_definition" and any(entry.type == "case" for entry in around.children)
    ):
        yield from _DECLARED_FIELD(node)


_PATTERNS = (
    ("class", "(class_definition) @def"),
    ("trait", "(trait_definition) @def"),
    ("module", "[(object_definition) (package_object)] @def"),
    ("enum", "(enum_definition) @def"),
    ("type", "(type_definition) @def"),
    ("variable", "(given_definition) @def"),
    ("function", "[(function_definition) (function_declaration)] @def"),
    (
        members(
            {
                "val_definition": _FIELD,
                "var_definition": _FIELD,
                "val_declaration": _DECLARED_FIELD,
                "var_declaration": _DECLARED_FIELD,
            }
        ),
        "(template_body) @in",
    ),
    (members({"val_definition": _VARIABLE, "var_definition": _VARIABLE}), "(compilation_unit) @in"),
    (each(_parameter), "(class_parameter) @def"),
    ("enumerator", "[(simple_enum_case) (full_enum_case)] @def"),
    (each(_extended), "(extension_definition) @def"),
    (COMMENT, "[(comment) (block_comment)] @def"),
)

_TYPE_NAME = re.compile(r"\w+")


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == SCOPE:
        match = _TYPE_NAME.search(found.name)
        found.name = match.group() if match else ""
    return found


SPECS = {
    "scala": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "block_comment"}),
        exported=not_private,
        methods_in=TYPES | {"module"},
        constructors=frozenset({"this"}),
        annotations=b"@",
        refine=_refine,
    )
}
