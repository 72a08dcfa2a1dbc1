"""Zig: a type is a constant whose value is a struct, an enum or a union; `pub` exports."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.spec import COMMENT, Found, Spec

_NAMED = "(variable_declaration . (identifier) @name {0}) @def"

_PATTERNS = (
    ("function", "(function_declaration name: (_) @name) @def"),
    ("struct", _NAMED.format("[(struct_declaration) (union_declaration) (opaque_declaration)]")),
    ("enum", _NAMED.format("[(enum_declaration) (error_set_declaration)]")),
    ("variable", f"(source_file {_NAMED.format('')})"),
    ("variable", f"(struct_declaration {_NAMED.format('')})"),
    (COMMENT, "(comment) @def"),
)

_IMPORT = re.compile(rb"\s*=\s*@import\b")


def _refine(found: Found, text: bytes) -> Found | None:
    """A constant that only names an import defines nothing."""
    if found.kind == "variable":
        if _IMPORT.match(text, found.name_end, found.end):
            return None
        if b"const" in text[found.start : found.name_start].split():
            found.kind = "constant"
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return modifiers.startswith((b"pub", b"export"))


SPECS = {"zig": Spec(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=_exported, refine=_refine)}
