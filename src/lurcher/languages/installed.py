"""Which grammars an index was made with, and whether there are newer ones now: files of their languages are read again then.

The manifest keeps of each language the package of its grammar, its version, and size and time of the package's first file. Each
time an index is opened, one `stat` of that file tells that nothing has changed, without loading anything. What a newer grammar
made is never replaced by what an older one, or none, would make: programs with different grammars may use one index.

What is installed is read once per process, as grammars are loaded once per process.
"""

from __future__ import annotations

import os
import sys

from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

NONE = ""
"""The version of a grammar that is not installed, or cannot be loaded."""
UNKNOWN = "0"


class Used(NamedTuple):
    """A grammar as it was when files were read."""

    module: str
    version: str
    size: int
    mtime_ns: int


@cache
def installed(module: str) -> tuple[str, int, int] | None:
    """The folder that a grammar's package lies in, and size and time of its first file; None where there is none."""
    for folder in sys.path:
        try:
            status = os.stat(f"{folder or '.'}/{module}/__init__.py")
        except (OSError, ValueError):
            continue
        return folder or ".", status.st_size, status.st_mtime_ns
    return None


def used(language: str) -> Used | None:
    """The grammar that reads files of a language in this process; None where there is none for it at all."""
    from lurcher.languages.detect import LANGUAGES
    from lurcher.languages.grammar import grammar_of

    known = LANGUAGES.get(language)
    if known is None or known.grammar is None:
        return None
    module = known.grammar[0]
    place = installed(module)
    loaded = grammar_of(language) is not None
    version = (_version(place[0], module) if place is not None else UNKNOWN) if loaded else NONE
    return Used(module, version, *(place[1:] if place is not None else (0, 0)))


def outdated(known: Mapping[str, Used]) -> tuple[str, ...]:
    """The languages whose grammar is newer than the one that an index was made with, or was not there then."""
    return tuple(language for language, grammar in known.items() if _is_older(grammar))


def _is_older(grammar: Used) -> bool:
    place = installed(grammar.module)
    if place is None or place[1:] == (grammar.size, grammar.mtime_ns):
        return False
    return grammar.version == NONE or _key(_version(place[0], grammar.module)) > _key(grammar.version)


@cache
def _version(folder: str, module: str) -> str:
    """By the name of the folder that the installer leaves beside a package; reading what is in it would take 20 ms."""
    try:
        names = os.listdir(folder)
    except OSError:
        return UNKNOWN
    found = [name[len(module) + 1 : -len(".dist-info")] for name in names if _is_about(name, module)]
    return max(found, key=_key, default=UNKNOWN)


def _is_about(name: str, module: str) -> bool:
    return name.startswith(f"{module}-") and name.endswith(".dist-info")


def _key(version: str) -> tuple[int, ...]:
    """Versions in their order, as far as numbers tell."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def merged(known: Mapping[str, Used], languages: Iterable[str]) -> dict[str, Used]:
    """What is known of an index to which files of some languages come: of two grammars the older counts."""
    found = dict(known)
    for language in languages:
        now = used(language)
        if now is not None and (language not in known or _key(now.version) < _key(known[language].version)):
            found[language] = now
    return dict(sorted(found.items()))


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
