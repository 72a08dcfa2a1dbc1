"""Swift: one node type stands for class, struct, enum, actor and extension; the keyword tells them apart."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, SCOPE, Found, Spec, not_private

_PROPERTY = "(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @def"

_PATTERNS = (
    ("class", '(class_declaration ["class" "actor"] name: (type_identifier) @name) @def'),
    ("struct", '(class_declaration "struct" name: (type_identifier) @name) @def'),
    ("enum", '(class_declaration "enum" name: (type_identifier) @name) @def'),
    (SCOPE, '(class_declaration "extension" name: (_) @name) @def'),
    ("interface", "(protocol_declaration name: (type_identifier) @name) @def"),
    ("type", "(typealias_declaration name: (type_identifier) @name) @def"),
    ("function", "(function_declaration name: (simple_identifier) @name) @def"),
    ("method", "(protocol_function_declaration name: (simple_identifier) @name) @def"),
    ("constructor", '(init_declaration "init" @name) @def'),
    ("field", f"(class_body {_PROPERTY})"),
    ("field", f"(enum_class_body {_PROPERTY})"),
    ("field", "(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @def"),
    ("variable", f"(source_file {_PROPERTY})"),
    (COMMENT, "[(comment) (multiline_comment)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`extension Array<Int>?` extends Array; back-ticks quote a name."""
    found.name = found.name.strip("`")
    if found.kind == SCOPE:
        found.name = found.name.split("<", 1)[0].strip(" ?![]")
    return found


SPECS = {
    "swift": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "multiline_comment"}),
        exported=not_private,
        annotations=b"@",
        qualifiers=r"\.",
        refine=_refine,
    )
}
