"""`tsconfig.json` and `jsconfig.json`: which places `paths` and `baseUrl` give a bare import."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lurcher.imports.resolvers.tree import Tree, at, folder_of, joined, strings

_NAMES = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
_MOST_EXTENDED = 20


@dataclass(slots=True)
class _Options:
    """Where a configuration sends imports, already relative to the tree."""

    base: str | None = None
    paths: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """What stands before and after the star, and the patterns to put it into; longest prefix first."""
    exact: dict[str, list[str]] = field(default_factory=dict)

    def empty(self) -> bool:
        return self.base is None and not self.paths and not self.exact


class Configurations:
    """The configuration that counts for a folder is the nearest one above it that sends imports anywhere."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, _Options] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in tree.configurations(*_NAMES):
            self._by_folder.setdefault(folder_of(path), []).append(path)
        self._nearest: dict[str, _Options] = {}

    def places(self, folder: str, spec: str) -> list[str]:
        """Paths without suffix at which `spec` may lie, in order of preference."""
        if not self._by_folder:
            return []
        options = self._for(folder)
        patterns = options.exact.get(spec)
        star = ""
        if patterns is None:
            for before, after, candidates in options.paths:
                if len(spec) >= len(before) + len(after) and spec.startswith(before) and spec.endswith(after):
                    star = spec[len(before) : len(spec) - len(after)]
                    patterns = candidates
                    break
        found = [place for pattern in patterns or () if (place := joined("", pattern.replace("*", star, 1))) is not None]
        if options.base is not None and (place := joined(options.base, spec)) is not None:
            found.append(place)
        return found

    def _for(self, folder: str) -> _Options:
        passed = []
        options = _Options()
        while folder not in self._nearest:
            passed.append(folder)
            options = next(
                (found for path in self._by_folder.get(folder, ()) if not (found := self._read(path)).empty()), options
            )
            if not folder or not options.empty():
                break
            folder = folder_of(folder)
        else:
            options = self._nearest[folder]
        self._nearest.update(dict.fromkeys(passed, options))
        return options

    def _read(self, path: str) -> _Options:
        """The options of one file with what it extends; a solution that only refers to others takes theirs."""
        known = self._known.get(path)
        if known is not None:
            return known
        options = self._merged(path, set())
        if options.empty():
            references = self._tree.json(path).get("references")
            for entry in references if isinstance(references, list) else ():
                for target in strings(at(entry, "path")):
                    place = joined(folder_of(path), target)
                    if place is not None and place.endswith(".json") and options.empty():
                        options = self._merged(place, set())
        self._known[path] = options
        return options

    def _merged(self, path: str, seen: set[str]) -> _Options:
        """Own options over those that are extended; each file counts once, so that circles end."""
        settings = self._tree.json(path)
        folder = folder_of(path)
        options = _Options()
        seen.add(path)
        for parent in strings(settings.get("extends")):
            place = self._extended(folder, parent)
            if place is not None and place not in seen and len(seen) < _MOST_EXTENDED:
                inherited = self._merged(place, seen)
                if inherited.base is not None:
                    options.base = inherited.base
                if inherited.paths or inherited.exact:
                    options.paths, options.exact = inherited.paths, inherited.exact
        base = at(settings, "compilerOptions", "baseUrl")
        if isinstance(base, str):
            options.base = joined(folder, base)
        paths = at(settings, "compilerOptions", "paths")
        if isinstance(paths, dict):
            options.paths, options.exact = _patterns(paths, folder if options.base is None else options.base)
        return options

    def _extended(self, folder: str, parent: str) -> str | None:
        if not parent.startswith("."):
            return None
        place = joined(folder, parent)
        if place is None:
            return None
        places = (place, f"{place}.json", f"{place}/tsconfig.json")
        return next((path for path in places if self._tree.text(path) is not None), None)


def _patterns(paths: dict[str, Any], base: str) -> tuple[list[tuple[str, str, list[str]]], dict[str, list[str]]]:
    starred: list[tuple[str, str, list[str]]] = []
    exact: dict[str, list[str]] = {}
    for pattern, candidates in paths.items():
        targets = [target for entry in strings(candidates) if (target := joined(base, entry)) is not None]
        before, star, after = pattern.partition("*")
        if star:
            starred.append((before, after, targets))
        else:
            exact[pattern] = targets
    starred.sort(key=lambda entry: (-len(entry[0]), entry))
    return starred, exact
