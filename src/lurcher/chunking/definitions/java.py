"""Java: types, their methods and fields, the constants of enums and the components of records."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, Found, Spec, not_private

_PATTERNS = (
    ("class", "[(class_declaration) (record_declaration)] @def"),
    ("interface", "[(interface_declaration) (annotation_type_declaration)] @def"),
    ("enum", "(enum_declaration) @def"),
    ("constructor", "(constructor_declaration) @def"),
    ("constructor", "(compact_constructor_declaration) @def"),
    ("method", "(method_declaration) @def"),
    ("method", "(annotation_type_element_declaration) @def"),
    ("field", "(field_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    ("constant", "(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    ("enumerator", "(enum_constant) @def"),
    ("field", "(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @def))"),
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
