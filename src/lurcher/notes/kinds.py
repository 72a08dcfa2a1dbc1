"""Which files are notes."""

from __future__ import annotations

MARKED_UP = frozenset(("markdown", "restructuredtext", "asciidoc", "org"))
"""Languages whose every file is a note."""
_PLAIN = (".txt", ".text")


def is_note(path: str, language: str) -> bool:
    """Prose by its language; plain text only where its name says so, since much else has no language either."""
    return language in MARKED_UP or (language == "text" and path.lower().endswith(_PLAIN))
