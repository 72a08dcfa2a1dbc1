"""How each ecosystem finds the file behind an import; one file per ecosystem, found by the name of a language."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from lurcher.imports.resolvers.tree import Tree
from lurcher.imports.types import Import, Target

_ECOSYSTEMS = {
    "python": "python",
    "javascript": "ecmascript",
    "typescript": "ecmascript",
    "tsx": "ecmascript",
    "go": "go",
    "rust": "rust",
    "java": "jvm",
    "kotlin": "jvm",
    "scala": "jvm",
    "c": "c",
    "cpp": "c",
    "csharp": "csharp",
    "ruby": "ruby",
    "php": "php",
    "swift": "swift",
}


def ecosystem_of(language: str) -> str:
    """Where a language's imports are looked up; none leads from one ecosystem to another. Empty for other languages."""
    return _ECOSYSTEMS.get(language, "")


class Resolver(Protocol):
    """Knows one ecosystem's rules on one tree."""

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        """The files of the tree that an import in `path` leads to; none if it is external or unknown."""
        ...


def resolvers(tree: Tree) -> dict[str, Resolver]:
    """A resolver per language of the tree; languages of one ecosystem share theirs."""
    made: dict[str, Resolver] = {}
    found: dict[str, Resolver] = {}
    for language in sorted({language for _, language, imports in tree.files if imports}):
        ecosystem = _ECOSYSTEMS.get(language)
        if ecosystem is None:
            continue
        if ecosystem not in made:
            made[ecosystem] = import_module(f"{__name__}.{ecosystem}").make(tree)
        found[language] = made[ecosystem]
    return found
