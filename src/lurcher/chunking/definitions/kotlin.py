"""Kotlin: classes, objects and their members; an extension belongs to the type it extends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import Finder, members
from lurcher.chunking.definitions.spec import COMMENT, TYPES, Found, Spec, not_private

if TYPE_CHECKING:
    from tree_sitter import Node


def _property(kind: str) -> Finder:
    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for declaration in node.named_children:
            if declaration.type == "variable_declaration":
                for name in declaration.named_children:
                    if name.type == "identifier":
                        yield kind, name

    return find


_PATTERNS = (
    ("interface", '(class_declaration "interface" name: (_) @name) @def'),
    ("class", '(class_declaration "class" name: (_) @name) @def'),
    ("module", "(object_declaration) @def"),
    ("module", "(companion_object) @def"),
    ("type", "(type_alias type: (identifier) @name) @def"),
    (
        "function",
        """(function_declaration [(user_type) (nullable_type) (parenthesized_type)] @owner . "."
            . name: (_) @name) @def""",
    ),
    ("function", "(function_declaration) @def"),
    ("constructor", '(secondary_constructor "constructor" @name) @def'),
    (members({"property_declaration": _property("field")}), "[(class_body) (enum_class_body)] @in"),
    ("field", '(class_parameter ["val" "var"] . (identifier) @name) @def'),
    ("enumerator", "(enum_entry (identifier) @name) @def"),
    (members({"property_declaration": _property("variable")}), "(source_file) @in"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)

_TYPE_NAME = re.compile(r"[A-Za-z_][\w.]*")


def _refine(found: Found, text: bytes) -> Found | None:
    """Reduce `List<T>?` to List, tell enums and constants by their modifiers, end signatures where bodies begin."""
    if found.owner:
        match = _TYPE_NAME.search(found.owner)
        found.owner = match.group() if match else ""
    modifiers = text[found.start : found.name_start].split()
    if found.kind == "class" and b"enum" in modifiers:
        found.kind = "enum"
    elif found.kind in ("field", "variable") and b"const" in modifiers:
        found.kind = "constant"
    elif found.kind in ("function", "constructor"):
        found.signature_end = _body_start(text, found.name_end, found.end)
    return found


def _body_start(text: bytes, position: int, end: int) -> int:
    """The first `{` or `=` outside the parentheses of the parameter list, whose defaults hold both."""
    depth = 0
    for index in range(position, min(end, position + 800)):
        byte = text[index]
        if byte in b"([":
            depth += 1
        elif byte in b")]":
            depth -= 1
        elif depth == 0 and byte in b"{=":
            return index
    return end


SPECS = {
    "kotlin": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"line_comment", "block_comment"}),
        exported=not_private,
        methods_in=TYPES | {"module"},
        annotations=b"@",
        qualifiers=r"\.",
        refine=_refine,
    )
}
