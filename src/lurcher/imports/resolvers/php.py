"""PHP: classes by the PSR-4 and PSR-0 maps of `composer.json`, else by what files declare; includes from the file's folder."""

from __future__ import annotations

from lurcher.imports.resolvers.proximity import nearest
from lurcher.imports.resolvers.tree import Tree, at, folder_of, joined, strings
from lurcher.imports.types import PACKAGE, Import, Target


class PhpResolver:
    def __init__(self, tree: Tree) -> None:
        self._paths = frozenset(tree.paths_of("php"))
        self._names: dict[str, list[str]] = {}
        """Full name to the files that declare it."""
        for path in sorted(self._paths):
            for found in tree.imports[path]:
                if found.kind == PACKAGE:
                    for name in found.names:
                        self._names.setdefault(f"{found.spec}\\{name}".lstrip("\\").lower(), []).append(path)
        self._prefixes: list[tuple[str, str, bool]] = []
        """Prefix of names, folder, and whether the prefix is part of the path (PSR-0); longest prefix first."""
        for path in tree.configurations("composer.json"):
            self._read(tree, path)
        self._prefixes.sort(key=lambda entry: (-len(entry[0]), entry))
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found.spec, found.kind)
        return answer

    def _resolve(self, path: str, folder: str, spec: str, kind: str) -> tuple[Target, ...]:
        if kind in ("include", "here"):
            relative = spec.lstrip("/") if kind == "here" else spec
            places = [joined(folder, relative), joined("", relative)] if kind == "include" else [joined(folder, relative)]
            return next(((Target(place, 1.0),) for place in places if place in self._paths), ())
        if kind == "use":
            for prefix, root, keep in self._prefixes:
                if spec.startswith(prefix):
                    name = (spec if keep else spec[len(prefix) :]).replace("\\", "/")
                    place = joined(root, f"{name}.php")
                    if place in self._paths and place is not None:
                        return (Target(place, 1.0),)
        return nearest(path, self._names.get(spec.lower(), ()))

    def _read(self, tree: Tree, path: str) -> None:
        settings = tree.json(path)
        home = folder_of(path)
        for section in ("autoload", "autoload-dev"):
            for standard in ("psr-4", "psr-0"):
                prefixes = at(settings, section, standard)
                for prefix, folders in prefixes.items() if isinstance(prefixes, dict) else ():
                    for folder in strings(folders):
                        place = joined(home, folder)
                        if place is not None:
                            self._prefixes.append((prefix, place, standard == "psr-0"))


def make(tree: Tree) -> PhpResolver:
    return PhpResolver(tree)
