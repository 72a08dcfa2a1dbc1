"""Scala: classes, traits, objects and their members; an extension's methods belong to the type it extends."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.spec import COMMENT, SCOPE, TYPES, Found, Spec, not_private

_VALUES = "[(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)] @def"
_DECLARED = "[(val_declaration name: (identifier) @name) (var_declaration name: (identifier) @name)] @def"

_PATTERNS = (
    ("class", "(class_definition name: (_) @name) @def"),
    ("trait", "(trait_definition name: (_) @name) @def"),
    ("module", "[(object_definition name: (_) @name) (package_object name: (_) @name)] @def"),
    ("enum", "(enum_definition name: (_) @name) @def"),
    ("type", "(type_definition name: (_) @name) @def"),
    ("variable", "(given_definition name: (_) @name) @def"),
    ("function", "[(function_definition name: (_) @name) (function_declaration name: (_) @name)] @def"),
    ("field", f"(template_body {_VALUES})"),
    ("field", f"(template_body {_DECLARED})"),
    ("variable", f"(compilation_unit {_VALUES})"),
    (SCOPE, "(extension_definition parameters: (parameters (parameter type: (_) @name))) @def"),
    (COMMENT, "[(comment) (block_comment)] @def"),
)

_TYPE_NAME = re.compile(r"\w+")


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == SCOPE:
        match = _TYPE_NAME.search(found.name)
        found.name = match.group() if match else ""
    return found


SPECS = {
    "scala": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "block_comment"}),
        exported=not_private,
        methods_in=TYPES | {"module"},
        constructors=frozenset({"this"}),
        annotations=b"@",
        refine=_refine,
    )
}
