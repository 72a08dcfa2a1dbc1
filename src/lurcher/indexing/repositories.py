"""The repositories that a user has put into the workspace: a small file that lists their folders, each under a name."""

from __future__ import annotations

import glob
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lurcher.config.user_files import cache_folder, data_folder
from lurcher.errors import BroadRoot, ConfigError, PathError, Template, UsageError
from lurcher.runtime.stdlib import blake2b
from lurcher.sources import breadth, find_root
from lurcher.storage import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NAME = "workspace.json"
_MOST = 10_000
_LOCK_SECONDS = 10.0
"""How long a change of the list waits for another one, which takes milliseconds."""


class Repository(NamedTuple):
    name: str
    place: str
    """The folder at its top."""

    @property
    def vocabulary_path(self) -> Path:
        """Where its words are kept; the file can be removed at any time."""
        digest = blake2b(os.fsencode(self.place), digest_size=8).hexdigest()
        return cache_folder() / "workspace" / f"{digest}.words"


def read_repositories() -> list[Repository]:
    """The workspace, by name; empty where nothing was added."""
    path = data_folder() / _NAME
    try:
        data = json.loads(path.read_bytes())
        entries = [Repository(entry["name"], entry["path"]) for entry in data["repositories"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "mend or remove it, and add the repositories again") from error
    values = [value for entry in entries for value in entry]
    if any(type(value) is not str or not value or "\0" in value for value in values) or len(entries) > _MOST:
        raise ConfigError(f"{path} is not a list of repositories", "mend or remove it, and add the repositories again")
    return sorted(entries)


@contextmanager
def _writing() -> Iterator[None]:
    """Read and write the list as one step: of two processes that change it at once, neither loses what the other added."""
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    lock = disk.IndexLock.acquire(folder / f"{_NAME}.lock", _LOCK_SECONDS)
    try:
        yield
    finally:
        lock.release()


def _write_repositories(repositories: Iterable[Repository]) -> None:
    path = data_folder() / _NAME
    entries = [{"name": entry.name, "path": entry.place} for entry in sorted(repositories)]
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write_atomically(path, [json.dumps({"repositories": entries}, indent=1).encode() + b"\n"])


def add_repositories(patterns: Sequence[str], *, broad: bool = False) -> list[Repository]:
    """Add the roots around the folders that match; those that were not there yet. Each gets a name of its own.

    A home folder, a whole disk or a system folder is an error unless it is allowed to be so `broad`. A folder among many that
    matched and is no repository is left out; one that was named is taken as it is.
    """
    found = _matching_roots(patterns, broad)
    with _writing():
        known = read_repositories()
        places = {entry.place for entry in known}
        added: list[Repository] = []
        for place in found:
            if place not in places:
                places.add(place)
                added.append(Repository(_free_name(place, {entry.name for entry in (*known, *added)}), place))
        if len(known) + len(added) > _MOST:
            raise UsageError(f"a workspace has at most {_MOST:,} repositories", "name fewer")
        if added:
            _write_repositories([*known, *added])
        return added


def _matching_roots(patterns: Sequence[str], broad: bool) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns:
        path = os.path.expanduser(pattern)
        if os.path.lexists(path) or not glob.has_magic(path):
            found[_checked_root(path, broad)] = None
            continue
        found_paths = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (the pattern may be absolute)
        matches = [match for match in found_paths if os.path.lexists(os.path.join(match, ".git"))]
        if not matches:
            raise PathError(f"no repository matches {pattern}", "check the pattern; ** stands for any number of folders")
        for match in matches:
            found[_checked_root(match, broad)] = None
    return list(found)


def _checked_root(path: str, broad: bool) -> str:
    root = find_root(path)
    what = breadth(root)
    if what and not broad:
        raise BroadRoot(f"{root.place} is {what}", Template("name a folder in it; or, to index all of it, add {yes}"))
    return root.place


def _free_name(place: str, taken: set[str]) -> str:
    """The folder's name, with as many of the folders above as it takes to be the only one."""
    parts = [part for part in place.split("/") if part] or ["root"]
    for size in range(1, len(parts) + 1):
        name = "-".join(parts[-size:])
        if name not in taken:
            return name
    number = 2
    while f"{parts[-1]}-{number}" in taken:
        number += 1
    return f"{parts[-1]}-{number}"


def remove_repositories(names: Sequence[str]) -> list[Repository]:
    """Remove repositories by name, folder or pattern; their indexes stay. An error where one matches nothing."""
    from fnmatch import fnmatchcase

    with _writing():
        known = read_repositories()
        gone: list[Repository] = []
        for name in names:
            place = os.path.realpath(os.path.expanduser(name))
            found = [entry for entry in known if entry.name == name or entry.place == place or fnmatchcase(entry.name, name)]
            if not found:
                raise unknown_repository(name, known)
            gone += [entry for entry in found if entry not in gone]
        _write_repositories(entry for entry in known if entry not in gone)
    for entry in gone:
        disk.remove_file(entry.vocabulary_path)
    return gone


def select_repositories(known: Sequence[Repository], names: Sequence[str]) -> list[Repository]:
    """Those whose names match; all without names. A name that matches nothing is an error."""
    from fnmatch import fnmatchcase

    exact = {entry.name for entry in known} & set(names)
    patterns = [name for name in names if name not in exact]
    for name in patterns:
        if not any(fnmatchcase(entry.name, name) for entry in known):
            raise unknown_repository(name, known)
    return [
        entry for entry in known
        if not names or entry.name in exact or any(fnmatchcase(entry.name, pattern) for pattern in patterns)
    ]  # fmt: skip


def unknown_repository(name: str, known: Sequence[Repository]) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(name, [entry.name for entry in known], 3)
    hint = f"did you mean {', '.join(near)}?" if near else "see: lurcher workspace list"
    return UsageError(f"the workspace has no repository {name[:200]}", hint)
