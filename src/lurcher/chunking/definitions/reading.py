"""Readers of flat patterns, made of functions that find the names a node defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.spec import Captures, Reader

if TYPE_CHECKING:
    from tree_sitter import Node

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


def each(find: Finder) -> Reader:
    """Reads `@def` as a definition of each name found in it."""

    def read(captures: Captures) -> list[tuple[str, Captures]]:
        definition = captures["def"]
        return [(kind, {"def": definition, "name": [name]}) for kind, name in find(definition[0])]

    return read


def members(finders: Mapping[str, Finder]) -> Reader:
    """Reads the children of `@in`, by their types, as definitions of the names found in them."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        for member in captures["in"][0].children:
            find = finders.get(member.type)
            if find is not None:
                for kind, name in find(member):
                    yield kind, {"def": [member], "name": [name]}

    return read
