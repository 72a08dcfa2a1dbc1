"""Java: types, their methods and fields."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, Found, Spec, not_private

_PATTERNS = (
    ("class", "[(class_declaration name: (_) @name) (record_declaration name: (_) @name)] @def"),
    ("interface", "[(interface_declaration name: (_) @name) (annotation_type_declaration name: (_) @name)] @def"),
    ("enum", "(enum_declaration name: (_) @name) @def"),
    ("constructor", "(constructor_declaration name: (_) @name) @def"),
    ("constructor", "(compact_constructor_declaration name: (_) @name) @def"),
    ("method", "(method_declaration name: (_) @name) @def"),
    ("method", "(annotation_type_element_declaration name: (_) @name) @def"),
    ("field", "(field_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    ("constant", "(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """A field in capitals is a constant."""
    if found.kind == "field" and len(found.name) > 1 and found.name.isupper():
        found.kind = "constant"
    return found


SPECS = {
    "java": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"line_comment", "block_comment"}),
        exported=not_private,
        annotations=b"@",
        refine=_refine,
    )
}
