"""JavaScript and TypeScript: declarations, functions bound to names, and the older ways to make methods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lurcher.chunking.definitions.spec import COMMENT, WRAP, Captures, Found, Spec

_FUNCTIONS = ("arrow_function", "function_expression", "generator_function")
_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_DECLARATIONS = "[(lexical_declaration {0}) (variable_declaration {0})]"
_ASSIGNED = "assignment"
"""A member that is assigned a function; the left side is its name."""

_SET = "setting"
"""A member that is assigned anything else at the top level."""

_BOUND = _DECLARATIONS.format(f"(variable_declarator name: (identifier) @name value: {_FUNCTION} @value)")
_BOUND_CLASS = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (class) @value)")
_VARIABLE = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (_)? @value)")
_MEMBER = f"(object (pair key: (property_identifier) @name value: {_FUNCTION} @value) @def)"
_ASSIGNMENT = """(expression_statement (assignment_expression left: (member_expression) @name
    right: [(arrow_function) (function_expression) (generator_function) (class)] @value)) @def"""
_SETTING = """(program (expression_statement (assignment_expression left: (member_expression) @name right: (_) @value)) @def)"""


def _field(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A field of a class; one whose value is a function is a method."""
    field = captures["def"][0]
    value = field.child_by_field_name("value")
    name = field.child_by_field_name("name") or field.child_by_field_name("property")
    if name is not None and value is not None and value.type in _FUNCTIONS:
        yield "method", {**captures, "name": [name], "value": [value]}
    elif name is not None:
        yield "field", {**captures, "name": [name]}


def _enumerators(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`Red` and `Green = 2`."""
    for member in captures["in"][0].named_children:
        if member.type == "enum_assignment":
            yield "enumerator", {"def": [member]}
        elif member.type in ("property_identifier", "string"):
            yield "enumerator", {"def": [member], "name": [member]}


_SHARED = (
    ("function", "[(function_declaration) (generator_function_declaration)] @def"),
    ("function", f"{_BOUND} @def"),
    ("class", f"{_BOUND_CLASS} @def"),
    ("method", "(method_definition) @def"),
    ("method", f"(variable_declarator value: {_MEMBER})"),
    ("method", f"(assignment_expression right: {_MEMBER})"),
    ("method", f"(export_statement value: {_MEMBER})"),
    (_ASSIGNED, _ASSIGNMENT),
    (_SET, _SETTING),
    ("variable", f"(program {_VARIABLE} @def)"),
    ("variable", f"(program (export_statement declaration: {_VARIABLE} @def))"),
    (WRAP, "(export_statement declaration: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
)

_JAVASCRIPT = (
    ("class", "(class_declaration) @def"),
    (_field, "(field_definition) @def"),
    *_SHARED,
)

_TYPESCRIPT = (
    ("class", "[(class_declaration) (abstract_class_declaration)] @def"),
    ("interface", "(interface_declaration) @def"),
    ("type", "(type_alias_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("module", "[(internal_module) (module)] @def"),
    ("function", "(function_signature) @def"),
    ("method", "[(method_signature) (abstract_method_signature)] @def"),
    (_field, "(public_field_definition) @def"),
    *_SHARED,
    ("field", "(interface_body (property_signature name: (property_identifier) @name) @def)"),
    ("field", "(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @def))"),
    ("field", '(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def'),
    (_enumerators, "(enum_body) @in"),
    (WRAP, "(ambient_declaration (_) @inner) @def"),
)

_MODULE = ("module", "exports", "prototype", "this")
"""Parts of a path that name nothing of their own."""
_PATH = re.compile(r"[\w$]+(?:\.[#\w$]+)*\Z")
_FUNCTION_NAME = re.compile(rb"(?:async\s+)?function\s*\*?\s*([\w$]+)")


def _refine(found: Found, text: bytes) -> Found | None:
    """Name what is assigned, unquote string names, and drop what only imports."""
    if found.kind == _ASSIGNED:
        return _assigned(found, text)
    if found.kind == _SET:
        return _set(found, text)
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
    parts = [part for part in found.name.split(".") if part not in _MODULE]
    if not parts:
        match = _FUNCTION_NAME.match(text, found.value_start, found.end)
        if match is None:
            return None
        parts = [match.group(1).decode("utf-8", "replace")]
    is_class = text.startswith(b"class", found.value_start)
    found.owner, found.name = ".".join(parts[:-1]), parts[-1]
    found.kind = "class" if is_class else "method" if found.owner else "function"
    return found


def _set(found: Found, text: bytes) -> Found | None:
    """`exports.version = 1` is a variable, `Foo.limit = 1` a field of Foo."""
    if not _PATH.match(found.name) or text.startswith((b"require(", b"import("), found.value_start):
        return None
    parts = [part for part in found.name.split(".") if part not in _MODULE]
    if not parts:
        return None
    found.owner, found.name = ".".join(parts[:-1]), parts[-1]
    found.kind = "field" if found.owner else "variable"
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
