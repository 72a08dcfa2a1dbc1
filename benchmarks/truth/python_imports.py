"""Prints the file-to-file edges of a Python tree as Python itself resolves them, and the files it could parse.

    python python_imports.py TREE ROOT [ROOT ...]

Statements come from `ast`, files from `importlib`'s own finders over a path that begins as Python's does: the folder in which
the file's outermost package lies (the script's folder, or what pytest puts there), then the roots of the project. Nothing of
the tree is run. `from a import b` is `a.b` where the finder has that module, unless `a` binds the name `b` itself at its top
level to something else: that is how the statement is carried out. The packages around a module are not counted as imported.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import warnings
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path

warnings.simplefilter("ignore")


@cache
def finder(folder: str) -> FileFinder:
    return FileFinder(folder, (SourceFileLoader, [*EXTENSION_SUFFIXES, ".py", ".pyx"]))


@cache
def find(name: str, path: tuple[str, ...]) -> ModuleSpec | None:
    """One component along a path; portions of a namespace package are put together."""
    portions: list[str] = []
    for folder in path:
        spec = finder(folder).find_spec(name)
        if spec is None:
            continue
        if spec.loader is not None:
            return spec
        portions += spec.submodule_search_locations or []
    if not portions:
        return None
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = portions
    return spec


@cache
def locate(module: str, path: tuple[str, ...]) -> ModuleSpec | None:
    spec = None
    for part in module.split("."):
        spec = find(part, path)
        if spec is None:
            return None
        path = tuple(spec.submodule_search_locations or ())
    return spec


@cache
def bound(init: str) -> frozenset[str]:
    """Names that a package's own code binds at its top level to what is not its module of that name."""
    names: set[str] = set()
    try:
        body = ast.parse(Path(init).read_bytes()).body
    except (SyntaxError, ValueError):
        return frozenset()
    own = ".".join(package_root(os.path.split(init)[0])[1])
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            itself = (node.level == 1 and node.module is None) or (node.level == 0 and node.module == own)
            names.update(alias.asname or alias.name for alias in node.names if not itself or alias.asname)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(names)


def package_root(folder: str) -> tuple[str, list[str]]:
    """Where a folder's outermost package lies, and the package's name."""
    parts: list[str] = []
    while Path(folder, "__init__.py").exists():
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return folder, parts


def targets(node: ast.stmt, folder: str, roots: tuple[str, ...]) -> set[str]:
    root, _ = package_root(folder)
    path = tuple(dict.fromkeys((root, *roots)))
    if isinstance(node, ast.Import):
        found = [locate(alias.name, path) for alias in node.names]
        return {spec.origin for spec in found if spec is not None and spec.origin}
    assert isinstance(node, ast.ImportFrom)
    if node.level:
        base = folder
        for _ in range(node.level - 1):
            base = os.path.split(base)[0]
        if node.module:
            spec = locate(node.module, (base,))
        else:
            spec = ModuleSpec("", None, is_package=True)
            init = os.path.join(base, "__init__.py")
            spec.origin = init if Path(init).exists() else None
            spec.submodule_search_locations = [base]
    else:
        spec = locate(node.module or "", path)
    if spec is None:
        return set()
    inside = tuple(spec.submodule_search_locations or ())
    found_files: set[str] = set()
    for alias in node.names:
        module = None
        if inside and alias.name != "*" and not (spec.origin and alias.name in bound(spec.origin)):
            module = locate(alias.name, inside)
        origin = module.origin if module is not None and module.origin else spec.origin
        if origin:
            found_files.add(origin)
    return found_files


def main() -> None:
    tree = os.path.realpath(sys.argv[1])
    roots = tuple(os.path.normpath(os.path.join(tree, root)) for root in sys.argv[2:])
    listed = subprocess.run(["git", "ls-files"], cwd=tree, capture_output=True, text=True, check=True).stdout.splitlines()
    edges = set()
    read = []
    for path in listed:
        if not path.endswith(".py"):
            continue
        file = os.path.join(tree, path)
        try:
            parsed = ast.parse(Path(file).read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        read.append(path)
        folder = os.path.split(file)[0]
        for node in ast.walk(parsed):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for target in targets(node, folder, roots):
                    edges.add((path, os.path.relpath(target, tree)))
    known = set(listed)
    kept = sorted(edge for edge in edges if edge[0] != edge[1] and edge[1] in known)
    print(json.dumps({"files": read, "edges": kept}))


if __name__ == "__main__":
    main()
