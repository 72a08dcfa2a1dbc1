"""What a listing depends on: as long as none of it changes, the same files would be listed again.

Every folder that a new file could appear in, every file that holds rules, everything that git itself reads, and the settings.
Looking at these takes a fraction of the time that listing takes, and starts no process.
"""

from __future__ import annotations

import os

from lurcher.kernel import native
from lurcher.light import TYPE_CHECKING, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Mark = tuple[int, int, int, int]
"""Size, modification time, change time and number of an entry of the file system."""
ABSENT: Mark = (0, 0, 0, 0)

_KIND, _FOLDER = 0o170000, 0o040000


def mark(status: os.stat_result) -> Mark:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def mark_of(path: str, *, follow: bool) -> Mark:
    """What is at a path now; whatever hinders looking there counts as nothing."""
    try:
        return mark(os.stat(path, follow_symlinks=follow))
    except (OSError, ValueError):
        return ABSENT


@dataclass(frozen=True, slots=True)
class Standing:
    circumstances: str
    """A digest of the settings, the environment and the user."""
    folders: Mapping[str, Mark]
    """The folders that count, relative to the root; each is a real folder and not a link."""
    files: Mapping[str, Mark] = field(default_factory=dict)
    """Ignore files, and files that were left out for what they are now, relative to the root; links are not followed."""
    git: Mapping[str, Mark] = field(default_factory=dict)
    """What git reads, relative to the root or absolute, there or not; links are followed, as git does."""
    started_ns: int = 0
    """Since when all of this is known to be as it is."""
    settled: bool = False
    """Whether each change shows: time stamps that were too young for that when the files were listed are not believed."""

    def holds(self, root: str, opened: int, circumstances: str, *, folders: bool = True) -> bool:
        """Whether everything is as it was; `opened` is a descriptor of the root. Somebody else may look at the `folders`."""
        if not self.settled or circumstances != self.circumstances:
            return False
        return (
            (not folders or self._same_folders(opened))
            and all(mark_of(os.path.join(root, path), follow=False) == seen for path, seen in self.files.items())
            and all(mark_of(os.path.join(root, path), follow=True) == seen for path, seen in self.git.items())
        )

    def _same_folders(self, opened: int) -> bool:
        kernel = native()
        if kernel is not None and os.name == "posix" and isinstance(self.folders, dict):
            return not kernel.unlike(self.folders, 0, opened, 0, True)
        stat = os.stat
        try:
            for path, (_, mtime, ctime, inode) in self.folders.items():
                status = stat(path or ".", dir_fd=opened, follow_symlinks=False)
                if (
                    status.st_mtime_ns != mtime
                    or status.st_ctime_ns != ctime
                    or status.st_ino != inode
                    or status.st_mode & _KIND != _FOLDER
                ):
                    return False
        except (OSError, ValueError):
            return False
        return True

    def marks(self) -> Iterable[Mark]:
        for part in (self.folders, self.files, self.git):
            yield from part.values()

    def same_marks(self, other: Standing) -> bool:
        return (self.circumstances, self.folders, self.files, self.git) == (
            other.circumstances,
            other.folders,
            other.files,
            other.git,
        )

    def without(self, folder: str) -> Standing:
        """Without a folder in which only we write, and what is below it."""
        below = folder + "/"

        def kept(part: Mapping[str, Mark]) -> dict[str, Mark]:
            return {path: seen for path, seen in part.items() if path != folder and not path.startswith(below)}

        return Standing(self.circumstances, kept(self.folders), kept(self.files), self.git, self.started_ns, self.settled)
