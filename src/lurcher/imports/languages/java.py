"""Java: `import a.b.C;`, `import a.b.*;`, `import static a.b.C.d;`, and the package with the types of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import Reader, cut, declared, line_of
from lurcher.imports.types import PACKAGE, Import
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = ("scoped_identifier", "identifier")


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        spec, static, star = "", False, False
        for child in node.children:
            kind = child.type
            if kind in _NAMES:
                spec = cut(child, text)
            elif kind == "static":
                static = True
            elif kind == "asterisk":
                star = True
        if not spec:
            continue
        line = line_of(node)
        if node.type == "package_declaration":
            found.append(Import(spec, whole(), line, PACKAGE))
        elif star:
            found.append(Import(spec, ("*",), line, "static" if static else "import"))
        elif static:
            owner, _, member = spec.rpartition(".")
            found.append(Import(owner, (member,), line, "static"))
        else:
            found.append(Import(spec, (spec.rpartition(".")[2],), line, "import"))
    return found


READER = Reader(
    words=(b"import", b"package"),
    query="(import_declaration) @import (package_declaration) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
