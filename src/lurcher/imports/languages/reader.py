"""What extraction needs to know of a language, and how text is cut out of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lurcher.imports.types import Import
from lurcher.runtime.light import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST = 1_000
"""Characters of a spec or name beyond which it is not one."""
_MOST_NAMES = 400
"""Names kept of one import or package."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a language writes imports."""

    words: tuple[bytes, ...]
    """Keywords one of which every import has."""
    query: str
    """Flat patterns (nested ones take long to compile) that capture statements as `@import`."""
    read: Callable[[list[Node], bytes, Node], list[Import]]
    """Imports out of the captured nodes, which are in order of position, the text, and the root."""
    before_quote: tuple[bytes, ...] = ()
    """Keywords that count only where a quotation mark follows."""
    line_comments: tuple[bytes, ...] = ()
    common: bool = False
    """Whether the patterns match much that is no import, such as every call."""


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
    """Nodes with those that lie in an error among them: a mistake in one place does not hide what follows it."""
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
