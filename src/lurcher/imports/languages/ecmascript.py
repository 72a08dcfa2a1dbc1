"""JavaScript and TypeScript: `import`, `export … from`, `require(…)`, `import(…)`, `import x = require(…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, kept, line_of, literal
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED = frozenset({"import_specifier", "export_specifier"})
_PROMISE = frozenset({"then", "catch", "finally"})
"""What is asked of `import(…)` itself, not of the module."""


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        entry = _call(node, text) if node.type == "call_expression" else _statement(node, text)
        if entry is not None:
            found.append(entry)
    return found


def _statement(node: Node, text: bytes) -> Import | None:
    kind = "import" if node.type == "import_statement" else "export"
    source = node.child_by_field_name("source")
    names: list[str] = []
    for child in node.named_children:
        if child.type == "import_require_clause":
            source = child.child_by_field_name("source")
            kind, names = "require", ["*"]
        elif child.type == "import_clause":
            for part in child.named_children:
                if part.type == "identifier":
                    names.append("default")
                elif part.type == "namespace_import":
                    names.append("*")
                else:
                    names += _specifiers(part, text)
        elif child.type == "export_clause":
            names += _specifiers(child, text)
    spec = literal(source, text)
    if spec is None:
        return None
    if kind == "export" and not names:
        names = ["*"]
    return Import(spec, kept(names), line_of(node), kind)


def _specifiers(clause: Node, text: bytes) -> list[str]:
    names = [child.child_by_field_name("name") for child in clause.named_children if child.type in _NAMED]
    return [cut(name, text).strip("'\"") for name in names if name is not None]


def _call(node: Node, text: bytes) -> Import | None:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    if function.type == "import":
        kind = "dynamic"
    elif function.end_byte - function.start_byte == 7 and text[function.start_byte : function.end_byte] == b"require":
        kind = "require"
    else:
        return None
    first = next((child for child in arguments.named_children if child.type != "comment"), None)
    if first is None or first.type not in ("string", "template_string"):
        return None
    spec = literal(first, text)
    return None if spec is None else Import(spec, _taken(node, text), line_of(node), kind)


def _taken(call: Node, text: bytes) -> tuple[str, ...]:
    """The names in `const {a, b: c} = require(…)` and `require(…).a`."""
    parent = call.parent
    if parent is not None and parent.type == "await_expression":
        parent = parent.parent
    if parent is None:
        return ()
    if parent.type == "member_expression":
        name = parent.child_by_field_name("property")
        taken = cut(name, text) if name is not None else ""
        return kept([taken]) if taken not in _PROMISE else ()
    pattern = parent.child_by_field_name("name") if parent.type == "variable_declarator" else None
    if pattern is None or pattern.type != "object_pattern":
        return ()
    names = []
    for part in pattern.named_children:
        key = part.child_by_field_name("key") if part.type == "pair_pattern" else part
        if key is not None and key.type in ("shorthand_property_identifier_pattern", "property_identifier"):
            names.append(cut(key, text))
    return kept(names)


READER = Reader(
    words=(b"import", b"require"),
    before_quote=(b"from",),
    query=(
        "(import_statement) @import (export_statement source: (_)) @import "
        "(call_expression function: (identifier)) @import (call_expression function: (import)) @import"
    ),
    read=_read,
    line_comments=(b"//", b"*"),
    common=True,
)
