"""Lua: functions by every way a table can receive one, and top-level variables."""

from __future__ import annotations

import re

from lurcher.languages.base import COMMENT, DefinitionRules, Found, Language, OccurrenceRules

_NAME = "[(identifier) (dot_index_expression)] @name"
_FUNCTION_VALUE = "(expression_list . value: (function_definition) @value)"

_PATTERNS = (
    ("function", "(function_declaration name: (_) @name) @def"),
    (
        "function",
        f"""(variable_declaration
            (assignment_statement (variable_list . name: (identifier) @name) {_FUNCTION_VALUE})) @def""",
    ),
    ("function", f"(assignment_statement (variable_list . name: {_NAME}) {_FUNCTION_VALUE}) @def"),
    ("function", "(field name: (identifier) @name value: (function_definition) @value) @def"),
    ("variable", "(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @def)"),
    ("variable", "(chunk (variable_declaration (variable_list name: (identifier) @name)) @def)"),
    ("variable", "(chunk (assignment_statement (variable_list name: (identifier) @name)) @def)"),
    ("variable", "(chunk (assignment_statement (variable_list name: (dot_index_expression) @name)) @def)"),
    (COMMENT, "(comment) @def"),
)

_REQUIRE = re.compile(rb"\s*=\s*require\b")


def _refine(found: Found, text: bytes) -> Found | None:
    """A local that only names a required module defines nothing; one function is found once, with its `local`."""
    if found.kind == "variable" and _REQUIRE.match(text, found.name_end, found.end):
        return None
    if found.kind == "function" and text.startswith(b"local", found.start):
        return found
    if found.start == found.name_start and text[max(0, found.start - 6) : found.start].rstrip() == b"local":
        return None
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return not modifiers.startswith(b"local") and not found.name.startswith("_")


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS, leads=frozenset({"comment"}), exported=_exported, qualifiers="[.:]", refine=_refine
)


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: function_declaration.name parameters.name for_generic_clause for_numeric_clause.name
    call: function_call.name
    member: dot_index_expression.field method_index_expression.method
    write: assignment_statement
    label: field.name
    value: bracket_index_expression.table
    inside: variable_list
    """,
)


LANGUAGES = (
    Language(
        name="lua",
        extensions=("lua", "luau", "rockspec"),
        filenames=(".luacheckrc",),
        interpreters=("lua", "luajit", "lua5.1", "lua5.3", "lua5.4"),
        grammar=("tree_sitter_lua", "language"),
        sigil="$",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
    ),
)
