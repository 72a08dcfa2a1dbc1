"""C#: `using A.B;`, `using static A.B.C;`, `using X = A.B.C;`, and namespaces with the types they declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import LONGEST, Reader, cut, declared, line_of
from lurcher.imports.types import PACKAGE, Import
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = ("identifier", "qualified_name", "alias_qualified_name", "generic_name")


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    around: list[tuple[int, str]] = []
    """End and full name of the namespaces around the current node."""
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        if node.type == "using_directive":
            entry = _using(node, text)
            if entry is not None:
                found.append(entry)
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        spec = cut(name, text)
        if around:
            spec = f"{around[-1][1]}.{spec}"
        if len(spec) > LONGEST:
            continue
        body = node.child_by_field_name("body")
        types = declared(body.named_children, text) if body is not None else whole()
        found.append(Import(spec, types, line_of(node), PACKAGE))
        if body is not None:
            around.append((node.end_byte, spec))
    return found


def _using(node: Node, text: bytes) -> Import | None:
    alias = node.child_by_field_name("name")
    kind = "using" if alias is None else "alias"
    spec = ""
    for child in node.children:
        if child.type == "static":
            kind = "static"
        elif child.type in _NAMES and (alias is None or child.start_byte != alias.start_byte):
            spec = cut(child, text)
    spec = spec.removeprefix("global::").partition("<")[0]
    return Import(spec, (), line_of(node), kind) if spec else None


READER = Reader(
    words=(b"using", b"namespace"),
    query="(using_directive) @import (namespace_declaration) @import (file_scoped_namespace_declaration) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
