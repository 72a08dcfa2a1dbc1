"""JavaScript and TypeScript: declarations, functions bound to names, and the older ways to make methods."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.spec import COMMENT, WRAP, Found, Spec

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_DECLARATIONS = "[(lexical_declaration {0}) (variable_declaration {0})]"
_ASSIGNED = "assignment"
"""A member that is assigned a function; the left side is its name."""

_BOUND = _DECLARATIONS.format(f"(variable_declarator name: (identifier) @name value: {_FUNCTION} @value)")
_BOUND_CLASS = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (class) @value)")
_VARIABLE = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (_)? @value)")
_MEMBER = f"(object (pair key: (property_identifier) @name value: {_FUNCTION} @value) @def)"
_ASSIGNMENT = "(expression_statement (assignment_expression left: (member_expression) @name right: {0} @value)) @def"

_SHARED = (
    ("function", "[(function_declaration name: (_) @name) (generator_function_declaration name: (_) @name)] @def"),
    ("function", f"{_BOUND} @def"),
    ("class", f"{_BOUND_CLASS} @def"),
    ("method", "(method_definition name: (_) @name) @def"),
    ("method", f"(variable_declarator value: {_MEMBER})"),
    ("method", f"(assignment_expression right: {_MEMBER})"),
    ("method", f"(export_statement value: {_MEMBER})"),
    (_ASSIGNED, _ASSIGNMENT.format(_FUNCTION)),
    (_ASSIGNED, _ASSIGNMENT.format("(class)")),
    ("variable", f"(program {_VARIABLE} @def)"),
    ("variable", f"(program (export_statement declaration: {_VARIABLE} @def))"),
    (WRAP, "(export_statement declaration: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
)

_JAVASCRIPT = (
    ("class", "(class_declaration name: (_) @name) @def"),
    ("method", f"(field_definition property: (_) @name value: {_FUNCTION} @value) @def"),
    *_SHARED,
)

_TYPESCRIPT = (
    ("class", "[(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)] @def"),
    ("interface", "(interface_declaration name: (_) @name) @def"),
    ("type", "(type_alias_declaration name: (_) @name) @def"),
    ("enum", "(enum_declaration name: (_) @name) @def"),
    ("module", "[(internal_module name: (_) @name) (module name: (_) @name)] @def"),
    ("function", "(function_signature name: (_) @name) @def"),
    ("method", "[(method_signature name: (_) @name) (abstract_method_signature name: (_) @name)] @def"),
    ("method", f"(public_field_definition name: (_) @name value: {_FUNCTION} @value) @def"),
    *_SHARED,
    (WRAP, "(ambient_declaration (_) @inner) @def"),
)

_PATH = re.compile(r"[\w$]+(?:\.[#\w$]+)*\Z")
_FUNCTION_NAME = re.compile(rb"(?:async\s+)?function\s*\*?\s*([\w$]+)")


def _refine(found: Found, text: bytes) -> Found | None:
    """Name what is assigned, unquote string names, and drop what only imports."""
    if found.kind == _ASSIGNED:
        return _assigned(found, text)
    if found.kind == "variable" and text.startswith((b"require(", b"import("), found.value_start):
        return None
    if found.name[:1] in "\"'`[":
        found.name = found.name.strip("\"'`[]")
        if found.kind != "module" and not _PATH.match(found.name):
            return None
    return found


def _assigned(found: Found, text: bytes) -> Found | None:
    """`exports.parse = function`, `Foo.prototype.bar = function`, `module.exports = function named()`."""
    if not _PATH.match(found.name):
        return None
    parts = [part for part in found.name.split(".") if part not in ("module", "exports", "prototype", "this")]
    if not parts:
        match = _FUNCTION_NAME.match(text, found.value_start, found.end)
        if match is None:
            return None
        parts = [match.group(1).decode("utf-8", "replace")]
    is_class = text.startswith(b"class", found.value_start)
    found.owner, found.name = ".".join(parts[:-1]), parts[-1]
    found.kind = "class" if is_class else "method" if found.owner else "function"
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """Unless it is clearly private: the grammar does not tell what `export {…}` lists elsewhere."""
    if found.name.startswith(("_", "#")):
        return False
    if parent_kind in ("function", "method", "constructor"):
        return False
    return not modifiers.startswith((b"private", b"protected"))


_LEADS = frozenset({"comment", "decorator"})
_CONSTRUCTORS = frozenset({"constructor"})

SPECS = {
    name: Spec(
        patterns=patterns,
        leads=_LEADS,
        exported=_exported,
        constructors=_CONSTRUCTORS,
        annotations=b"@",
        qualifiers=r"\.",
        refine=_refine,
    )
    for name, patterns in (("javascript", _JAVASCRIPT), ("typescript", _TYPESCRIPT), ("tsx", _TYPESCRIPT))
}
