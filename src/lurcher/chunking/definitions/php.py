"""PHP: types with their members, functions, constants; a namespace without braces reaches to the end of its file."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, Found, Spec, not_private

_PATTERNS = (
    ("class", "(class_declaration) @def"),
    ("interface", "(interface_declaration) @def"),
    ("trait", "(trait_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("module", "(namespace_definition) @def"),
    ("function", "(function_definition) @def"),
    ("method", "(method_declaration) @def"),
    ("constant", "(const_declaration (const_element . (name) @name)) @def"),
    ("field", "(property_declaration (property_element name: (variable_name (name) @name))) @def"),
    ("field", "(property_promotion_parameter name: (variable_name (name) @name)) @def"),
    ("enumerator", "(enum_case) @def"),
    (
        "constant",
        """(function_call_expression function: (name) @_function (#any-of? @_function "define")
            arguments: (arguments . (argument (string (string_content) @name)))) @def""",
    ),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == "module" and b"{" not in text[found.name_end : found.end]:
        found.end = len(text)
        found.signature_end = found.name_end
    return found


SPECS = {
    "php": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "attribute_list"}),
        exported=not_private,
        constructors=frozenset({"__construct"}),
        annotations=b"#",
        qualifiers=r"\\",
        refine=_refine,
    )
}
