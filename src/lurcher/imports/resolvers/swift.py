"""Swift: a module is a target, `Sources/<Target>` unless `Package.swift` says otherwise; an import means all its files."""

from __future__ import annotations

from lurcher.imports.languages.swift import targets
from lurcher.imports.resolvers.proximity import nearest, split
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.types import Import, Target

_SOURCES = ("Sources", "Source", "src", "srcs", "Tests", "Plugins")


class SwiftResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = [path for path in sorted(tree.paths_of("swift")) if not path.endswith("Package.swift")]
        self._folders = {folder for path in self._files for folder in _above(path)}
        self._homes: dict[str, list[str]] = {}
        """Module to the folders of its files."""
        for path in tree.configurations("Package.swift"):
            home = folder_of(path)
            for name, declared in targets((tree.text(path) or "").encode("utf-8", "replace")):
                places = [declared] if declared is not None else [f"{source}/{name}" for source in _SOURCES]
                found = [place for entry in places if (place := joined(home, entry)) in self._folders and place is not None]
                self._homes.setdefault(name, []).extend(found[:1])
        if not self._homes:
            for folder in sorted(self._folders):
                name = folder.rpartition("/")[2]
                if name and not any(folder.startswith(f"{known}/") for known in self._homes.get(name, ())):
                    self._homes.setdefault(name, []).append(folder)
        self._members: dict[str, tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        homes = self._homes.get(found.spec)
        if not homes:
            return ()
        home = homes[0] if len(homes) == 1 else nearest(path, [f"{entry}/_" for entry in homes])[0].path[:-2]
        members = self._members.get(home)
        if members is None:
            inside = f"{home}/" if home else ""
            members = self._members[home] = split([file for file in self._files if file.startswith(inside)])
        return members


def _above(path: str) -> list[str]:
    folders = [""]
    while path := folder_of(path):
        folders.append(path)
    return folders


def make(tree: Tree) -> SwiftResolver:
    return SwiftResolver(tree)
