"""SQL: tables with their columns, views, indexes, functions, procedures, triggers, types, sequences and schemas.

Dialects differ most in their routines, which the grammar knows in one form at best. So these are found in the text: a line that
begins with `CREATE PROCEDURE` defines one, whatever follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Found,
    Language,
    MatchReader,
    OccurrenceRules,
    child,
    extent,
)

_MOST_CHARACTERS = 200_000
"""Bytes of a definition that are searched for its end."""


def _created(kind: str, *bodies: str) -> MatchReader:
    """Reads a statement that names what it creates; its signature ends where one of `bodies` begins."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        name = child(node, "object_reference")
        if name is None:
            return
        body = child(node, *bodies) if bodies else None
        yield kind, {"def": [node], "name": [name], **({"body": [body]} if body is not None else {})}

    return read


def _index(captures: Captures) -> Iterator[tuple[str, Captures]]:
    name = captures["def"][0].child_by_field_name("column")
    if name is not None:
        yield "index", {**captures, "name": [name]}


def _schema(captures: Captures) -> Iterator[tuple[str, Captures]]:
    name = child(captures["def"][0], "identifier")
    if name is not None:
        yield "module", {**captures, "name": [name]}


_ROUTINE = re.compile(
    rb"(?im)^[ \t]*(?:CREATE|ALTER)(?:[ \t]+OR[ \t]+(?:REPLACE|ALTER))?(?:[ \t]+DEFINER[ \t]*=[ \t]*\S+)?"
    rb"(?:[ \t]+(?:NON)?EDITIONABLE)?[ \t]+(PROC|PROCEDURE|FUNCTION|PACKAGE(?:[ \t]+BODY)?|TRIGGER)"
    rb"(?:[ \t]+IF[ \t]+NOT[ \t]+EXISTS)?[ \t]+([\w.\"`\[\]$]+)"
)
_END = re.compile(rb"(?im)^(?:GO|/|DELIMITER\b.*|(?:CREATE|ALTER|DROP|GRANT|COMMENT)[ \t].*)[ \t]*\r?$")
"""A line before which a routine has ended."""
_BODY = re.compile(rb"(?i)\b(?:AS|BEGIN|IS|DECLARE)\b")
_QUOTE = re.compile(rb"\$\w*\$")
_KINDS = {b"PROC": "procedure", b"PROCEDURE": "procedure", b"FUNCTION": "function", b"TRIGGER": "trigger"}


def _routines(captures: Captures) -> Iterator[tuple[str, Captures]]:
    root = captures["in"][0]
    text, first = root.text or b"", root.start_byte
    position = 0
    while (found := _ROUTINE.search(text, position)) is not None:
        end = _end_of(text, found.end())
        kind = _KINDS.get(found.group(1).upper(), "module")
        start = first + found.start() + len(found.group()) - len(found.group().lstrip())
        name = extent(first + found.start(2), first + found.end(2))
        line = text.find(b"\n", found.end(), end)
        body = extent(first + (end if line < 0 else line), first + end)
        yield kind, {"def": [extent(start, first + end)], "name": [name], "body": [body]}
        position = found.end() if kind == "module" else end


def _end_of(text: bytes, position: int) -> int:
    """Where a routine ends: with its statement, after the text in dollars that is its body, or before the next statement."""
    limit = min(len(text), position + _MOST_CHARACTERS)
    semicolon = text.find(b";", position, limit)
    if semicolon >= 0 and _BODY.search(text, position, semicolon) is None:
        return semicolon + 1
    other = _END.search(text, position, limit)
    end = other.start() if other is not None else limit
    quote = _QUOTE.search(text, position, end)
    if quote is not None:
        closing = text.find(quote.group(), quote.end(), limit)
        if closing >= 0:
            semicolon = text.find(b";", closing, limit)
            end = semicolon + 1 if semicolon >= 0 else limit
    return position + len(text[position:end].rstrip())


_PATTERNS = (
    (_created("table", "column_definitions"), "(create_table) @def"),
    (_created("view", "keyword_as"), "[(create_view) (create_materialized_view)] @def"),
    (_created("type"), "(create_type) @def"),
    (_created("variable"), "(create_sequence) @def"),
    (_index, "(create_index) @def"),
    (_schema, "(create_schema) @def"),
    ("field", "(create_table (column_definitions (column_definition name: (identifier) @name) @def))"),
    (_routines, "(program) @in"),
    (COMMENT, "[(comment) (marginalia)] @def"),
)

_QUOTES = str.maketrans("", "", '"`[]')


def _refine(found: Found, text: bytes) -> Found | None:
    """Names lose their quotes."""
    found.name = found.name.translate(_QUOTES)
    return found


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: column_definition.name create_table create_function create_view create_index function_argument relation.alias
    call: invocation
    inside: object_reference.name
    """,
)


LANGUAGES = (
    Language(
        name="sql",
        extensions=("sql", "psql", "pgsql", "ddl", "dml"),
        grammar=("tree_sitter_sql", "language"),
        optional=True,
        occurrences=_OCCURRENCES,
        definitions=DefinitionRules(
            patterns=_PATTERNS,
            leads=frozenset({"comment", "marginalia"}),
            methods_in=frozenset(),
            qualifiers=r"\.",
            contains_nothing=frozenset({"view", "index", "function", "procedure", "trigger"}),
            refine=_refine,
        ),
    ),
)
