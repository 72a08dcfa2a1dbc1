"""Dependencies point one way: every import statement of the package, wherever it stands, against the order of the layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "lurcher"

LAYERS = (
    "errors", "runtime", "types", "config", "net", "terms", "languages", "sources", "storage", "vectors",
    "chunking", "indexing", "query", "lanes", "ranking", "rerank", "answer", "corpora", "inspect", "stores", "engine",
    "server", "evaluation", "surfaces", "__main__",
)  # fmt: skip
"""Folders and top-level modules, lowest first: each may import those before it, and itself."""


class Import(NamedTuple):
    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


@cache
def modules() -> dict[str, Path]:
    """Dotted name → file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Every import of our own modules in a file: at the top, in functions, and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} has a relative import"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [target if target in known else node.module or "" for target in targets]
        else:
            continue
        for target in targets:
            if target in known and target != name:
                yield Import(name, target, node.lineno)


@cache
def graph() -> tuple[Import, ...]:
    return tuple(found for name, path in modules().items() for found in imports_of(name, path, modules()))


def layer_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def against(edges: tuple[Import, ...]) -> list[str]:
    """Imports that lead from a layer to one above it. The package's own `__init__` is lazy and stands outside."""
    rank = {layer: place for place, layer in enumerate(LAYERS)}
    return [
        str(edge) for edge in edges
        if layer_of(edge.importer) and layer_of(edge.imported) and rank[layer_of(edge.imported)] > rank[layer_of(edge.importer)]
    ]  # fmt: skip


def cycles(edges: tuple[Import, ...]) -> list[list[str]]:
    """Groups of modules that import each other, however indirectly (Tarjan's strongly connected components)."""
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.importer, []).append(edge.imported)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        open_.append(name)
        for other in following.get(name, ()):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in open_:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            at = open_.index(name)
            group = sorted(open_[at:])
            del open_[at:]
            if len(group) > 1:
                found.append(group)

    for name in modules():
        if name not in number:
            visit(name)
    return found


def test_every_folder_has_its_place_among_the_layers() -> None:
    assert {layer_of(name) for name in modules()} - {""} <= set(LAYERS)


def test_no_import_leads_to_a_higher_layer() -> None:
    assert against(graph()) == []


def test_no_modules_import_each_other() -> None:
    assert cycles(graph()) == []


def test_a_wrong_import_is_named() -> None:
    edges = (Import("lurcher.terms", "lurcher.engine", 7), Import("lurcher.engine", "lurcher.terms", 3))
    assert against(edges) == ["lurcher.terms:7 imports lurcher.engine"]
    assert cycles(edges) == [["lurcher.engine", "lurcher.terms"]]
