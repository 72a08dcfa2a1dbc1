"""Swift: `import Module`, `import struct Module.Name`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, line_of
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        spec = next((cut(child, text) for child in node.named_children if child.type == "identifier"), "")
        module, _, name = spec.partition(".")
        if module:
            found.append(Import(module, (name.rpartition(".")[2],) if name else (), line_of(node), "import"))
    return found


READER = Reader(words=(b"import",), query="(import_declaration) @import", read=_read, line_comments=(b"//", b"*"))

_MOST_NODES = 50_000
_TARGETS = frozenset({"target", "executableTarget", "testTarget", "macro", "plugin", "systemLibrary"})


def targets(text: bytes) -> list[tuple[str, str | None]]:
    """Names and, where given, paths of the targets that a `Package.swift` declares."""
    try:
        import tree_sitter_swift
        from tree_sitter import Language, Parser
    except ImportError:
        return []
    stack = [Parser(Language(tree_sitter_swift.language())).parse(text).root_node]
    found: list[tuple[int, str, str | None]] = []
    for _ in range(_MOST_NODES):
        if not stack:
            break
        node = stack.pop()
        stack += node.named_children
        if node.type != "call_expression" or len(node.named_children) < 2:
            continue
        function, suffix = node.named_children[0], node.named_children[1]
        if cut(function, text).rpartition(".")[2] not in _TARGETS or not suffix.named_children:
            continue
        given: dict[str, str] = {}
        for argument in suffix.named_children[0].named_children:
            name, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
            if name is not None and value is not None and value.type == "line_string_literal":
                given.setdefault(cut(name, text), text[value.start_byte + 1 : value.end_byte - 1].decode("utf-8", "replace"))
        if "name" in given:
            found.append((node.start_byte, given["name"], given.get("path")))
    return [(name, path) for _, name, path in sorted(found, key=lambda entry: entry[0])]
