"""Which commit HEAD stands for, read from files where that is possible: a query must not pay for a process to learn it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lurcher.sources.decode import read_regular
from lurcher.sources.git import command

_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_BYTES = 64 << 20
_REF = re.compile(rb"ref: (refs/[^\0\n]+)")
_DEPTH = 5


class Head(NamedTuple):
    """What decides which commits a history has."""

    sha: str
    """Empty for a repository without a commit."""
    shallow: str
    """Names the commits at which a shallow clone ends; empty for a whole one."""


NOWHERE = Head("", "")


def repository_at(top: Path) -> Repository | None:
    """The repository of a work tree, or a bare one."""
    found = repository(str(top))
    if found is None and (top / "HEAD").is_file() and (top / "objects").is_dir() and (top / "refs").is_dir():
        own = os.path.realpath(top)
        return Repository(own, own)
    return found


def head_of(top: Path) -> Head | None:
    """None where there is no repository, or where git does not tell."""
    found = repository_at(top)
    if found is None:
        return None
    shallow = read_regular(f"{found.common}/shallow", _MOST_BYTES)
    mark = "" if isinstance(shallow, str) or not shallow else hashlib.blake2b(shallow, digest_size=8).hexdigest()
    sha = _from_files(found)
    if sha is None:
        # An unborn branch, a packed ref behind a link, a store of references that is no folder: git knows.
        from lurcher.sources.git.log import resolve

        sha = resolve(top, "HEAD") or ""
    return Head(sha, mark)


def boundary(top: Path) -> frozenset[str]:
    """The commits at which a shallow clone ends."""
    found = repository_at(top)
    raw = read_regular(f"{found.common}/shallow", _MOST_BYTES) if found is not None else b""
    return frozenset() if isinstance(raw, str) else frozenset(raw.decode("ascii", "replace").split())


def _from_files(found: Repository) -> str | None:
    path, folder = "HEAD", found.own
    for _ in range(_DEPTH):
        raw = read_regular(f"{folder}/{path}", 10_000)
        if isinstance(raw, str):
            return _packed(found, path) if path != "HEAD" else None
        raw = raw.rstrip(b"\r\n ")
        if _SHA.fullmatch(raw):
            return raw.decode()
        match = _REF.fullmatch(raw)
        if not match or b".." in match[1]:
            return None
        path, folder = os.fsdecode(match[1]), found.common
    return None


def _packed(found: Repository, name: str) -> str | None:
    raw = read_regular(f"{found.common}/packed-refs", _MOST_BYTES)
    if isinstance(raw, str):
        return None
    match = re.search(rb"(?m)^([0-9a-f]{40,64}) " + re.escape(os.fsencode(name)) + rb"\r?$", raw)
    return match[1].decode() if match else None

# ----------------------------------------------------------------------------------------------------------------------
# Where a work tree keeps what git knows about it, read without starting git.


_MAX_BYTES = 10_000
_PREFIX = b"gitdir: "


@dataclass(frozen=True, slots=True)
class Repository:
    """The folders of git that belong to a work tree."""

    own: str
    """What this work tree has for itself: its index and its HEAD."""
    common: str
    """What all work trees of the repository share."""

    @property
    def linked(self) -> bool:
        """Whether this is a further work tree of a repository that has its main one elsewhere."""
        return self.own != self.common


def repository(top: str) -> Repository | None:
    """The repository whose work tree begins in this folder, if there is one that git might take for valid."""
    place = Path(top, ".git")
    if place.is_dir():
        return _with_common(os.path.realpath(place)) if os.path.lexists(f"{place}/HEAD") else None
    raw = read_regular(place, _MAX_BYTES)
    if isinstance(raw, str) or not raw.startswith(_PREFIX):
        return None
    own = os.path.join(top, os.fsdecode(raw[len(_PREFIX) :].rstrip(b"\r\n")))
    return None if "\0" in own else _with_common(os.path.realpath(own))


def marker(top: str) -> str:
    """The file that makes a folder a work tree. Not the folder `.git`, which changes with all that is done there."""
    return f"{top}/.git/HEAD" if Path(top, ".git").is_dir() else f"{top}/.git"


def _with_common(own: str) -> Repository:
    raw = read_regular(f"{own}/commondir", _MAX_BYTES)
    if isinstance(raw, str) or b"\0" in raw:
        return Repository(own, own)
    return Repository(own, os.path.realpath(os.path.join(own, os.fsdecode(raw.rstrip(b"\r\n")))))


def inputs(top: str, found: Repository, configuration: bytes) -> list[str]:
    """Every file outside of the listed folders that decides what git lists, there or not.

    `configuration` is the answer to `git config --list --show-origin -z`: which file sets what.
    """
    paths = [marker(top), f"{found.own}/commondir", *command.configuration()]
    paths += [f"{found.own}/{name}" for name in ("HEAD", "index", "config.worktree")]
    paths += [f"{found.common}/{name}" for name in ("config", "info/exclude")]
    fields = os.fsdecode(configuration).split("\0")
    for origin, setting in zip(fields[::2], fields[1::2], strict=False):
        kind, _, place = origin.partition(":")
        name, _, value = setting.partition("\n")
        folder = top
        if kind == "file" and place:
            place = os.path.join(top, place)
            paths.append(place)
            folder = os.path.split(place)[0]
        if name == "core.excludesfile":
            paths.append(_path(top, value))
        elif name == "include.path" or (name.startswith("includeif.") and name.endswith(".path")):
            # One that is not there yet, or whose condition does not hold yet, is named nowhere else.
            paths.append(_path(folder, value))
    return paths


def _path(folder: str, value: str) -> str:
    """A path as git's configuration has it."""
    with contextlib.suppress(RuntimeError):  # there is no such user
        return os.path.join(folder, Path(value).expanduser())
    return os.path.join(folder, value)
