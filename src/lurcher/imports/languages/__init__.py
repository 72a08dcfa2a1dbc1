"""How each language writes its imports; one file per family, found by the name of a language."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from lurcher.imports.languages.reader import Reader

_FAMILIES = {
    "python": "python",
    "javascript": "ecmascript",
    "typescript": "ecmascript",
    "tsx": "ecmascript",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "kotlin": "kotlin",
    "scala": "scala",
    "c": "c",
    "cpp": "c",
    "csharp": "csharp",
    "ruby": "ruby",
    "php": "php",
    "swift": "swift",
}

LANGUAGES = frozenset(_FAMILIES)


@cache
def reader_for(language: str) -> Reader | None:
    family = _FAMILIES.get(language)
    if family is None:
        return None
    reader: Reader = import_module(f"{__name__}.{family}").READER
    return reader
