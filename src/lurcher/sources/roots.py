"""Which folder a search of PATH is about."""

from __future__ import annotations

import os
import stat

from lurcher.errors import PathError
from lurcher.light import TYPE_CHECKING, dataclass
from lurcher.sources import git

if TYPE_CHECKING:
    from pathlib import Path

INDEX_FOLDER = ".lurcher"


@dataclass(frozen=True, slots=True)
class Root:
    path: Path
    """Resolved and absolute."""
    git: bool
    prefix: str
    """What was asked for, relative to `path`, with forward slashes; empty for all of it."""


def find_root(path: Path) -> Root:
    """The git work tree that holds PATH, else the nearest folder with an index, else PATH itself.

    A PATH that its repository ignores is its own root: the repository's listing would never show it. When git is
    missing, the work tree's top stays the root and its files are walked; when git refuses the repository (another
    owner), so do we, and PATH is its own root.
    """
    asked = _existing(path)
    folder = asked if asked.is_dir() else asked.parent
    for ancestor in (folder, *folder.parents):
        if _is_git_folder(ancestor):
            raise PathError(
                f"{path} is inside a git directory, not in a work tree", "name a checked-out folder of the repository"
            )
        if _has_git(ancestor):
            return _in_work_tree(ancestor, asked, folder)
    for ancestor in (folder, *folder.parents):
        if _own_index(ancestor / INDEX_FOLDER):
            return Root(ancestor, False, _relative(asked, ancestor))
    return Root(folder, False, _relative(asked, folder))


def _in_work_tree(top: Path, asked: Path, folder: Path) -> Root:
    prefix = _relative(asked, top)
    if not prefix:
        return Root(top, True, "")
    # "./" keeps a name such as ":(top)" from being read as pathspec magic; this command refuses --literal-pathspecs.
    process = git.start(top, "check-ignore", "-q", "--", f"./{prefix}")
    status, _ = git.finish(process)
    if status == 0:
        return Root(folder, False, _relative(asked, folder))
    if status != 1 and process is not None:
        return Root(folder, False, _relative(asked, folder))
    return Root(top, status == 1, prefix)


def _own_index(folder: Path) -> bool:
    """An index folder of ours: one that another user put above us is not believed."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _existing(path: Path) -> Path:
    try:
        resolved = path.resolve(strict=True)
        if resolved.is_dir():
            # A folder that can be listed but not entered is as useless as a missing one: ask for both rights now.
            with os.scandir(resolved):
                pass
            (resolved / ".").stat()
        elif not resolved.is_file():
            raise PathError(f"{path} is neither a folder nor a regular file", "name a folder or a source file")
    except FileNotFoundError:
        if path.is_symlink():
            raise PathError(f"{path} is a broken symbolic link", "name the folder it should point to") from None
        raise PathError(f"{path} does not exist", "check the spelling, or run from the project's folder") from None
    except PermissionError:
        raise PathError(f"{path} cannot be read", "check its permissions, or name another folder") from None
    except (OSError, RuntimeError, ValueError) as error:  # symlink loops; too long; NUL inside
        reason = getattr(error, "strerror", None) or str(error)
        raise PathError(f"{path} cannot be opened: {reason}", "name another folder") from None
    return resolved


def _has_git(folder: Path) -> bool:
    """A `.git` folder with a HEAD, or the `.git` file of a linked work tree or submodule."""
    marker = folder / ".git"
    try:
        if marker.is_dir():
            return os.path.lexists(marker / "HEAD")
        if marker.is_file():
            with marker.open("rb") as file:
                return file.read(8) == b"gitdir: "
    except OSError:
        pass
    return False


def _is_git_folder(folder: Path) -> bool:
    try:
        return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    except OSError:
        return False


def _relative(path: Path, root: Path) -> str:
    relative = path.relative_to(root).as_posix()
    return "" if relative == "." else relative
