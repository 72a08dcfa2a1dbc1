"""Which files are notes."""

from __future__ import annotations

MARKED_UP = frozenset(("markdown", "restructuredtext", "asciidoc", "org"))
"""Languages whose every file is a note."""
PARSED = frozenset((
    "bash", "c", "cpp", "csharp", "elixir", "go", "haskell", "java", "javascript", "kotlin", "lua", "php", "python", "ruby",
    "rust", "scala", "swift", "tsx", "typescript", "zig",
))  # fmt: skip
"""Languages that have a grammar, and so are code; a copy, since every question asks for them and the table takes a while."""
_PLAIN = (".txt", ".text")


def is_note(path: str, language: str) -> bool:
    """Prose by its language; plain text only where its name says so, since much else has no language either."""
    return language in MARKED_UP or (language == "text" and path.lower().endswith(_PLAIN))
