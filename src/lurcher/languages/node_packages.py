"""What the ecosystem of npm says about imports.

`tsconfig.json` and `jsconfig.json`: which places `paths` and `baseUrl` give a bare import.

`package.json`: packages of the tree by name, their entry points, `exports` and `imports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lurcher.languages.resolution import Target, Tree, at, folder_of, joined, nearest, strings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
_MOST_EXTENDED = 20


class _Options:
    """Where a configuration sends imports, already relative to the tree."""

    def __init__(self) -> None:
        self.base: str | None = None
        self.paths: list[tuple[str, str, list[str]]] = []
        """What is before and after the star, and the patterns to insert it into; longest prefix first."""
        self.exact: dict[str, list[str]] = {}

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
        """Paths without suffix at which `spec` may be, in order of preference."""
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
        options = self._merge_options(path, set())
        if options.empty():
            references = self._tree.json(path).get("references")
            for entry in references if isinstance(references, list) else ():
                for target in strings(at(entry, "path")):
                    place = joined(folder_of(path), target)
                    if place is not None and place.endswith(".json") and options.empty():
                        options = self._merge_options(place, set())
        self._known[path] = options
        return options

    def _merge_options(self, path: str, seen: set[str]) -> _Options:
        """Own options over those that are extended; each file counts once, so that circles end."""
        settings = self._tree.json(path)
        folder = folder_of(path)
        options = _Options()
        seen.add(path)
        for parent in strings(settings.get("extends")):
            place = self._find_extended(folder, parent)
            if place is not None and place not in seen and len(seen) < _MOST_EXTENDED:
                inherited = self._merge_options(place, seen)
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

    def _find_extended(self, folder: str, parent: str) -> str | None:
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


_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_ENTRIES = ("source", "types", "typings", "module", "main", "browser")
_BUILT = ("dist", "lib", "build", "out", "esm", "cjs", "es", "types", "output")
"""Folders that hold what was compiled, and are not in the tree."""
_UNLISTED = 0.5
"""Confidence where a package has the name but nothing says that it is the one."""
_FROM_SOURCE = 0.9
"""Confidence where an entry point names a compiled file and its likely source was taken."""
_COMPILED = ("dist/", "build/", "out/")
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
_DEEPEST = 8


class Packages:
    def __init__(self, tree: Tree, file: Callable[[str], str | None]) -> None:
        self._file = file
        self._settings: dict[str, dict[str, Any]] = {}
        """Folder to its `package.json`."""
        self._by_name: dict[str, list[str]] = {}
        for path in tree.configurations("package.json"):
            settings = tree.json(path)
            folder = folder_of(path)
            self._settings[folder] = settings
            name = settings.get("name")
            if isinstance(name, str) and name:
                self._by_name.setdefault(name, []).append(folder)
        self._workspace = any("workspaces" in settings for settings in self._settings.values()) or bool(
            tree.configurations("pnpm-workspace.yaml", "lerna.json", "rush.json", "nx.json")
        )
        self._main: dict[str, str | None] = {}

    def resolve(self, folder: str, spec: str) -> tuple[Target, ...]:
        if spec.startswith("#"):
            return self._internal(folder, spec)
        parts = spec.split("/")
        name = "/".join(parts[:2] if spec.startswith("@") else parts[:1])
        inside = spec[len(name) + 1 :]
        found: dict[str, float] = {}
        for home in self._by_name.get(name, ()):
            entry = self._entry(home, inside)
            if entry is not None:
                found[entry[0]] = min(entry[1], self._rate_dependency(folder, home, name))
        if not found:
            return ()
        best = max(found.values())
        return nearest(f"{folder}/_", [path for path, sure in found.items() if sure == best], best)

    def main(self, folder: str) -> str | None:
        """What a folder's `package.json` names as its entry, for an import of the folder itself."""
        if folder not in self._settings:
            return None
        if folder not in self._main:
            self._main[folder] = None
            entry = self._named_entry(folder)
            self._main[folder] = entry[0] if entry is not None else None
        return self._main[folder]

    def _entry(self, home: str, inside: str) -> tuple[str, float] | None:
        """The file behind a package's name, or behind a path inside it."""
        exports = self._settings[home].get("exports")
        if exports is not None:
            entry = self._first(home, _list_exported(exports, f"./{inside}" if inside else "."))
            if entry is not None:
                return entry
        if inside:
            for place in (joined(home, inside), joined(home, f"src/{inside}")):
                if place is not None and (file := self._file(place)) is not None:
                    return file, 1.0 if exports is None else _FROM_SOURCE
            return None
        entry = self._named_entry(home)
        if entry is not None:
            return entry
        for index in ("index", "src/index", "lib/index"):
            place = joined(home, index)
            if place is not None and (file := self._file(place)) is not None:
                return file, 1.0 if index == "index" else _FROM_SOURCE
        return None

    def _named_entry(self, home: str) -> tuple[str, float] | None:
        values = (self._settings[home].get(key) for key in _ENTRIES)
        return self._first(home, [value for value in values if isinstance(value, str) and value.strip("./")])

    def _first(self, home: str, targets: list[str]) -> tuple[str, float] | None:
        """The first target that leads to a file; compiled ones only where no source is named, declarations last."""
        best: tuple[int, tuple[str, float]] | None = None
        for target in targets:
            entry = self._source(home, target)
            if entry is None:
                continue
            inside = entry[0][len(home) :].lstrip("/")
            rank = 2 if inside.endswith(_DECLARATIONS) else 1 if inside.startswith(_COMPILED) else 0
            if best is None or rank < best[0]:
                best = (rank, entry)
        return best[1] if best is not None else None

    def _source(self, home: str, target: str) -> tuple[str, float] | None:
        """The file that an entry names, or the source it is compiled from: `dist/a.js` of `src/a.ts`."""
        place = joined(home, target.removeprefix("./"))
        if place is None:
            return None
        if (file := self._file(place)) is not None:
            return file, 1.0
        parts = target.removeprefix("./").split("/")
        while len(parts) > 1 and parts[0] in _BUILT:
            parts.pop(0)
            rest = "/".join(parts)
            for suffix in (".d.ts", ".d.mts", ".d.cts", ".min.js"):
                rest = f"{rest.removesuffix(suffix)}.js" if rest.endswith(suffix) else rest
            for dot in (rest, rest.replace(".mjs", ".js").replace(".cjs", ".js")):
                for base in ("src/", ""):
                    place = joined(home, base + dot)
                    if place is not None and (file := self._file(place)) is not None:
                        return file, _FROM_SOURCE
        return None

    def _internal(self, folder: str, spec: str) -> tuple[Target, ...]:
        """`#name`, by the `imports` of the package around."""
        for home in self._around(folder):
            imports = self._settings[home].get("imports")
            if isinstance(imports, dict):
                entry = self._first(home, _list_exported(imports, spec))
                return (Target(*entry),) if entry is not None else ()
        return ()

    def _rate_dependency(self, folder: str, home: str, name: str) -> float:
        """Certain if the importer is inside the package, or a package around it depends on that, or shares its workspace."""
        if self._workspace or not home or folder == home or folder.startswith(f"{home}/"):
            return 1.0
        for around in self._around(folder):
            settings = self._settings[around]
            if any(at(settings, key, name) is not None for key in _DEPENDENCIES):
                return 1.0
        return _UNLISTED

    def _around(self, folder: str) -> Iterator[str]:
        """Folders with a `package.json` from `folder` up to the root."""
        while True:
            if folder in self._settings:
                yield folder
            if not folder:
                return
            folder = folder_of(folder)


def _list_exported(exports: Any, key: str) -> list[str]:
    """Targets of a key in `exports` or `imports`, over all conditions, in the order they are written."""
    if isinstance(exports, dict) and any(isinstance(name, str) and name.startswith((".", "#")) for name in exports):
        if key in exports:
            return _targets(exports[key], "")
        best: tuple[int, str, Any] | None = None
        for name, value in exports.items():
            before, star, after = name.partition("*")
            fits = star and len(key) >= len(before) + len(after) and key.startswith(before) and key.endswith(after)
            if fits and (best is None or len(before) > best[0]):
                best = (len(before), key[len(before) : len(key) - len(after)], value)
        return _targets(best[2], best[1]) if best is not None else []
    return _targets(exports, "") if key == "." else []


def _targets(value: Any, star: str, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value.replace("*", star)]
    if depth > _DEEPEST:
        return []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [target for part in parts for target in _targets(part, star, depth + 1)]
