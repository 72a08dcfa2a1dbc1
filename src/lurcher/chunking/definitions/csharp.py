"""C#: types with their members; a namespace without braces reaches to the end of its file."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, Found, Spec, not_private

_PATTERNS = (
    ("class", "[(class_declaration name: (_) @name) (record_declaration name: (_) @name)] @def"),
    ("interface", "(interface_declaration name: (_) @name) @def"),
    ("struct", "(struct_declaration name: (_) @name) @def"),
    ("enum", "(enum_declaration name: (_) @name) @def"),
    ("type", "(delegate_declaration name: (_) @name) @def"),
    ("module", "[(namespace_declaration name: (_) @name) (file_scoped_namespace_declaration name: (_) @name)] @def"),
    ("constructor", "(constructor_declaration name: (_) @name) @def"),
    ("method", "(method_declaration name: (_) @name) @def"),
    ("function", "(local_function_statement name: (_) @name) @def"),
    ("field", "[(property_declaration name: (_) @name) (event_declaration name: (_) @name)] @def"),
    (
        "field",
        """[(field_declaration (variable_declaration (variable_declarator name: (_) @name)))
            (event_field_declaration (variable_declaration (variable_declarator name: (_) @name)))] @def""",
    ),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == "module" and text[found.end - 1 : found.end] == b";":
        found.end = len(text)
        found.signature_end = found.name_end
    elif found.kind == "field" and b"const" in text[found.start : found.name_start].split():
        found.kind = "constant"
    return found


SPECS = {
    "csharp": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment"}),
        exported=not_private,
        annotations=b"[",
        qualifiers=r"\.",
        refine=_refine,
    )
}
