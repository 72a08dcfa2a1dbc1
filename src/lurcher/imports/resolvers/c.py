"""C and C++: beside the file, then along include paths.

The paths are those of `compile_commands.json` where there is one. Else they are inferred: any folder under which the written
path exists may be one, the likelier if it lies above the file or bears a customary name.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from lurcher.imports.resolvers.proximity import NEAREST, shared
from lurcher.imports.resolvers.standard_headers import STANDARD
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.types import Import, Target

_CUSTOMARY = frozenset({"", "include", "includes", "inc", "src", "source", "sources", "lib", "headers", "public"})
_UNLIKELY = 0.7
"""Confidence in the only file that fits, where nothing says that its folder is an include path."""
_COMMANDS = ("compile_commands.json", "build/compile_commands.json")
_MOST_TIES = 4
_MOST_CANDIDATES = 300
"""With more headers of one name, nearness says nothing."""


class CResolver:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._declared = _declared(tree)
        self._candidates: dict[str, list[str]] = {}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found)
        return answer

    def _resolve(self, path: str, folder: str, found: Import) -> tuple[Target, ...]:
        spec = found.spec
        if found.kind == "quote":
            place = joined(folder, spec)
            if place is not None and place in self._tree:
                return (Target(place, 1.0),)
        for root in self._declared:
            place = joined(root, spec)
            if place is not None and place in self._tree:
                return (Target(place, 1.0),)
        if found.kind == "angle" and spec in STANDARD:
            return ()
        return self._inferred(path, folder, spec)

    def _inferred(self, path: str, folder: str, spec: str) -> tuple[Target, ...]:
        while spec.startswith(("./", "../")):
            spec = spec.partition("/")[2]
        ranked = []
        for candidate in self._ending_in(spec):
            root = candidate[: -len(spec)].rstrip("/")
            above = not root or folder == root or folder.startswith(f"{root}/")
            likely = above or root.rpartition("/")[2] in _CUSTOMARY
            ranked.append(((not likely, not above, -shared(path, candidate), candidate.count("/")), candidate))
        if not ranked:
            return ()
        best = min(place for place, _ in ranked)
        ties = sorted(candidate for place, candidate in ranked if place == best)
        sure = 1.0 if not best[0] else _UNLIKELY
        if len(ranked) > 1:
            sure *= NEAREST
        return tuple(Target(tie, sure / len(ties)) for tie in ties[:_MOST_TIES])

    def _ending_in(self, spec: str) -> list[str]:
        found = self._candidates.get(spec)
        if found is None:
            ending = f"/{spec}"
            named = self._tree.by_name.get(spec[spec.rfind("/") + 1 :], ())
            found = self._candidates[spec] = [path for path in named if path == spec or path.endswith(ending)]
            if len(found) > _MOST_CANDIDATES:
                found.clear()
        return found


def _declared(tree: Tree) -> list[str]:
    """Include paths of a compilation database, in order of appearance; its absolute paths are matched by the files it names."""
    for name in _COMMANDS:
        text = tree.text(name)
        try:
            entries = json.loads(text) if text is not None else None
        except (ValueError, RecursionError):
            entries = None
        if isinstance(entries, list):
            return list(dict.fromkeys(root for entry in entries if isinstance(entry, dict) for root in _roots(tree, entry)))
    return []


def _roots(tree: Tree, entry: dict[str, Any]) -> list[str]:
    file, directory = entry.get("file"), entry.get("directory")
    if not isinstance(file, str) or not isinstance(directory, str):
        return []
    file = file if file.startswith("/") else f"{directory}/{file}"
    inside = file.lstrip("/")
    while inside and inside not in tree:
        inside = inside.partition("/")[2]
    if not inside:
        return []
    root = file[: -len(inside)].rstrip("/")
    arguments = entry.get("arguments")
    if not isinstance(arguments, list):
        try:
            arguments = shlex.split(str(entry.get("command", "")))
        except ValueError:
            return []
    found = []
    words = [word for word in arguments if isinstance(word, str)]
    for at, word in enumerate(words):
        flag = next((flag for flag in ("-I", "-isystem", "-iquote") if word.startswith(flag)), None)
        if flag is None:
            continue
        folder = word[len(flag) :] or (words[at + 1] if at + 1 < len(words) else "")
        folder = folder if folder.startswith("/") else f"{directory}/{folder}"
        if folder == root or folder.startswith(f"{root}/"):
            place = joined("", folder[len(root) :].strip("/") or ".")
            if place is not None:
                found.append(place)
    return found


def make(tree: Tree) -> CResolver:
    return CResolver(tree)
