"""Shell: functions, and variables set at the top level."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, Spec, no_underscore

_PATTERNS = (
    ("function", "(function_definition name: (_) @name) @def"),
    ("variable", "(program (variable_assignment name: (variable_name) @name) @def)"),
    ("variable", "(program (declaration_command (variable_assignment name: (variable_name) @name)) @def)"),
    (COMMENT, "(comment) @def"),
)

SPECS = {"bash": Spec(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=no_underscore)}
