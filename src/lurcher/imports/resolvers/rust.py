"""Rust: modules as files, crates of the tree by name.

A path leads to the file of the deepest module on it; what is left of the path is an item in there. Modules are found by
where their files lie, as the compiler does, and need not be declared where we can see it: macros often hide that.
"""

from __future__ import annotations

from lurcher.imports.resolvers.cargo import Crate, crates
from lurcher.imports.resolvers.proximity import nearest
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.types import Import, Target

_ROOTS = frozenset({"lib.rs", "main.rs", "build.rs"})
_TARGETS = frozenset({"tests", "benches", "examples", "bin"})
"""Folders each of whose files is the root of a crate."""
_DEEPEST = 64


class RustResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = frozenset(tree.paths_of("rust"))
        self._crates = crates(tree)
        self._by_name: dict[str, list[str]] = {}
        for crate in self._crates.values():
            if crate.library is not None:
                self._by_name.setdefault(crate.name, []).append(crate.library)
        self._out_of_place: frozenset[str] = frozenset()
        """Files that an attribute makes modules."""
        self._declared_roots = frozenset(root for crate in self._crates.values() for root in crate.roots)
        self._placed: dict[tuple[str, str], str] = {}
        """Declaring file and name of a module to its file, where an attribute places it."""
        self._parents: dict[str, str] = {}
        """Module to the file that declares it."""
        declared = [
            (path, found) for path in sorted(self._files) for found in tree.imports[path] if found.kind.startswith("mod")
        ]
        for path, found in declared:
            if found.kind == "mod-path" and (target := self._by_attribute(path, found.spec)) is not None:
                self._placed[path, found.names[0]] = target
                self._parents.setdefault(target, path)
        self._out_of_place = frozenset(self._parents)
        for path, found in declared:
            if found.kind == "mod" and (target := self._module(f"{self._folder(path)}/{found.spec}".lstrip("/"))) is not None:
                self._parents.setdefault(target, path)
        self._crate_of: dict[str, Crate | None] = {}
        self._root_of: dict[str, str] = {}
        self._children: dict[tuple[str, str], str | None] = {}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        key = (path, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, found)
        return answer

    def _resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "mod":
            return _exactly(self._module(f"{self._folder(path)}/{found.spec}".lstrip("/")))
        if found.kind == "mod-path":
            return _exactly(self._by_attribute(path, found.spec))
        if found.kind == "crate":
            return self._crate(path, found.spec)
        return self._path(path, found.spec.split("::"))

    def _path(self, path: str, parts: list[str]) -> tuple[Target, ...]:
        first, rest = parts[0], parts[1:]
        if first == "crate":
            return _exactly(self._deepest(self._root(path), rest))
        if first in ("self", "super"):
            base: str | None = path
            rest = parts[1:] if first == "self" else parts
            while base is not None and rest and rest[0] == "super":
                base, rest = self._parent(base), rest[1:]
            return _exactly(self._deepest(base, rest)) if base is not None else ()
        if first == "":
            named = self._crate(path, rest[0]) if rest else ()
            return tuple(Target(self._deepest(file, rest[1:]), sure) for file, sure, _ in named)
        child = self._child(path, first)
        if child is not None:
            return _exactly(self._deepest(child, rest))
        named = self._crate(path, first)
        if named:
            return tuple(Target(self._deepest(file, rest), sure) for file, sure, _ in named)
        own = self._own_crate(path)
        if own is not None and own.old_paths and (child := self._child(self._root(path), first)) is not None:
            return _exactly(self._deepest(child, rest))
        return ()

    def _deepest(self, file: str, parts: list[str]) -> str:
        for part in parts:
            child = self._child(file, part)
            if child is None:
                break
            file = child
        return file

    def _crate(self, path: str, name: str) -> tuple[Target, ...]:
        """Root of a library by the name that the importing crate has for it."""
        own = self._own_crate(path)
        if own is not None:
            name = own.renamed.get(name, name)
            if own.name == name and own.library is not None:
                return _exactly(own.library)
        return nearest(path, self._by_name.get(name, ()))

    def _own_crate(self, path: str) -> Crate | None:
        folder = folder_of(path)
        if folder not in self._crate_of:
            above = folder
            while above and above not in self._crates:
                above = folder_of(above)
            self._crate_of[folder] = self._crates.get(above)
        return self._crate_of[folder]

    def _child(self, file: str, name: str) -> str | None:
        key = (file, name)
        if key not in self._children:
            self._children[key] = self._placed.get(key) or self._module(f"{self._folder(file)}/{name}".lstrip("/"))
        return self._children[key]

    def _module(self, place: str) -> str | None:
        return next((path for path in (f"{place}.rs", f"{place}/mod.rs") if path in self._files), None)

    def _by_attribute(self, path: str, spec: str) -> str | None:
        """`#[path]` counts from the file's folder, inside of an inline module from the folder of that."""
        for folder in (folder_of(path), self._folder(path)):
            place = joined(folder, spec)
            if place is not None and place in self._files:
                return place
        return None

    def _folder(self, file: str) -> str:
        """Where a file's modules lie."""
        folder = folder_of(file)
        name = file[len(folder) + 1 :] if folder else file
        if name == "mod.rs" or file in self._out_of_place or self._is_root(file, folder, name):
            return folder
        return f"{folder}/{name[:-3]}" if folder else name[:-3]

    def _is_root(self, file: str, folder: str, name: str) -> bool:
        return name in _ROOTS or file in self._declared_roots or folder.rpartition("/")[2] in _TARGETS

    def _parent(self, file: str) -> str | None:
        declared = self._parents.get(file)
        if declared is not None:
            return declared
        folder = folder_of(file)
        name = file[len(folder) + 1 :] if folder else file
        if self._is_root(file, folder, name):
            return None
        return self._owner(folder_of(folder) if name == "mod.rs" else folder)

    def _owner(self, folder: str) -> str | None:
        """The file whose modules lie in a folder."""
        above = f"{folder}/" if folder else ""
        own = (f"{above}mod.rs", f"{folder}.rs", f"{above}lib.rs", f"{above}main.rs")
        found = next((path for path in own if path in self._files), None)
        if found is None:
            found = next((root for root in sorted(self._declared_roots) if folder_of(root) == folder), None)
        return found

    def _root(self, file: str) -> str:
        """The root of the crate that a file is in."""
        root = self._root_of.get(file)
        if root is None:
            root, seen = file, {file}
            for _ in range(_DEEPEST):
                above = self._parent(root)
                if above is None or above in seen:
                    break
                root = above
                seen.add(root)
            self._root_of[file] = root
        return root


def _exactly(path: str | None) -> tuple[Target, ...]:
    return (Target(path, 1.0),) if path is not None else ()


def make(tree: Tree) -> RustResolver:
    return RustResolver(tree)
