"""Patterns of syntax with metavariables, matched by ast-grep: reading them, finding them, and telling them from questions."""
