"""Python: classes, functions, module-level names; docstrings count as comments."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, WRAP, Spec, no_underscore

_PATTERNS = (
    ("class", "(class_definition name: (identifier) @name) @def"),
    ("function", "(function_definition name: (identifier) @name) @def"),
    ("type", "(type_alias_statement left: (type (identifier) @name)) @def"),
    ("variable", "(module (expression_statement (assignment left: (identifier) @name)) @def)"),
    (WRAP, "(decorated_definition definition: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
    (COMMENT, "(module . (comment)* . (expression_statement . (string) @def .))"),
    (COMMENT, "(class_definition body: (block . (comment)* . (expression_statement . (string) @def .)))"),
    (COMMENT, "(function_definition body: (block . (comment)* . (expression_statement . (string) @def .)))"),
)

SPECS = {
    "python": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "decorator"}),
        exported=no_underscore,
        constructors=frozenset({"__init__", "__new__"}),
        signature_at_wrapper=False,
    )
}
