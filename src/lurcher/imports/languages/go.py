"""Go: `import "a/b"`, alone or in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, line_of, literal
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        for child in node.named_children:
            for spec in child.named_children if child.type == "import_spec_list" else (child,):
                path = literal(spec.child_by_field_name("path"), text) if spec.type == "import_spec" else None
                if path is None:
                    continue
                name = spec.child_by_field_name("name")
                names = ("*",) if name is not None and cut(name, text) == "." else ()
                found.append(Import(path, names, line_of(spec), "import"))
    return found


READER = Reader(words=(b"import",), query="(import_declaration) @import", read=_read, line_comments=(b"//",))
