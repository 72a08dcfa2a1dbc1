"""Installed dependencies as a source: which folder a library's name stands for, and the files in it.

A library is named as the code that uses it names it: `requests`, `@scope/name`, `github.com/owner/module`, `serde_json`.
`python:requests` says of which ecosystem, `name@1.2.3` which version.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from lurcher.errors import UsageError
from lurcher.sources.files import FilesSettings, Listing
from lurcher.sources.filter import Sieve, is_utf8

ECOSYSTEMS = ("python", "node", "go", "cargo")
MAX_FILES = 100_000
"""Files of one library that are looked at; what is beyond is counted."""
_LONGEST = 300
PREFIX = "lib:"


@dataclass(frozen=True, slots=True)
class Library:
    """One version of a library as it is installed."""

    ecosystem: str
    name: str
    version: str
    """Empty where nothing tells it."""
    root: Path
    files: tuple[str, ...] | None
    """What its metadata lists, relative to `root`; None: all that is below."""
    evidence: tuple[Path, ...]
    """Files that change when another version is installed or asked for; the first is the library's own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A library as somebody names it."""

    ecosystem: str
    name: str
    version: str

    @property
    def text(self) -> str:
        """The name, with the version if one was asked for."""
        return f"{self.name}@{self.version}" if self.version else self.name

    def means(self, other: Asked) -> bool:
        """Whether one that was kept as `other` is meant."""
        return self.text == other.text and self.ecosystem in ("", other.ecosystem)


def asked_for(text: str) -> Asked:
    """What `[ecosystem:]name[@version]` asks for; it may begin with `lib:`, as hits have it."""
    stripped = text.strip().removeprefix(PREFIX).rstrip("/")
    ecosystem, colon, name = stripped.partition(":")
    if not colon:
        ecosystem, name = "", stripped
    if ecosystem and ecosystem not in ECOSYSTEMS:
        raise UsageError(f"unknown ecosystem '{ecosystem}'", f"known are: {', '.join(ECOSYSTEMS)}")
    version = ""
    if "@" in name[1:]:  # a scope begins with one
        name, _, version = name.rpartition("@")
    parts = name.split("/")
    bad = any(part in ("", ".", "..") for part in parts) or not (name + version).isprintable() or "\\" in text
    if bad or len(stripped) > _LONGEST or "/" in version:
        raise UsageError(f"{text!r} names no library", "name it as code does, such as requests or @scope/name")
    return Asked(ecosystem, name, version)


def find(asked: Asked, root: Path) -> Library:
    """The library that the project at `root` means by a name."""
    found: list[Library] = []
    problems: list[UsageError] = []
    for ecosystem in (asked.ecosystem,) if asked.ecosystem else ECOSYSTEMS:
        look = import_module(f"lurcher.sources.packages.{ecosystem}").find
        try:
            library: Library | None = look(asked.name, asked.version, root)
        except UsageError as problem:
            problems.append(problem)
            continue
        if library is not None:
            found.append(library)
    if len(found) > 1:
        ways = " or ".join(f"{library.ecosystem}:{asked.text}" for library in found)
        raise UsageError(f"{asked.text} is a library of {' and of '.join(item.ecosystem for item in found)}", f"say {ways}")
    if found:
        return found[0]
    if problems:
        raise problems[0]
    where = f"for {asked.ecosystem}" if asked.ecosystem else f"for any of {', '.join(ECOSYSTEMS)}"
    raise UsageError(f"no library {asked.text} is installed {where}", "install it, or check how code names it")


def list_library(library: Library, settings: FilesSettings) -> Listing:
    """The files of a library that may be searched. What its metadata names outside of it, and links, are left out."""
    started = time.time_ns()
    # A package has nothing but what was meant to be shipped: `build` and `dist` are source here.
    sieve = Sieve(str(library.root), replace(settings, follow_symlinks=False, skip_untracked_folders=()), {})
    if library.files is None:
        for paths in _below(sieve):
            sieve.take(paths)
    else:
        safe = [path for path in dict.fromkeys(library.files) if _inside(path)]
        kept = safe[:MAX_FILES]
        for reason, count in (("unsafe-path", len(set(library.files)) - len(safe)), ("too-many", len(safe) - len(kept))):
            if count:
                sieve.skipped[reason] = count
        sieve.take(kept)
    for path in sieve.nested:  # metadata that names a folder
        sieve.count("special", path)
    return sieve.listing("walk", started, None)


def _inside(path: str) -> bool:
    """Whether a path leads to a place below the folder it is relative to."""
    return is_utf8(path) and "\0" not in path and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))


def _below(sieve: Sieve) -> Iterator[list[str]]:
    """The files of a folder and of those in it, folder by folder; links are not followed."""
    todo, seen = [""], 0
    while todo:
        folder = todo.pop()
        prefix = f"{folder}/" if folder else ""
        files = []
        try:
            with os.scandir(sieve.base + folder) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            sieve.count("unreadable", folder or ".")
            continue
        for name, is_folder in found:
            path = prefix + name
            if not is_utf8(path):
                sieve.count("undecodable-name", path)
            elif not is_folder:
                files.append(path)
            elif (reason := sieve.enter(path)) is None:
                todo.append(path)
            elif reason != "internal":
                sieve.count(reason, path)
        if seen + len(files) > MAX_FILES:
            sieve.count("too-many", folder)
            return
        seen += len(files)
        yield files

# -- metadata files of packages; a broken one counts as absent -----------------------------------------------------------


_MOST = 32_000_000
_VERSION = re.compile(r"[\w.+!~^-]{1,100}", re.ASCII)


def content_of(path: Path, most: int = _MOST) -> str:
    """The text of a file; nothing where there is none, or something else. A pipe in its place cannot hold us up."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as handle:
            return (handle.read(most) or b"").decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(content_of(path))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """A version, if it is one: it is shown to people and kept in an index."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else ""


def order_of(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Sorts versions such as 1.2.3 and v1.2.3-rc.1 by their numbers, releases after what came before them."""
    base = version.removeprefix("v").partition("+")[0]
    numbers, dash, before = base.partition("-")
    return tuple(int(part) if part.isdecimal() else 0 for part in numbers.split(".")[:8]), not dash, before
