"""C#: `using A.B` means every file that declares something in the namespace; with a type, the files that declare that type."""

from __future__ import annotations

from lurcher.imports.resolvers.proximity import nearest, split
from lurcher.imports.resolvers.tree import Tree, folder_of
from lurcher.imports.types import PACKAGE, Import, Target


class CsharpResolver:
    def __init__(self, tree: Tree) -> None:
        files: dict[str, dict[str, None]] = {}
        types: dict[str, dict[str, None]] = {}
        for path in sorted(tree.paths_of("csharp")):
            for found in tree.imports[path]:
                if found.kind == PACKAGE and found.names:
                    files.setdefault(found.spec, {})[path] = None
                    for name in found.names:
                        types.setdefault(f"{found.spec}.{name}", {})[path] = None
        self._namespaces = {name: split(list(paths)) for name, paths in files.items()}
        self._types = {name: list(paths) for name, paths in types.items()}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "using":
            return self._namespaces.get(found.spec, ())
        key = (folder_of(path), found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._type(path, found.spec)
        return answer

    def _type(self, path: str, spec: str) -> tuple[Target, ...]:
        """A type, perhaps inside of another; an alias may also stand for a namespace."""
        name = spec
        while name:
            if name in self._types:
                return nearest(path, self._types[name])
            if name in self._namespaces:
                return self._namespaces[name] if name == spec else ()
            name = name.rpartition(".")[0]
        return ()


def make(tree: Tree) -> CsharpResolver:
    return CsharpResolver(tree)
