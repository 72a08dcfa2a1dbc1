"""Kotlin: `import a.b.C`, `import a.b.*`, and the package with what the file declares at its top level.

The grammar gives up on some files half-way; `*` among the declared names says that there may be more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, flat, kept, line_of
from lurcher.imports.types import PACKAGE, Import
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: _declared(root, text))
    for node in nodes:
        spec = next((cut(child, text) for child in node.named_children if child.type == "qualified_identifier"), "")
        spec = spec.replace("`", "")
        if not spec:
            continue
        line = line_of(node)
        if node.type == "package_header":
            found.append(Import(spec, whole(), line, PACKAGE))
        elif any(child.type == "*" for child in node.children):
            found.append(Import(spec, ("*",), line, "import"))
        else:
            found.append(Import(spec, (spec.rpartition(".")[2],), line, "import"))
    return found


_KEYWORDS = frozenset({"class", "interface", "object", "fun"})
"""What stands loose before a name where the grammar could not make a declaration of it."""


def _declared(root: Node, text: bytes) -> tuple[str, ...]:
    names = []
    keyword = False
    for node in flat(root.children):
        if keyword and node.type == "identifier":
            names.append(cut(node, text))
        keyword = node.type in _KEYWORDS
        name = node.child_by_field_name("type" if node.type == "type_alias" else "name")
        if name is None and node.type == "property_declaration":
            variable = next((child for child in node.named_children if child.type == "variable_declaration"), None)
            name = variable.named_children[0] if variable is not None and variable.named_children else None
        if name is not None:
            names.append(cut(name, text).replace("`", ""))
    return (*kept(names), "*") if root.has_error else kept(names)


READER = Reader(
    words=(b"import", b"package"),
    query="(import) @import (package_header) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
