"""What lurcher knows of each language: one file per language or family, and the modules that all of them share.

A language file (`python`, `ecmascript`, `c` …) ends in `LANGUAGES`: file names, grammar, definitions, imports, resolution.
`base` says what such a file fills in, `detect` finds the language of a file, `grammar` loads and runs its grammar,
`definitions` and `imports` read syntax trees, `resolution` and `graph` find out which file an import leads to.

This module knows which grammars an index was made with, and whether there are newer ones now: files of their languages are
read again then.

The manifest keeps of each language the package of its grammar, its version, and size and time of the package's first file. Each
time an index is opened, one `stat` of that file shows that nothing has changed, without loading anything. What a newer grammar
made is never replaced by what an older one, or none, would make: programs with different grammars may use one index.

What is installed is read once per process, as grammars are loaded once per process.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


NONE = ""
"""The version of a grammar that is not installed, or cannot be loaded."""
UNKNOWN = "0"


class Used(Record):
    """A grammar as it was when files were read."""

    __slots__ = ("module", "version", "size", "mtime_ns")

    def __init__(self, module: str, version: str, size: int, mtime_ns: int) -> None:
        self.module, self.version, self.size, self.mtime_ns = module, version, size, mtime_ns

    def to_list(self) -> list[str | int]:
        return [self.module, self.version, self.size, self.mtime_ns]


@cache
def installed(module: str) -> tuple[str, int, int] | None:
    """The folder of a grammar's package, and size and time of its first file; None if there is none."""
    for folder in sys.path:
        try:
            status = os.stat(f"{folder or '.'}/{module}/__init__.py")
        except (OSError, ValueError):
            continue
        return folder or ".", status.st_size, status.st_mtime_ns
    return None


def load_capsule(module: str, function: str) -> object:
    """A grammar's tables, as tree-sitter and the kernel take them; older packages return their bare address."""
    from importlib import import_module

    found: object = getattr(import_module(module), function)()
    if isinstance(found, int):
        import ctypes

        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        found = make(found, b"tree_sitter.Language", None)
    return found


def outdated(known: Mapping[str, Used]) -> tuple[str, ...]:
    """The languages whose grammar is newer than the one that an index was made with, or was not there then."""
    return tuple(language for language, grammar in known.items() if _is_older(grammar))


def _is_older(grammar: Used) -> bool:
    place = installed(grammar.module)
    if place is None or place[1:] == (grammar.size, grammar.mtime_ns):
        return False
    return grammar.version == NONE or version_key(version_of(place[0], grammar.module)) > version_key(grammar.version)


@cache
def version_of(folder: str, module: str) -> str:
    """By the name of the folder that the installer leaves beside a package; reading what is in it would take 20 ms."""
    try:
        names = os.listdir(folder)
    except OSError:
        return UNKNOWN
    found = [name[len(module) + 1 : -len(".dist-info")] for name in names if _is_about(name, module)]
    return max(found, key=version_key, default=UNKNOWN)


def _is_about(name: str, module: str) -> bool:
    return name.startswith(f"{module}-") and name.endswith(".dist-info")


def version_key(version: str) -> tuple[int, ...]:
    """A sort key for versions, by their numbers."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def checked(found: Any) -> dict[str, Used]:
    """What a manifest says of grammars."""
    grammars: dict[str, Used] = {}
    for language, entry in dict(found).items():
        module, version, size, mtime_ns = entry
        if not all(type(text) is str for text in (language, module, version)) or not module.isidentifier():
            raise ValueError("it names what is no grammar")
        if type(size) is not int or type(mtime_ns) is not int:
            raise ValueError("a grammar has a stamp that is none")
        grammars[language] = Used(module, version, size, mtime_ns)
    return grammars
