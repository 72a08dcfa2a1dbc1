"""C and C++: `#include "x.h"` and `#include <x.h>`, also as `#include_next` and `#import`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.imports.languages.reader import LONGEST, Reader, line_of
from lurcher.imports.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_DIRECTIVES = (b"#include_next", b"#import")


def _read(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        path = node.child_by_field_name("path")
        if node.type == "preproc_call":
            directive = node.child_by_field_name("directive")
            if directive is None or text[directive.start_byte : directive.end_byte].replace(b" ", b"") not in _DIRECTIVES:
                continue
            path = node.child_by_field_name("argument")
        if path is None or path.end_byte - path.start_byte > LONGEST:
            continue
        written = text[path.start_byte : path.end_byte].decode("utf-8", "replace").strip()
        if len(written) > 2 and written[0] + written[-1] in ('""', "<>"):
            kind = "quote" if written[0] == '"' else "angle"
            found.append(Import(written[1:-1].strip().replace("\\", "/"), (), line_of(node), kind))
    return found


READER = Reader(
    words=(b"include", b"include_next", b"import"),
    query="(preproc_include) @import (preproc_call) @import",
    read=_read,
    line_comments=(b"//", b"*"),
)
