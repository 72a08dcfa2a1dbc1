"""Precision and recall of the import graph against resolvers that are not ours, and what it costs.

    python benchmarks/imports.py TREES [--typescript NODE_MODULES] [--python PYTHON] [--out FILE]

TREES holds git clones by the names below; those that are missing are left out. An edge is a pair of files. What each truth is,
and why, is told in `benchmarks/truth/`. Extraction is timed in processor time against parsing the same files.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from truth import file_imports

from lurcher.chunking.code import parse_tree
from lurcher.languages.detect import detect, ecosystem_of
from lurcher.languages.grammar import grammar_of
from lurcher.languages.graph import Graph
from lurcher.languages.imports import imports_of
from lurcher.languages.parsed_file import Import

TRUTH = Path(__file__).resolve().parent / "truth"
Truth = dict[str, Any]

PYTHON = {
    "django": [".", "tests"],
    "pytest": ["src"],
    "sphinx": ["."],
    "astropy": ["."],
    "matplotlib": ["lib"],
    "scikit-learn": ["."],
    "xarray": ["."],
    "pylint": ["."],
    "pydantic": [".", "pydantic-core/python"],
}
"""Source roots, as each project's own test run has them on its path."""
TYPESCRIPT = ("zod", "axios", "trpc")
GO = ("cobra", "caddy", "gin")
JAVA = ("gson", "commons-lang", "jackson-databind")
C = {
    "curl": {"lib/": ["include", "lib"], "src/": ["include", "lib", "src"]},
    "libuv": {"src/": ["include", "src"], "include/": ["include"], "test/": ["include", "src"]},
    "redis": {
        "src/": [
            "src",
            "deps/hiredis",
            "deps/linenoise",
            "deps/lua/src",
            "deps/hdr_histogram",
            "deps/fpconv",
            "deps/fast_float",
        ]
    },
    "abseil-cpp": {"absl/": ["."]},
}
"""Include paths by folder, as the projects' build files have them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--typescript", type=Path, help="a node_modules folder with the package typescript, version 5")
    parser.add_argument("--python", default=sys.executable, help="the Python that reads the Python trees; newer is better")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    questions: list[tuple[str, str, Callable[[Path], Truth]]] = []
    questions += [("python", name, _python(options.python, roots)) for name, roots in PYTHON.items()]
    if options.typescript is not None:
        questions += [("typescript", name, _typescript(options.typescript)) for name in TYPESCRIPT]
    questions += [("go", name, lambda tree: _plain(file_imports.go(tree))) for name in GO]
    questions += [("java", name, lambda tree: _plain(file_imports.java(tree))) for name in JAVA]
    questions += [("c", name, _c(includes)) for name, includes in C.items()]
    rows = []
    print("tree           language      truth   found  precision   recall  extract  build ms")
    for language, name, truth in questions:
        tree = options.trees / name
        if not tree.is_dir():
            continue
        row = {"tree": name, "commit": _commit(tree), "language": language, **compare(tree, truth(tree))}
        rows.append(row)
        print(
            f"{name:14} {language:11} {row['truth']:7} {row['found']:7} {row['precision']:10.4f} {row['recall']:8.4f} "
            f"{row['extraction_to_parsing']:8.3f} {row['build_ms']:9.1f}",
            flush=True,
        )
    if options.out is not None:
        options.out.write_text(json.dumps({"date": datetime.date.today().isoformat(), "rows": rows}, indent=1) + "\n", "utf-8")


def compare(tree: Path, truth: Truth) -> dict[str, Any]:
    """Our edges out of the files that the truth could read, against its own."""
    files, parsing, extraction = load(tree)
    begun = time.process_time()
    graph = Graph.build(files, lambda path: read(tree, path))
    took = time.process_time() - begun
    asked = set(truth["files"])
    true = {(source, target) for source, target in truth["edges"]}
    unknown: dict[str, tuple[str, ...]] = {}
    for source, home in truth.get("unknown", ()):
        unknown[source] = (*unknown.get(source, ()), f"{home}/" if home else "")
    found = {(edge.source, edge.target) for edge in graph.edges() if edge.source in asked}
    excluded = {edge for edge in found - true if edge[1].startswith(unknown.get(edge[0], ("\0",)))}
    found -= excluded
    both = len(true & found)
    return {
        "files": len(files), "imports": sum(len(imports) for _, _, imports in files),
        "truth": len(true), "found": len(found), "excluded": len(excluded),
        "precision": round(both / max(1, len(found)), 4), "recall": round(both / max(1, len(true)), 4),
        "extraction_to_parsing": round(extraction / max(parsing, 1e-9), 3), "build_ms": round(1000 * took, 1),
        "wrong": sorted(found - true)[:10], "missed": sorted(true - found)[:10],
    }  # fmt: skip


def load(tree: Path) -> tuple[list[tuple[str, str, tuple[Import, ...]]], float, float]:
    """Every listed file with its imports, and the seconds that parsing and extraction took."""
    files: list[tuple[str, str, tuple[Import, ...]]] = []
    parsing = extraction = 0.0
    for path in file_imports.listed(tree, ""):
        try:
            text = (tree / path).read_bytes()
        except OSError:
            continue
        language = detect(path, text[:512])
        imports: tuple[Import, ...] = ()
        grammar = grammar_of(language) if ecosystem_of(language) and text else None
        if grammar is not None:
            begun = time.process_time()
            found = parse_tree(text, grammar)
            parsed = time.process_time()
            imports = imports_of(found[0], text, language, found[1].imports_in) if found is not None else ()
            extraction += time.process_time() - parsed
            parsing += parsed - begun
        files.append((path, language, imports))
    return files, parsing, extraction


def read(tree: Path, path: str) -> str | None:
    try:
        return (tree / path).read_text("utf-8", "replace")
    except OSError:
        return None


def _python(python: str, roots: list[str]) -> Callable[[Path], Truth]:
    return lambda tree: _told([python, str(TRUTH / "python_imports.py"), str(tree), *roots], dict(os.environ))


def _typescript(modules: Path) -> Callable[[Path], Truth]:
    environment = {**os.environ, "NODE_PATH": str(modules.resolve())}
    return lambda tree: _told(["node", str(TRUTH / "typescript_imports.cjs"), str(tree)], environment)


def _c(includes: dict[str, list[str]]) -> Callable[[Path], Truth]:
    return lambda tree: _plain(file_imports.c(tree, includes))


def _plain(found: tuple[list[str], set[tuple[str, str]]]) -> Truth:
    return {"files": found[0], "edges": sorted(found[1])}


def _told(command: list[str], environment: dict[str, str]) -> Truth:
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: Truth = json.loads(done.stdout)
    return found


def _commit(tree: Path) -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
