"""Which folder a search of PATH is about."""

from __future__ import annotations

import os
import stat

from lurcher.errors import PathError
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.sources import git as git

if TYPE_CHECKING:
    from pathlib import Path

INDEX_FOLDER = ".lurcher"


class Root:
    """Compared by what it says."""

    __slots__ = ("_path", "git", "place", "prefix")

    def __init__(self, path: Path | str, git: bool, prefix: str) -> None:
        self._path = None if isinstance(path, str) else path
        self.place = str(path)
        """Resolved and absolute."""
        self.git = git
        self.prefix = prefix
        """What was asked for, relative to the root, with forward slashes; empty for all of it."""

    @property
    def path(self) -> Path:
        if self._path is None:
            from pathlib import Path

            self._path = Path(self.place)
        return self._path

    @property
    def name(self) -> str:
        return self.place.rpartition("/")[2]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Root):
            return NotImplemented
        return (self.place, self.git, self.prefix) == (other.place, other.git, other.prefix)

    def __hash__(self) -> int:
        return hash((self.place, self.git, self.prefix))

    def __repr__(self) -> str:
        return f"Root({self.place!r}, {self.git}, {self.prefix!r})"


def find_root(path: Path | str) -> Root:
    """The git work tree that holds PATH, else the nearest folder with an index, else PATH itself.

    A PATH that its repository ignores is its own root: the repository's listing would never show it. When git is
    missing, the work tree's top stays the root and its files are walked; when git refuses the repository (another
    owner), so do we, and PATH is its own root.
    """
    asked, is_folder = _existing(path)
    folder = asked if is_folder else os.path.split(asked)[0]
    around = [folder]
    while around[-1] != (above := os.path.split(around[-1])[0]):
        around.append(above)
    for ancestor in around:
        if _is_git_folder(ancestor):
            raise PathError(
                f"{path} is inside a git directory, not in a work tree", "name a checked-out folder of the repository"
            )
        if _has_git(ancestor):
            return _in_work_tree(ancestor, asked, folder)
    for ancestor in around:
        if _own_index(os.path.join(ancestor, INDEX_FOLDER)):
            return Root(ancestor, False, _relative(asked, ancestor))
    return Root(folder, False, _relative(asked, folder))


_SYSTEM = frozenset(
    {
        *("/home", "/Users", "/usr", "/etc", "/var", "/opt", "/tmp", "/private/tmp", "/var/tmp", "/mnt", "/media", "/Volumes"),
        *("/boot", "/dev", "/proc", "/sys", "/run", "/lib", "/bin", "/sbin", "/System", "/Library", "/Applications", "/nix"),
    }
)
_DISKS = ("/mnt/", "/media/", "/run/media/", "/Volumes/")


def breadth(root: Root) -> str:
    """What a folder is that hardly anybody means to index as a whole; empty for any other.

    A work tree is what it is, but for one around all that somebody owns. A mounted folder that is no disk of its own, as
    containers have them, is a folder like any other.
    """
    place = root.place
    if place == os.path.dirname(place):
        return "the root of a file system"
    if place == os.path.realpath(os.path.expanduser("~")):
        return "your home folder"
    if root.git:
        return ""
    if place in _SYSTEM:
        return "a folder of the system"
    return "a whole disk" if place.startswith(_DISKS) and os.path.ismount(place) else ""


def _in_work_tree(top: str, asked: str, folder: str) -> Root:
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


def _own_index(folder: str) -> bool:
    """An index folder of ours: one that another user put above us is not believed."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _existing(path: Path | str) -> tuple[str, bool]:
    """Where a path leads once every link is followed, and whether that is a folder."""
    try:
        resolved = os.path.realpath(path, strict=True)
        kind = stat.S_IFMT(os.stat(resolved).st_mode)
        if kind == stat.S_IFDIR:
            # A folder that can be listed but not entered is as useless as a missing one: ask for both rights now.
            with os.scandir(resolved):
                pass
            os.stat(os.path.join(resolved, "."))
            return resolved, True
        if kind == stat.S_IFREG:
            return resolved, False
    except (OSError, RuntimeError, ValueError) as error:
        raise _unusable(path, error) from None
    raise PathError(f"{path} is neither a folder nor a regular file", "name a folder or a source file")


def _unusable(path: Path | str, error: Exception) -> PathError:
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            return PathError(f"{path} is a broken symbolic link", "name the folder it should point to")
        return PathError(f"{path} does not exist", "check the spelling, or run from the project's folder")
    if isinstance(error, PermissionError):
        return PathError(f"{path} cannot be read", "check its permissions, or name another folder")
    reason = getattr(error, "strerror", None) or str(error)  # symlink loops; too long; NUL inside
    return PathError(f"{path} cannot be opened: {reason}", "name another folder")


def _has_git(folder: str) -> bool:
    """A `.git` folder with a HEAD, or the `.git` file of a linked work tree or submodule."""
    marker = os.path.join(folder, ".git")
    try:
        if os.path.isdir(marker):
            return os.path.lexists(os.path.join(marker, "HEAD"))
        if os.path.isfile(marker):
            with open(marker, "rb") as file:
                return file.read(8) == b"gitdir: "
    except OSError:
        pass
    return False


def _is_git_folder(folder: str) -> bool:
    return (
        os.path.isfile(os.path.join(folder, "HEAD"))
        and os.path.isdir(os.path.join(folder, "objects"))
        and os.path.isdir(os.path.join(folder, "refs"))
    )


def _relative(path: str, root: str) -> str:
    return path[len(root) :].lstrip("/")
