"""Go: receivers are containers, a capital letter exports; a specification may declare several names."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.reading import each, names
from lurcher.chunking.definitions.spec import COMMENT, WRAP, Found, Spec

_PATTERNS = (
    ("function", "(function_declaration name: (identifier) @name) @def"),
    (
        "method",
        """(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
            name: (field_identifier) @name) @def""",
    ),
    ("method", "(interface_type (method_elem name: (field_identifier) @name) @def)"),
    ("struct", "(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def"),
    ("interface", "(type_spec name: (type_identifier) @name type: (interface_type)) @def"),
    ("type", "[(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)] @def"),
    # tree-sitter's queries find only the first of several nodes in some fields; readers find all.
    (each(names("field", "name", "field_identifier")), "(field_declaration) @def"),
    (each(names("constant", "name", "identifier")), "(source_file (const_declaration (const_spec) @def))"),
    (each(names("variable", "name", "identifier")), "(source_file (var_declaration (var_spec) @def))"),
    (each(names("variable", "name", "identifier")), "(source_file (var_declaration (var_spec_list (var_spec) @def)))"),
    (WRAP, "(type_declaration . [(type_spec) (type_alias)] @inner .) @def"),
    (WRAP, "(source_file (const_declaration . (const_spec) @inner .) @def)"),
    (WRAP, "(source_file (var_declaration . (var_spec) @inner .) @def)"),
    (COMMENT, "(comment) @def"),
)

_TYPE_NAME = re.compile(r"\w+")


def _refine(found: Found, text: bytes) -> Found | None:
    """`*Tree[K]` belongs to Tree."""
    if found.owner:
        match = _TYPE_NAME.search(found.owner)
        found.owner = match.group() if match else ""
    return found if found.name != "_" else None


def _capital(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return found.name[:1].isupper()


SPECS = {"go": Spec(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=_capital, refine=_refine)}
