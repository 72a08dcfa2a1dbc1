"""`Cargo.toml`: the crates of a tree, their root files, and the names they give their dependencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lurcher.imports.resolvers.tree import Tree, at, folder_of, joined

_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")


@dataclass(slots=True)
class Crate:
    """One package: where it is, what roots it has, and what it calls others."""

    home: str
    name: str
    """As in paths, with underscores."""
    library: str | None
    roots: frozenset[str]
    """Declared root files."""
    old_paths: bool
    """Whether paths begin at the crate's root without saying so, as in the edition of 2015."""
    renamed: dict[str, str] = field(default_factory=dict)


def crates(tree: Tree) -> dict[str, Crate]:
    """Folder to the crate that lies in it."""
    found: dict[str, Crate] = {}
    for path in tree.configurations("Cargo.toml"):
        settings = tree.toml(path)
        name = at(settings, "package", "name")
        if isinstance(name, str):
            found[folder_of(path)] = _crate(tree, folder_of(path), name, settings)
    return found


def _crate(tree: Tree, home: str, package: str, settings: dict[str, Any]) -> Crate:
    roots = set()
    for kind in ("lib", "bin", "test", "bench", "example"):
        tables = settings.get(kind)
        for table in [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else ():
            path = at(table, "path")
            place = joined(home, path) if isinstance(path, str) else None
            if place is not None and place in tree:
                roots.add(place)
    declared = at(settings, "lib", "path")
    library = joined(home, declared) if isinstance(declared, str) else joined(home, "src/lib.rs")
    name = at(settings, "lib", "name")
    renamed = {}
    for table_name in _TABLES:
        table = settings.get(table_name)
        for alias, value in table.items() if isinstance(table, dict) else ():
            original = at(value, "package")
            if isinstance(original, str):
                renamed[alias.replace("-", "_")] = original.replace("-", "_")
    return Crate(
        home=home,
        name=(name if isinstance(name, str) else package).replace("-", "_"),
        library=library if library is not None and library in tree else None,
        roots=frozenset(roots),
        old_paths=at(settings, "package", "edition") in (None, "2015"),
        renamed=renamed,
    )
