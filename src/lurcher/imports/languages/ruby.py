"""Ruby: `require`, `require_relative`, `load` and `autoload` of a literal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, line_of, literal
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {b"require": "require", b"require_relative": "relative", b"load": "load", b"autoload": "autoload"}


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        method = node.child_by_field_name("method")
        if method is None or method.end_byte - method.start_byte > 16:
            continue
        kind = _KINDS.get(text[method.start_byte : method.end_byte])
        arguments = node.child_by_field_name("arguments") if kind is not None else None
        if kind is None or arguments is None:
            continue
        given = arguments.named_children
        names: tuple[str, ...] = ()
        if kind == "autoload":
            if len(given) < 2:
                continue
            names = (cut(given[0], text).lstrip(":").strip("'\""),)
            given = given[1:]
        spec = literal(given[0], text) if given and given[0].type == "string" else None
        if spec is not None:
            found.append(Import(spec, names, line_of(node), kind))
    return found


READER = Reader(
    words=tuple(_KINDS),
    query="(call method: (identifier)) @import",
    read=_read,
    line_comments=(b"#",),
    common=True,
)
