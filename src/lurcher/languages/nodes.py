"""Functions that language files read syntax trees with: names out of nodes, definitions and imports out of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from lurcher.languages.base import LONGEST, Captures, MatchReader

if TYPE_CHECKING:
    from tree_sitter import Node


class _Extent:
    """Stands for a node that a grammar has not: from one byte to another."""

    __slots__ = ("byte_range", "end_byte", "start_byte")

    def __init__(self, start: int, end: int) -> None:
        self.start_byte, self.end_byte, self.byte_range = start, end, (start, end)

    def child_by_field_name(self, name: str) -> None:
        return None


def extent(start: int, end: int) -> Node:
    """Something to capture from one byte to another, where the grammar has no node for it."""
    return cast("Node", _Extent(start, end))


Finder = Callable[["Node"], "Iterable[tuple[str, Node]]"]
"""The names that a node defines, each with its kind."""


def names(kind: str, field: str, *types: str) -> Finder:
    """Finds the names in a field that may hold several, if they are nodes of these types."""

    def find(node: Node) -> list[tuple[str, Node]]:
        return [(kind, name) for name in node.children_by_field_name(field) if name.type in types]

    return find


def first(node: Node) -> Node | None:
    """The first child, if there is one."""
    return node.named_child(0) if node.named_child_count else None


def child(node: Node, *types: str) -> Node | None:
    """The first child of one of these types."""
    return next((entry for entry in node.named_children if entry.type in types), None)


def each(find: Finder) -> MatchReader:
    """Reads `@def` as a definition of each name found in it."""

    def read(captures: Captures) -> list[tuple[str, Captures]]:
        definition = captures["def"]
        return [(kind, {"def": definition, "name": [name]}) for kind, name in find(definition[0])]

    return read


def members(finders: Mapping[str, Finder]) -> MatchReader:
    """Reads the children of `@in`, by their types, as definitions of the names found in them."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        for member in captures["in"][0].children:
            find = finders.get(member.type)
            if find is not None:
                for kind, name in find(member):
                    yield kind, {"def": [member], "name": [name]}

    return read


_MOST_NAMES = 400
"""Names kept of one import or package."""


def cut(node: Node, text: bytes) -> str:
    """The node's text without white space and line continuations: `a . b` is `a.b`."""
    start, end = node.start_byte, node.end_byte
    if end - start > 4 * LONGEST:
        return ""
    found = text[start:end].decode("utf-8", "replace")
    parts = found.split()
    return found if len(parts) == 1 else "".join(part for part in parts if part != "\\")


def literal(node: Node | None, text: bytes) -> str | None:
    """What a string literal says; None where it is not one plain piece of text."""
    if node is None:
        return None
    pieces = node.named_children
    if len(pieces) != 1 or pieces[0].end_byte - pieces[0].start_byte > LONGEST or not pieces[0].type.endswith(_PLAIN):
        return None
    return text[pieces[0].start_byte : pieces[0].end_byte].decode("utf-8", "replace").strip() or None


_PLAIN = ("fragment", "content", "literal_content")


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def kept(names: Iterable[str]) -> tuple[str, ...]:
    """Distinct names in order, not too many and not too long."""
    return tuple(name for name in dict.fromkeys(names) if name and len(name) <= LONGEST)[:_MOST_NAMES]


def flat(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes, including those inside an error: a mistake in one place does not hide what follows it."""
    for node in nodes:
        if node.type == "ERROR":
            yield from node.children
        else:
            yield node


def declared(nodes: Iterable[Node], text: bytes) -> tuple[str, ...]:
    """The names that declarations among `nodes` give."""
    names = []
    for node in flat(nodes):
        name = node.child_by_field_name("name") if not node.type.startswith(_OTHERS) else None
        if name is not None:
            names.append(cut(name, text))
    return kept(names)


_OTHERS = ("namespace", "file_scoped_namespace", "using", "module")
"""Statements that have a name and declare none of the package."""
