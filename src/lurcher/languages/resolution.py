"""What resolvers are made of: the tree as they see it, and the choice of the nearest of several files.

Everything is read through the function that a caller passes in: nothing here opens a file.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from lurcher.languages.parsed_file import Import
from lurcher.runtime.stdlib import NamedTuple, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import configparser
    from typing import Any

Read = Callable[[str], "str | None"]
"""The text of a configuration file by its path in the tree; None if there is none."""
File = tuple[str, str, tuple[Import, ...]]
"""Path with slashes relative to the root, language, imports."""

_LARGEST = 4_000_000
"""Characters of a configuration file beyond which it is not one."""


class Target(NamedTuple):
    """A file that an import leads to."""

    path: str
    confidence: float
    """1 where the ecosystem's rules leave no choice; less where files share it or nearness had to decide."""
    names: tuple[str, ...] | None = None
    """Those of the import's names that lead here; None where all do."""


class Tree:
    """All files of a tree. Nothing in it raises: a configuration that cannot be read is an empty one."""

    def __init__(self, files: Iterable[File], read: Read) -> None:
        self.files: list[File] = list(files)
        self.imports: Mapping[str, tuple[Import, ...]] = {path: imports for path, _, imports in self.files}
        self._read = read

    def __contains__(self, path: str) -> bool:
        return path in self.imports

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """File name to the paths that have it, in order."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.imports):
            found.setdefault(path[path.rfind("/") + 1 :], []).append(path)
        return found

    @cached_property
    def folders(self) -> Mapping[str, Sequence[str]]:
        """Folder to the names of the files in it, in order; every folder on the way to a file is there."""
        found: dict[str, list[str]] = {"": []}
        for path in sorted(self.imports):
            folder, _, name = path.rpartition("/")
            if folder not in found:
                above = folder
                while above not in found:
                    found[above] = []
                    above = folder_of(above)
            found[folder].append(name)
        return found

    def paths_of(self, *languages: str) -> list[str]:
        return [path for path, language, _ in self.files if language in languages]

    def folders_called(self, name: str) -> list[str]:
        """The folders of a name, in order."""
        return sorted(folder for folder in self.folders if folder == name or folder.endswith(f"/{name}"))

    def files_called(self, *names: str) -> list[str]:
        """The files of these names."""
        return [path for name in names for path in self.by_name.get(name, ())]

    def configurations(self, *names: str) -> list[str]:
        """Paths of configuration files by name, the outermost first. One at the root counts even if it is not listed."""
        found = self.files_called(*names)
        found += [name for name in names if name not in self.imports and self.text(name) is not None]
        return sorted(found, key=lambda path: (path.count("/"), path))

    def text(self, path: str) -> str | None:
        try:
            text = self._read(path)
        except (OSError, ValueError):
            return None
        return None if text is None or len(text) > _LARGEST else text

    def json(self, path: str) -> dict[str, Any]:
        """An object out of a JSON file, which may have comments and trailing commas; empty if it is not one."""
        text = self.text(path)
        if text is None:
            return {}
        try:
            found = loads(text)
        except (ValueError, RecursionError):
            try:
                found = loads(plain_json(text))
            except (ValueError, RecursionError):
                return {}
        return found if isinstance(found, dict) else {}

    def toml(self, path: str) -> dict[str, Any]:
        text = self.text(path)
        if text is None:
            return {}
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        try:
            found: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError):
            return {}
        return found

    def ini(self, path: str) -> configparser.RawConfigParser:
        import configparser

        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(self.text(path) or "")
        except (configparser.Error, ValueError):
            return configparser.RawConfigParser()
        return parser


def plain_json(text: str) -> str:
    """JSON without the comments and trailing commas that `tsconfig.json` may have."""
    out: list[str] = []
    at, size = 0, len(text)
    while at < size:
        mark = text[at]
        if mark == '"':
            end = at + 1
            while end < size and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = size if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = size if end < 0 else end + 2
        else:
            if mark in "}]":
                while out and out[-1].isspace():
                    out.pop()
                if out and out[-1] == ",":
                    out.pop()
            out.append(mark)
            at += 1
    return "".join(out).lstrip("\ufeff")


def folder_of(path: str) -> str:
    return path[: path.rfind("/")] if "/" in path else ""


def joined(folder: str, path: str) -> str | None:
    """`path` seen from `folder`, without dots; None outside of the tree."""
    if path.startswith("/"):
        return None
    found = posixpath.normpath(f"{folder}/{path}" if folder else path)
    if found.startswith(".."):
        return None
    return "" if found == "." else found


def at(value: Any, *keys: str) -> Any:
    """A value inside nested objects; None if a key is missing on the way."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def strings(value: Any) -> list[str]:
    """The strings of a list that a configuration file may or may not have as it should."""
    if isinstance(value, str):
        return [value]
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


NEAREST = 0.8
"""Confidence in the one that is nearer than all others."""
_MOST_TIES = 8
_MOST_CANDIDATES = 300
"""With more files of one name, distance is not used."""


def shared(first: str, second: str) -> int:
    """How many folders two paths have in common, from the root."""
    count = 0
    for one, other in zip(first.split("/")[:-1], second.split("/")[:-1], strict=False):
        if one != other:
            break
        count += 1
    return count


def nearest(path: str, candidates: Sequence[str], sure: float = 1.0) -> tuple[Target, ...]:
    """The candidate nearest to `path`; several that are equally near share the confidence.

    Near is what has most folders in common, and of those what is fewest folders away.
    """
    if len(candidates) <= 1:
        return tuple(Target(candidate, sure) for candidate in candidates)
    if len(candidates) > _MOST_CANDIDATES:
        return ()
    places = {candidate: (-shared(path, candidate), candidate.count("/")) for candidate in candidates}
    best = min(places.values())
    ties = sorted(candidate for candidate, place in places.items() if place == best)
    if len(ties) == 1:
        return (Target(ties[0], sure * NEAREST),)
    return tuple(Target(tie, sure / len(ties)) for tie in ties[:_MOST_TIES])


def split(members: Sequence[str]) -> tuple[Target, ...]:
    """All files of a package: the import means the whole, of which each file is a part."""
    share = 1.0 / len(members) if members else 1.0
    return tuple(Target(member, share) for member in members)
