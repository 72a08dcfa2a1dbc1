"""The git folders of a work tree, the commit of HEAD, the tracked files, and the files that decide what git lists.

HEAD and the folders are read from files if possible: starting a git process would cost a query more than the search itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lurcher.sources import git
from lurcher.sources.decode import read_regular

_MAX_FILE = 10_000
"""Bytes read of `.git`, HEAD and other small files."""
_MAX_REFS_FILE = 64 << 20
_GITDIR = b"gitdir: "
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(rb"ref: (refs/[^\0\n]+)")
_RESOLVE_SECONDS = 60.0
_MAX_SYMBOLIC = 5
"""Symbolic references that are followed, as by git."""
LIST_INDEX = ("ls-files", "-z", "-s")
"""Arguments that list the git index for `split_index`."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The git folders of a work tree."""

    own: str
    """The folder of this work tree alone, with its index and its HEAD."""
    common: str
    """The folder that all work trees of the repository share."""

    @property
    def linked(self) -> bool:
        """Whether this is a linked work tree, made by `git worktree add`."""
        return self.own != self.common


def find_repository(top: str) -> Repository | None:
    """The repository whose work tree has its top in this folder; None if there is none that looks valid."""
    place = Path(top, ".git")
    if place.is_dir():
        return _with_common(os.path.realpath(place)) if os.path.lexists(f"{place}/HEAD") else None
    raw = read_regular(place, _MAX_FILE)
    if isinstance(raw, str) or not raw.startswith(_GITDIR):
        return None
    own = os.path.join(top, os.fsdecode(raw[len(_GITDIR) :].rstrip(b"\r\n")))
    return None if "\0" in own else _with_common(os.path.realpath(own))


def work_tree_marker(top: str) -> str:
    """The file whose presence makes a folder a work tree; not the folder `.git`, which changes with every git command."""
    return f"{top}/.git/HEAD" if Path(top, ".git").is_dir() else f"{top}/.git"


def _with_common(own: str) -> Repository:
    raw = read_regular(f"{own}/commondir", _MAX_FILE)
    if isinstance(raw, str) or b"\0" in raw:
        return Repository(own, own)
    return Repository(own, os.path.realpath(os.path.join(own, os.fsdecode(raw.rstrip(b"\r\n")))))


def listing_inputs(top: str, found: Repository, configuration: bytes) -> list[str]:
    """Every file outside of the listed folders that decides what git lists, whether or not it exists.

    `configuration` is the output of `git config --list --show-origin -z`.
    """
    paths = [work_tree_marker(top), f"{found.own}/commondir", *git.config_paths()]
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
            paths.append(_expand_path(top, value))
        elif name == "include.path" or (name.startswith("includeif.") and name.endswith(".path")):
            # The output does not name an included file that is missing or whose condition is not met yet.
            paths.append(_expand_path(folder, value))
    return paths


def _expand_path(folder: str, value: str) -> str:
    """The absolute path of a configuration value, relative to the folder of the configuration file."""
    with contextlib.suppress(RuntimeError):  # there is no such user
        return os.path.join(folder, Path(value).expanduser())
    return os.path.join(folder, value)


class Head(NamedTuple):
    """The commit of HEAD and the limit of a shallow clone: together they decide which commits a history has."""

    sha: str
    """Empty for a repository without a commit."""
    shallow: str
    """A digest of the boundary of a shallow clone; empty for a complete clone."""


NO_HEAD = Head("", "")


def repository_at(top: Path) -> Repository | None:
    """The repository of a work tree, or a bare one."""
    found = find_repository(str(top))
    if found is None and (top / "HEAD").is_file() and (top / "objects").is_dir() and (top / "refs").is_dir():
        own = os.path.realpath(top)
        return Repository(own, own)
    return found


def other_work_trees(top: str) -> list[tuple[str, bool]]:
    """The tops of the other work trees of a repository, and whether each has the same commit checked out.

    What the repository says of them is believed only where they say the same of it.
    """
    found = find_repository(top)
    if found is None:
        return []
    tops = [os.path.dirname(found.common)] if os.path.basename(found.common) == ".git" else []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(f"{found.common}/worktrees")):
            raw = read_regular(f"{found.common}/worktrees/{name}/gitdir", _MAX_FILE)
            if not isinstance(raw, str) and b"\0" not in raw:
                place = os.path.join(f"{found.common}/worktrees/{name}", os.fsdecode(raw.rstrip(b"\r\n")))
                tops.append(os.path.dirname(os.path.realpath(place)))
    own, others = _read_head_files(found), []
    for other in dict.fromkeys(tops):
        there = find_repository(other)
        if there is not None and there.common == found.common and there.own != found.own:
            others.append((other, own is not None and _read_head_files(there) == own))
    return others


def read_head(top: Path) -> Head | None:
    """HEAD of the repository at `top`; None if there is no repository."""
    found = repository_at(top)
    if found is None:
        return None
    shallow = read_regular(f"{found.common}/shallow", _MAX_REFS_FILE)
    mark = "" if isinstance(shallow, str) or not shallow else hashlib.blake2b(shallow, digest_size=8).hexdigest()
    sha = _read_head_files(found)
    if sha is None:
        # An unborn branch, a symbolic reference to a packed one, or the reftable format: ask git.
        sha = resolve_commit(top, "HEAD") or ""
    return Head(sha, mark)


def shallow_boundary(top: Path) -> frozenset[str]:
    """The oldest commits of a shallow clone, whose parents are missing; empty for a complete clone."""
    found = repository_at(top)
    raw = read_regular(f"{found.common}/shallow", _MAX_REFS_FILE) if found is not None else b""
    return frozenset() if isinstance(raw, str) else frozenset(raw.decode("ascii", "replace").split())


def _read_head_files(found: Repository) -> str | None:
    path, folder = "HEAD", found.own
    for _ in range(_MAX_SYMBOLIC):
        raw = read_regular(f"{folder}/{path}", _MAX_FILE)
        if isinstance(raw, str):
            return _read_packed_ref(found, path) if path != "HEAD" else None
        raw = raw.rstrip(b"\r\n ")
        if _SHA.fullmatch(raw):
            return raw.decode()
        match = _REF.fullmatch(raw)
        if not match or b".." in match[1]:
            return None
        path, folder = os.fsdecode(match[1]), found.common
    return None


def _read_packed_ref(found: Repository, name: str) -> str | None:
    raw = read_regular(f"{found.common}/packed-refs", _MAX_REFS_FILE)
    if isinstance(raw, str):
        return None
    match = re.search(rb"(?m)^([0-9a-f]{40,64}) " + re.escape(os.fsencode(name)) + rb"\r?$", raw)
    return match[1].decode() if match else None


def tracked_digest(top: str) -> str:
    """A digest of the files in the git index of a work tree; empty if git fails."""
    status, output = git.finish(git.start(top, *LIST_INDEX))
    return "" if status else split_index(output)[1]


def split_index(output: bytes) -> tuple[bytes, str]:
    """The paths in the output of `ls-files -s`, and a digest of modes, stages and paths (not of the object names)."""
    rows = [row.partition(b"\t") for row in output.split(b"\0")]
    content = b"\0".join([fields[:6] + fields[-1:] + name for fields, _, name in rows])
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return b"".join([name + b"\0" for _, _, name in rows if name]), digest


def resolve_commit(top: Path, name: str) -> str | None:
    """The hash of the commit that a name stands for; None if there is none."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    status, output = git.finish(git.start(top, "--no-replace-objects", *arguments), _RESOLVE_SECONDS)
    return output.decode("ascii", "replace").strip() or None if status == 0 else None
