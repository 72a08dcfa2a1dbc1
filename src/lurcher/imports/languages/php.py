"""PHP: `use A\\B`, `use A\\{B, C}`, `use function`, `include` and `require` of a literal, and namespaces with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, declared, line_of, literal
from lurcher.imports.types import PACKAGE, Import
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = ("name", "qualified_name", "namespace_name")
_STRINGS = ("string", "encapsed_string")
_HERE = ("__DIR__", "dirname(__FILE__)")


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        if node.type == "namespace_use_declaration":
            found += _uses(node, text)
        elif node.type == "namespace_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            names = declared(body.named_children, text) if body is not None else whole()
            found.append(Import(cut(name, text) if name is not None else "", names, line_of(node), PACKAGE))
        else:
            found += _included(node, text)
    return found


def _uses(node: Node, text: bytes) -> list[Import]:
    base, kind = "", "use"
    clauses: list[Node] = []
    for child in node.children:
        if child.type in ("function", "const"):
            kind = child.type
        elif child.type == "namespace_name":
            base = cut(child, text).strip("\\") + "\\"
        elif child.type == "namespace_use_clause":
            clauses.append(child)
        elif child.type == "namespace_use_group":
            clauses += [part for part in child.named_children if part.type == "namespace_use_clause"]
    found = []
    for clause in clauses:
        name = next((child for child in clause.named_children if child.type in _NAMES), None)
        if name is None:
            continue
        own = clause.child_by_field_name("type")
        spec = base + cut(name, text).strip("\\")
        found.append(Import(spec, (spec.rpartition("\\")[2],), line_of(clause), own.type if own is not None else kind))
    return found


def _included(node: Node, text: bytes) -> list[Import]:
    """`require 'a.php'`, `require __DIR__ . '/a.php'`; anything else is known only when it runs."""
    value = node.named_children[0] if node.named_children else None
    for _ in range(5):
        if value is None or value.type != "parenthesized_expression":
            break
        value = value.named_children[0] if value.named_children else None
    if value is None:
        return []
    kind = "include"
    if value.type == "binary_expression":
        left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
        if left is None or right is None or left.end_byte - left.start_byte > 40 or cut(left, text) not in _HERE:
            return []
        kind, value = "here", right
    spec = literal(value, text) if value.type in _STRINGS else None
    return [] if spec is None else [Import(spec, (), line_of(node), kind)]


READER = Reader(
    words=(b"use", b"namespace", b"require", b"require_once", b"include", b"include_once"),
    query=(
        "(namespace_use_declaration) @import (namespace_definition) @import (require_expression) @import "
        "(require_once_expression) @import (include_expression) @import (include_once_expression) @import"
    ),
    read=_read,
    line_comments=(b"//", b"#", b"*"),
)
