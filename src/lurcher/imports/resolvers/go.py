"""Go: an import names a package, which is a folder under a module; it means each file of the folder that is not a test."""

from __future__ import annotations

from lurcher.imports.resolvers.proximity import split
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.types import Import, Target


class GoResolver:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._modules: dict[str, list[str]] = {}
        """Path of a module to its folders; several only where a tree has copies."""
        for path in tree.configurations("go.mod"):
            self._read(path)
        self._vendors = sorted(folder for folder in tree.folders if folder == "vendor" or folder.endswith("/vendor"))
        self._packages: dict[str, tuple[Target, ...]] = {}
        self._answers: dict[tuple[str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        home = folder_of(path)
        key = (home if found.spec.startswith(".") else "", found.spec)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(home, found.spec)
        return answer

    def _resolve(self, home: str, spec: str) -> tuple[Target, ...]:
        if spec.startswith("."):
            folder = joined(home, spec)
            return self._package(folder) if folder is not None else ()
        prefix = spec
        while prefix:
            for module in self._modules.get(prefix, ()):
                inside = spec[len(prefix) + 1 :]
                package = self._package(f"{module}/{inside}".strip("/") if inside else module)
                if package:
                    return package
            prefix = prefix.rpartition("/")[0]
        for vendor in self._vendors:
            package = self._package(f"{vendor}/{spec}")
            if package:
                return package
        return ()

    def _package(self, folder: str) -> tuple[Target, ...]:
        package = self._packages.get(folder)
        if package is None:
            names = self._tree.folders.get(folder, ())
            members = [name for name in names if name.endswith(".go") and not name.endswith("_test.go")]
            package = self._packages[folder] = split([f"{folder}/{name}" if folder else name for name in members])
        return package

    def _read(self, path: str) -> None:
        """Module path and local replacements out of a `go.mod`."""
        folder = folder_of(path)
        block = ""
        for line in (self._tree.text(path) or "").splitlines():
            words = line.partition("//")[0].split()
            if not words:
                continue
            if words[0] == ")":
                block = ""
                continue
            if len(words) == 2 and words[1] == "(":
                block = words[0]
                continue
            verb, given = (block, words) if block else (words[0], words[1:])
            if verb == "module" and given:
                self._modules.setdefault(given[0].strip('"`'), []).append(folder)
            elif verb == "replace" and "=>" in given:
                arrow = given.index("=>")
                target = given[arrow + 1].strip('"`') if len(given) > arrow + 1 else ""
                place = joined(folder, target) if target.startswith(".") else None
                if place is not None and arrow:
                    self._modules.setdefault(given[0].strip('"`'), []).append(place)


def make(tree: Tree) -> GoResolver:
    return GoResolver(tree)
