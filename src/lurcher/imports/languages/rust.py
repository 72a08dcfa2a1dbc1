"""Rust: `mod x;`, `use a::{b, c::d}` (one import per leaf), `extern crate`.

Paths are told relative to the file's own module: `super::x` inside of an inline module becomes `self::x`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import LONGEST, Reader, cut, line_of, literal
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_LEAVES = 2_000


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    inline: list[tuple[int, str]] = []
    """End and name of the inline modules around the current node."""
    for node in nodes:
        start = node.start_byte
        while inline and inline[-1][0] <= start:
            inline.pop()
        kind = node.type
        if kind == "use_declaration":
            around = [name for _, name in inline]
            line = line_of(node)
            found += [Import(_from_file(path, around), names, line, "use") for path, names in _leaves(node, text)]
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        plain = cut(name, text).removeprefix("r#")
        if kind == "extern_crate_declaration":
            if plain != "self":
                found.append(Import(plain, (), line_of(node), "crate"))
        elif node.child_by_field_name("body") is not None:
            inline.append((node.end_byte, plain))
        else:
            around = [outer for _, outer in inline]
            path = _path_attribute(node, text)
            spec = "/".join([*around, plain if path is None else path])
            found.append(Import(spec, (plain,), line_of(node), "mod" if path is None else "mod-path"))
    return found


def _leaves(node: Node, text: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """Path and name of each leaf of a use tree, by a stack: trees may be nested as deep as they like."""
    argument = node.child_by_field_name("argument")
    leaves: list[tuple[str, tuple[str, ...]]] = []
    stack = [("", argument)] if argument is not None else []
    while stack and len(leaves) < _MOST_LEAVES:
        prefix, part = stack.pop()
        kind = part.type
        if len(prefix) > LONGEST:
            continue
        if kind in ("scoped_use_list", "use_list"):
            path = part.child_by_field_name("path") if kind == "scoped_use_list" else None
            entries = part.child_by_field_name("list") if kind == "scoped_use_list" else part
            inner = _joined(prefix, cut(path, text)) if path is not None else prefix
            if entries is not None:
                stack += [(inner, child) for child in reversed(entries.named_children)]
            continue
        if kind == "use_as_clause":
            original = part.child_by_field_name("path")
            if original is not None:
                stack.append((prefix, original))
            continue
        if kind == "use_wildcard":
            base = part.named_children[0] if part.named_children else None
            leaves.append((_joined(prefix, cut(base, text)) if base is not None else prefix, ("*",)))
        elif kind == "self" and prefix:
            leaves.append((prefix, (prefix.rpartition("::")[2],)))
        elif kind in ("identifier", "scoped_identifier", "crate", "super", "self"):
            path_text = _joined(prefix, cut(part, text))
            leaves.append((path_text, (path_text.rpartition("::")[2],)))
    return [(path.replace("r#", ""), names) for path, names in leaves if path]


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix else path


def _from_file(path: str, around: list[str]) -> str:
    """The path as it would read outside of the inline modules around it."""
    if not around or not path.startswith(("self", "super")):
        return path
    parts = path.split("::")
    scope = list(around)
    if parts[0] == "self":
        parts.pop(0)
    while parts and parts[0] == "super" and scope:
        scope.pop()
        parts.pop(0)
    if parts and parts[0] == "super":
        return "::".join(parts)
    return "::".join(["self", *scope, *parts])


def _path_attribute(node: Node, text: bytes) -> str | None:
    """`#[path = "…"]` among the attributes before a module."""
    before = node.prev_named_sibling
    for _ in range(20):
        if before is None or before.type not in ("attribute_item", "line_comment", "block_comment"):
            return None
        attribute = before.named_children[0] if before.named_children else None
        if attribute is not None and attribute.type == "attribute" and attribute.named_children:
            value = attribute.child_by_field_name("value")
            if value is not None and cut(attribute.named_children[0], text) == "path":
                return literal(value, text)
        before = before.prev_named_sibling
    return None


READER = Reader(
    words=(b"use", b"mod", b"extern"),
    query="(use_declaration) @import (mod_item) @import (extern_crate_declaration) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
