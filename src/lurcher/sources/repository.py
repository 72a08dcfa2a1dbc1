"""Where a work tree keeps what git knows about it, read without starting git."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from lurcher.sources import git
from lurcher.sources.decode import read_regular

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
    paths = [marker(top), f"{found.own}/commondir", *git.configuration()]
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
