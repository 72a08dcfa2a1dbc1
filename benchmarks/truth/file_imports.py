"""Edges of Go, Java and C trees, found without the code under test: line by line, and by `gcc` for C."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

Edges = set[tuple[str, str]]


def listed(tree: Path, *suffixes: str) -> list[str]:
    found = subprocess.run(["git", "ls-files"], cwd=tree, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in found if path.endswith(suffixes)]


def read(tree: Path, path: str) -> str:
    try:
        return (tree / path).read_text("utf-8", "replace")
    except OSError:
        return ""


def go(tree: Path) -> tuple[list[str], Edges]:
    """As `go list` does: the longest module path that begins the import, and every file of that folder that is not a test."""
    files = listed(tree, ".go")
    modules = {}
    for path in listed(tree, "go.mod"):
        named = re.search(r"^module\s+(\S+)", read(tree, path), re.MULTILINE)
        if named:
            modules[named.group(1)] = path.rpartition("/")[0]
    packages = defaultdict(list)
    for path in files:
        if not path.endswith("_test.go"):
            packages[path.rpartition("/")[0]].append(path)
    edges: Edges = set()
    for path in files:
        text = re.sub(r"/\*.*?\*/", "", read(tree, path), flags=re.DOTALL)
        block = False
        for line in text.splitlines():
            line = line.split("//")[0].strip() if '"' not in line.split("//")[0] else line.strip()
            if re.match(r"(func|type|var|const)\b", line):
                break
            if re.match(r"import\s*\($", line):
                block = True
            elif block and line == ")":
                block = False
            written = re.match(r'(?:import\s+)?(?:[\w.]+\s+)?["`]([^"`]+)["`]', line)
            found = written if block or line.startswith("import") else None
            if found:
                fitting = [name for name in modules if found.group(1) == name or found.group(1).startswith(name + "/")]
                if fitting:
                    module = max(fitting, key=len)
                    folder = os.path.normpath(os.path.join(modules[module], found.group(1)[len(module) + 1 :]))
                    edges |= {(path, target) for target in packages.get("" if folder == "." else folder, ()) if target != path}
    return files, edges


def java(tree: Path) -> tuple[list[str], Edges]:
    """As `javac -sourcepath` does: the class `a.b.C` is `C.java` in a folder whose files declare the package `a.b`."""
    files = listed(tree, ".java")
    classes = defaultdict(list)
    packages = defaultdict(list)
    for path in files:
        declared = re.search(r"^\s*package\s+([\w.]+)\s*;", read(tree, path), re.MULTILINE)
        if declared:
            classes[f"{declared.group(1)}.{Path(path).stem}"].append(path)
            packages[declared.group(1)].append(path)
    edges: Edges = set()
    for path in files:
        for static, name, star in re.findall(r"^import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;", read(tree, path), re.MULTILINE):
            if star and not static and name in packages:
                edges |= {(path, target) for target in packages[name]}
                continue
            while name and name not in classes:
                name = name.rpartition(".")[0]
            candidates = classes.get(name, [])
            if candidates:
                nearest = max(candidates, key=lambda target: len(os.path.commonpath([path, target])))
                edges.add((path, nearest))
    return files, {edge for edge in edges if edge[0] != edge[1]}


def c(tree: Path, includes: dict[str, list[str]]) -> tuple[list[str], Edges]:
    """As `gcc` finds each single include, asked one by one: what conditions leave out counts too, because we cannot know them.

    `includes` gives the include paths for files by how their path begins.
    """
    files = [path for path in listed(tree, ".c", ".h", ".cc", ".cpp", ".hpp") if any(path.startswith(key) for key in includes)]
    known = set(listed(tree, ""))
    answers: dict[tuple[str, str, str], str | None] = {}
    edges: Edges = set()
    for path in files:
        start = max((key for key in includes if path.startswith(key)), key=len)
        folder = path.rpartition("/")[0]
        text = re.sub(r"/\*.*?\*/", "", read(tree, path), flags=re.DOTALL)
        for written in re.findall(r'^[ \t]*#[ \t]*include[ \t]+("[^"\n]+"|<[^>\n]+>)', text, re.MULTILINE):
            key = (start, folder if written.startswith('"') else "", written)
            if key not in answers:
                answers[key] = _asked(tree, folder, written, includes[start])
            target = answers[key]
            if target is not None and target in known and target != path:
                edges.add((path, target))
    return files, edges


def _asked(tree: Path, folder: str, written: str, includes: list[str]) -> str | None:
    """The first file that the preprocessor opens for one include, relative to the tree."""
    here = os.path.realpath(tree)
    command = ["gcc", "-E", "-H", "-x", "c", "-", "-o", os.devnull, "-iquote", os.path.join(here, folder)]
    for entry in includes:
        command += ["-I", os.path.join(here, entry)]
    told = subprocess.run(command, input=f"#include {written}\n", capture_output=True, text=True, cwd=os.sep)
    first = next((line for line in told.stderr.splitlines() if line.startswith(". ")), None)
    if first is None:
        return None
    found = os.path.realpath(first[2:])
    return os.path.relpath(found, here) if found.startswith(here + os.sep) else None
