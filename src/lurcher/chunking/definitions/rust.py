"""Rust: impl blocks are containers, attributes belong to the item that follows, `pub` exports."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.spec import ATTRIBUTE, COMMENT, OPEN_SCOPE, SCOPE, Found, Spec

_PATTERNS = (
    ("function", "[(function_item) (function_signature_item)] @def"),
    ("struct", "(struct_item) @def"),
    ("struct", "(union_item) @def"),
    ("enum", "(enum_item) @def"),
    ("trait", "(trait_item) @def"),
    ("type", "[(type_item) (associated_type)] @def"),
    ("module", "(mod_item name: (_) @name body: (_) @body) @def"),
    ("constant", "(const_item name: (identifier) @name) @def"),
    ("variable", "(static_item name: (identifier) @name) @def"),
    ("field", "(field_declaration) @def"),
    ("enumerator", "(enum_variant) @def"),
    ("macro", "(macro_definition) @def"),
    (OPEN_SCOPE, "(impl_item trait: (_) type: (_) @name) @def"),
    (SCOPE, "(impl_item !trait type: (_) @name) @def"),
    (ATTRIBUTE, "(attribute_item) @def"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)

_SELF_TYPE = re.compile(r"^(?:[&*(\[]|'\w+|mut\b|const\b|dyn\b|\s)*([\w:]+)")


def _refine(found: Found, text: bytes) -> Found | None:
    """`impl<'a> Read for &'a mut io::Cursor<T>` implements Cursor."""
    if found.kind in (SCOPE, OPEN_SCOPE):
        match = _SELF_TYPE.match(found.name)
        found.name = match.group(1).rstrip(":").rsplit("::", 1)[-1] if match else ""
    elif found.kind == "macro":
        brace = text.find(b"{", found.name_end, found.end)
        found.signature_end = brace if brace >= 0 else found.signature_end
    return found if found.name != "_" else None


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    if parent_kind in (OPEN_SCOPE, "trait", "enumerator"):
        return True
    if found.kind in ("macro", "enumerator"):
        return True
    return modifiers.startswith(b"pub")


SPECS = {
    "rust": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"line_comment", "block_comment", "attribute_item"}),
        exported=_exported,
        refine=_refine,
    )
}
