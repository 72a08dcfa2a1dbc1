"""Python: `import a.b as c`, `from ..a import b, c`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import LONGEST, Reader, cut, kept, line_of
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


_WORD = rb"[A-Za-z_][A-Za-z0-9_]*"
_USUAL = re.compile(
    rb"import (%(dotted)b)|from (\.*(?:%(dotted)b)?) import (?:(%(words)b)|\([ \t\r\n]*(%(words)b),?[ \t\r\n]*\))"
    % {b"dotted": rb"%b(?:\.%b)*" % (_WORD, _WORD), b"words": rb"%b(?:,[ \t\r\n]*%b)*" % (_WORD, _WORD)}
)
"""Most imports: without aliases, comments and rarer ways to write them, what they name can be read off the text."""


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        line = line_of(node)
        usual = _USUAL.fullmatch(text, node.start_byte, node.end_byte)
        if usual is not None and usual.end() - usual.start() <= LONGEST and not node.has_error:
            module, source, plain, bracketed = usual.groups()
            if module:
                found.append(Import(module.decode(), (), line, "import"))
            else:
                each = (plain or bracketed).decode().split(",")
                found.append(Import(source.decode(), kept(name.strip() for name in each), line, "from"))
            continue
        if node.type == "import_statement":
            found += [Import(_name(name, text), (), line, "import") for name in node.children_by_field_name("name")]
            continue
        module = node.child_by_field_name("module_name")
        if module is None:
            continue
        names = [_name(name, text) for name in node.children_by_field_name("name")]
        if not names and any(child.type == "wildcard_import" for child in node.named_children):
            names = ["*"]
        found.append(Import(cut(module, text), kept(names), line, "from"))
    return [entry for entry in found if entry.spec]


def _name(node: Node, text: bytes) -> str:
    """The imported name, not the one it is given here."""
    if node.type == "aliased_import":
        original = node.child_by_field_name("name")
        return cut(original, text) if original is not None else ""
    return cut(node, text)


READER = Reader(
    words=(b"import", b"cimport"),
    query="(import_statement) @import (import_from_statement) @import",
    read=_read,
    line_comments=(b"#",),
)
