"""Ruby: `require_relative` from the file, `require` along load paths: `lib`, the folders of `app`, tests, the root."""

from __future__ import annotations

from lurcher.imports.resolvers.proximity import nearest
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.types import Import, Target

_LOADED = frozenset({"lib", "test", "tests", "spec", "ext", "app"})
"""Folders that tools put on the load path."""


class RubyResolver:
    def __init__(self, tree: Tree) -> None:
        self._paths = frozenset(tree.paths_of("ruby"))
        self._roots = sorted(folder for folder in tree.folders if _is_root(folder))
        self._by_name: dict[str, list[str]] = {}
        """Path below a load path to the files that have it."""
        roots = set(self._roots)
        for path in sorted(self._paths):
            above = folder_of(path)
            while True:
                if above in roots:
                    self._by_name.setdefault(path[len(above) + 1 :] if above else path, []).append(path)
                if not above:
                    break
                above = folder_of(above)
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found.spec, found.kind)
        return answer

    def _resolve(self, path: str, folder: str, spec: str, kind: str) -> tuple[Target, ...]:
        if kind == "relative" or spec.startswith(("./", "../")):
            return self._exactly(joined(folder, spec))
        if kind == "load" and (answer := self._exactly(joined("", spec))):
            return answer
        name = joined("", spec)
        if not name:
            return ()
        return nearest(path, self._by_name.get(f"{name}.rb") or self._by_name.get(name) or ())

    def _exactly(self, place: str | None) -> tuple[Target, ...]:
        if place is None:
            return ()
        found = next((path for path in (f"{place}.rb", place) if path in self._paths), None)
        return (Target(found, 1.0),) if found is not None else ()


def _is_root(folder: str) -> bool:
    """`a/lib`, `a/app/models`, and the root itself."""
    above, _, name = folder.rpartition("/")
    return not folder or name in _LOADED or above == "app" or above.endswith("/app")


def make(tree: Tree) -> RubyResolver:
    return RubyResolver(tree)
