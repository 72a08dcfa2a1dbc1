"""Scala: `import a.b.{C, D => E, _}` (one import per name), and packages, clause within clause, with what they declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import LONGEST, Reader, cut, kept, line_of
from lurcher.imports.types import PACKAGE, Import
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    open_clauses: list[tuple[int, str]] = []
    """End and full name of the packages around the current node; a clause without a body reaches to the end."""
    whole = cache(lambda: _declared(root, text))
    for node in nodes:
        while open_clauses and open_clauses[-1][0] <= node.start_byte:
            open_clauses.pop()
        if node.type == "import_declaration":
            found += _imports(node, text)
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        spec = cut(name, text)
        if open_clauses:
            spec = f"{open_clauses[-1][1]}.{spec}"
        if len(spec) > LONGEST:
            continue
        body = node.child_by_field_name("body")
        found.append(Import(spec, whole() if body is None else _declared(body, text), line_of(node), PACKAGE))
        if node.type == "package_clause":
            open_clauses.append((node.end_byte if body is not None else len(text) + 1, spec))
    return found


def _imports(node: Node, text: bytes) -> list[Import]:
    """`import a.b, c.d._` has its paths one after the other, in which only dots and commas tell parts apart."""
    line = line_of(node)
    found: list[Import] = []
    path: list[str] = []
    selected = False
    for child in node.children:
        kind = child.type
        if kind in ("identifier", "operator_identifier"):
            path.append(cut(child, text))
        elif kind == "namespace_wildcard":
            found.append(Import(".".join(path), ("*",), line, "import"))
            selected = True
        elif kind == "namespace_selectors":
            base = ".".join(path)
            for part in child.named_children:
                name = part.child_by_field_name("name") if part.type.endswith("renamed_identifier") else part
                if part.type == "namespace_wildcard":
                    found.append(Import(base, ("*",), line, "import"))
                elif name is not None and part.type != "comment":
                    plain = cut(name, text)
                    found.append(Import(f"{base}.{plain}", (plain,), line, "import"))
            selected = True
        elif kind == ",":
            if path and not selected:
                found.append(Import(".".join(path), (path[-1],), line, "import"))
            path, selected = [], False
    if path and not selected:
        found.append(Import(".".join(path), (path[-1],), line, "import"))
    return [entry for entry in found if entry.spec]


def _declared(parent: Node, text: bytes) -> tuple[str, ...]:
    names = []
    for node in parent.named_children:
        if node.type in ("package_clause", "package_object", "import_declaration"):
            continue
        name = node.child_by_field_name("name") or node.child_by_field_name("pattern")
        if name is not None and name.end_byte - name.start_byte < 200:
            names.append(cut(name, text))
    return kept(names)


READER = Reader(
    words=(b"import", b"package"),
    query="(import_declaration) @import (package_clause) @import (package_object) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
