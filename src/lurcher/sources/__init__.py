"""Which folder a search of PATH is about (`Root`), what a listing of it is made of, and what a listing depends on.

As long as nothing that a listing depends on changes, the same files would be listed again: every folder that a new file could
appear in, every file that holds rules, everything that git itself reads, and the settings. Comparing these (`TreeSignature`)
takes a fraction of the time that listing takes, and starts no process.
"""

from __future__ import annotations

import os
import stat
from _collections_abc import Mapping
from collections import namedtuple
from struct import Struct

from lurcher.errors import PathError
from lurcher.runtime.kernel import native
from lurcher.runtime.process import user_id
from lurcher.runtime.stdlib import blake2b
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
        """The requested part, relative to the root, with forward slashes; empty for all of it."""

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
    target, is_folder = _existing(path)
    folder = target if is_folder else os.path.split(target)[0]
    around = [folder]
    while around[-1] != (above := os.path.split(around[-1])[0]):
        around.append(above)
    for ancestor in around:
        if _is_git_folder(ancestor):
            raise PathError(
                f"{path} is inside a git directory, not in a work tree", "name a checked-out folder of the repository"
            )
        if has_git(ancestor):
            return _in_work_tree(ancestor, target, folder)
    for ancestor in around:
        if _own_index(os.path.join(ancestor, INDEX_FOLDER)):
            return Root(ancestor, False, _relative(target, ancestor))
    return Root(folder, False, _relative(target, folder))


_SYSTEM = frozenset(
    {
        *("/home", "/Users", "/usr", "/etc", "/var", "/opt", "/tmp", "/private/tmp", "/var/tmp", "/mnt", "/media", "/Volumes"),
        *("/boot", "/dev", "/proc", "/sys", "/run", "/lib", "/bin", "/sbin", "/System", "/Library", "/Applications", "/nix"),
    }
)
_DISKS = ("/mnt/", "/media/", "/run/media/", "/Volumes/")


def breadth(root: Root) -> str:
    """What a folder is that hardly anybody means to index as a whole; empty for any other.

    A work tree is what it is, but for one around all that a user owns. A mounted folder that is no disk of its own, as
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
    if _is_home(place):
        return "a home folder"
    return "a whole disk" if place.startswith(_DISKS) and os.path.ismount(place) else ""


def _is_home(place: str) -> bool:
    """Whether a folder is the home of whoever owns it, as under `sudo` or where HOME says something else."""
    try:
        import pwd

        return os.path.realpath(pwd.getpwuid(os.stat(place).st_uid).pw_dir) == place
    except (ImportError, KeyError, OSError):
        return False


def _in_work_tree(top: str, target: str, folder: str) -> Root:
    prefix = _relative(target, top)
    if not prefix:
        return Root(top, True, "")
    from lurcher.sources import git

    # "./" keeps a name such as ":(top)" from being read as pathspec magic; this command refuses --literal-pathspecs.
    process = git.start(top, "check-ignore", "-q", "--", f"./{prefix}")
    status, _ = git.finish(process)
    if status == 0:
        return Root(folder, False, _relative(target, folder))
    if status != 1 and process is not None:
        return Root(folder, False, _relative(target, folder))
    return Root(top, status == 1, prefix)


def _own_index(folder: str) -> bool:
    """An index folder of ours: one that another user put above us is not believed."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == user_id()


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


def has_git(folder: str) -> bool:
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


GENERATED_FOLDERS = (
    *("node_modules", "bower_components", "jspm_packages", ".yarn", ".pnpm-store", "Pods", "site-packages"),
    *(".venv", "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
    *(".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".cache", ".nyc_output", "lcov-report", "htmlcov"),
    *(".gradle", ".terraform", ".dart_tool", ".stack-work", ".zig-cache", "zig-cache", "DerivedData", ".hg", ".svn"),
)
AMBIGUOUS_FOLDERS = (
    *("vendor", "third_party", "third-party", "thirdparty", "dist", "build", "target", "out", "obj", "_build"),
    *("venv", "dist-newstyle"),
)
_HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME")
MOST_EXAMPLES = 3
"""Paths that are kept for each reason to leave files out."""
INTERNAL_FOLDERS = frozenset({".git", ".lurcher"})


class FilesSettings(Record):
    """Which files of a tree are candidates.

    `skip_folders` are skipped wherever they are: they hold no sources, even when they are tracked.
    `skip_untracked_folders` are names that also serve for real source (`build`, `vendor`, `target`). What a repository
    tracks there is kept, and so are untracked files beside it; a folder of that name that holds nothing tracked, or
    that is outside of git, is skipped. `coverage`, `env`, `bin` and `lib` are in neither list: without git they are
    real packages too often. A `.lurcherignore` line such as `!build/` brings any of them back, except `.git` and
    `.lurcher`.

    Symbolic links are left out. With `follow_symlinks`, one that leads to a place inside the root is followed if what
    it leads to is not listed under its own name; in a git work tree that holds for links to files only.

    Files that look like secrets are left out unless `secrets` are wanted: see `secrets.py`.

    With `submodules`, the repositories inside a work tree are part of it, each with its own ignore rules.
    """

    __slots__ = ("max_file_bytes", "follow_symlinks", "submodules", "skip_folders", "skip_untracked_folders", "secrets")

    def __init__(
        self, max_file_bytes: int = 1_000_000, follow_symlinks: bool = False, submodules: bool = True,
        skip_folders: tuple[str, ...] = GENERATED_FOLDERS, skip_untracked_folders: tuple[str, ...] = AMBIGUOUS_FOLDERS,
        secrets: bool = False,
    ) -> None:  # fmt: skip
        self.max_file_bytes, self.follow_symlinks, self.submodules = max_file_bytes, follow_symlinks, submodules
        self.skip_folders, self.skip_untracked_folders, self.secrets = skip_folders, skip_untracked_folders, secrets


class Entry(namedtuple("Entry", "path size mtime_ns ctime_ns inode")):
    path: str
    """Relative to the root, with forward slashes."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Listing(Record):
    __slots__ = ("entries", "skipped", "method", "started_ns", "signature", "nested", "examples")

    def __init__(
        self, entries: list[Entry], skipped: dict[str, int] | None = None, method: str = "git", started_ns: int = 0,
        signature: TreeSignature | None = None, nested: tuple[str, ...] = (),
        examples: dict[str, tuple[str, ...]] | None = None,
    ) -> None:  # fmt: skip
        self.entries = entries
        """Sorted by path."""
        self.skipped: dict[str, int] = {} if skipped is None else skipped
        """Files left out, per reason, sorted by reason; a folder that the walk did not enter counts as one."""
        self.method = method
        """How the files were found: git, walk, or a glance at those that were known."""
        self.started_ns = started_ns
        """The time before the first `stat`; later changes may have been missed."""
        self.signature = signature
        """A signature of everything the listing depends on; None if there is none."""
        self.nested = nested
        """The repositories inside the tree whose files are in the listing."""
        self.examples: dict[str, tuple[str, ...]] = {} if examples is None else examples
        """For each reason in `skipped` a few of the paths."""


_BINARY = (
    *("7z", "a", "aac", "aar", "ai", "apk", "arrow", "avi", "avif", "bin", "blend", "bmp", "bz2", "cab", "class"),
    *("cur", "db", "deb", "dex", "dll", "dmg", "doc", "docx", "dylib", "ear", "eot", "eps", "exe", "fbx"),
    *("feather", "flac", "flv", "gif", "glb", "gz", "h5", "hdf5", "heic", "icns", "ico", "jar", "jpeg", "jpg"),
    *("keystore", "lz4", "lzma", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "npy", "npz", "o"),
    *("odp", "ods", "odt", "ogg", "onnx", "otf", "parquet", "pdb", "pdf", "pickle", "pkl", "png", "ppt", "pptx"),
    *("psd", "pth", "pyc", "pyd", "pyo", "rar", "rlib", "rmeta", "rpm", "safetensors", "so", "sqlite", "sqlite3"),
    *("svgz", "swf", "tar", "tflite", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp", "whl", "wmv"),
    *("woff", "woff2", "xls", "xlsx", "xz", "zip", "zst"),
)
BINARY_EXTENSIONS = frozenset(_BINARY) | frozenset(name.upper() for name in _BINARY)
DRAWING_EXTENSIONS = frozenset({"svg", "SVG", "drawio", "excalidraw"})
MAP_EXTENSIONS = frozenset({"map"})
SHRINKABLE_EXTENSIONS = frozenset({"js", "mjs", "cjs", "css"})
LISTED_EXTENSIONS = BINARY_EXTENSIONS | DRAWING_EXTENSIONS | MAP_EXTENSIONS | SHRINKABLE_EXTENSIONS
"""One look-up rules out most names."""
_SHRUNK = (".min.", "-min.", ".bundle.", ".chunk.")
LOCK_FILES = frozenset(
    {
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
        *("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "go.sum", "composer.lock"),
        *("mix.lock", "pubspec.lock", "Podfile.lock", "Package.resolved", "flake.lock", "gradle.lockfile", "deno.lock"),
        *("packages.lock.json", "cabal.project.freeze", "stack.yaml.lock", "Cartfile.resolved", "Gemfile.lock"),
    }
)


def name_reason(name: str, extension: str) -> str | None:
    """Why a file of this name is not source, if it is not; the extension is what follows the last dot."""
    if name in LOCK_FILES:
        return "lock-file"
    if extension == name:  # no dot at all: a file called `a` or `bin` is not an archive
        return None
    if extension in BINARY_EXTENSIONS:
        return "binary-extension"
    if extension in DRAWING_EXTENSIONS:
        return "drawing"
    if extension in MAP_EXTENSIONS:
        return "source-map"
    if extension in SHRINKABLE_EXTENSIONS and name[: -len(extension)].endswith(_SHRUNK):
        return "minified-name"
    return None

def _git_environment() -> tuple[tuple[str, str], ...]:
    """The environment variables that decide which configuration git reads, sorted by name."""
    found = ((name, value) for name, value in os.environ.items() if name.startswith("GIT_CONFIG_") or name in _HOME_VARIABLES)
    return tuple(sorted(found))


def circumstances(root: Root, settings: FilesSettings) -> str:
    """A digest of what a listing depends on besides the tree: settings, environment, and what the user may read."""
    decisive = repr((root.git, settings, user_id(), _git_environment()))
    return blake2b(os.fsencode(decisive), digest_size=16).hexdigest()


Mark = tuple[int, int, int, int]
"""Size, modification time, change time and number of an entry of the file system."""
ABSENT: Mark = (0, 0, 0, 0)
MARK = Struct("<QqqQ")

_KIND, _FOLDER = 0o170000, 0o040000
_ROUND = 1 << 63


def mark(status: os.stat_result) -> Mark:
    """The size, times and inode of an entry. A time that 64 bits do not hold wraps around, and still differs from others:
    anybody can give a file one after the year 2262, and most file systems store it."""
    mtime, ctime = status.st_mtime_ns, status.st_ctime_ns
    if not (-_ROUND <= mtime < _ROUND and -_ROUND <= ctime < _ROUND):
        mtime, ctime = ((time + _ROUND) % (2 * _ROUND) - _ROUND for time in (mtime, ctime))
    return status.st_size, mtime, ctime, status.st_ino


def mark_of(path: str, *, follow: bool) -> Mark:
    """The mark of what is at a path now; ABSENT where it cannot be read."""
    try:
        return mark(os.stat(path, follow_symlinks=follow))
    except (OSError, ValueError):
        return ABSENT


def paths_in(names: bytes | memoryview, strict: bool) -> tuple[int, bool]:
    """How many paths there are, with zeros between, and whether one is absolute or has a step up.

    ValueError where they are not text, if they have to be.
    """
    kernel = native()
    if kernel is not None:
        found: tuple[int, bool] = kernel.paths(names, strict)
        return found
    text = bytes(names).decode("utf-8", "strict" if strict else "surrogateescape")
    paths = text.split("\0") if text else []
    return len(paths), any(path.startswith("/") or ".." in path.split("/") for path in paths)


class Marks(Mapping[str, Mark]):
    """Marks by path as a manifest holds them; taken apart only for who asks for one."""

    __slots__ = ("_taken", "leads_out", "names", "packed")

    def __init__(self, names: bytes | memoryview, packed: bytes | memoryview) -> None:
        """Names with zeros between, and as many marks."""
        self.names, self.packed = names, packed
        self._taken: dict[str, Mark] | None = None
        count, self.leads_out = paths_in(names, False)
        # A single name may be that of the root, which is empty.
        if len(packed) % MARK.size or len(packed) // MARK.size != (max(count, 1) if packed else 0):
            raise ValueError("there are not as many marks as names")

    @staticmethod
    def of(marks: Mapping[str, Mark]) -> Marks:
        if isinstance(marks, Marks):
            return marks
        # What git reads may have any name that the file system takes.
        names = "\0".join(marks).encode("utf-8", "surrogateescape")
        return Marks(names, b"".join(MARK.pack(*seen) for seen in marks.values()))

    @property
    def all(self) -> dict[str, Mark]:
        if self._taken is None:
            names = bytes(self.names).decode("utf-8", "surrogateescape").split("\0") if self.packed else []
            self._taken = dict(zip(names, MARK.iter_unpack(self.packed), strict=True))
        return self._taken

    def __getitem__(self, path: str) -> Mark:
        return self.all[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Marks) and (self.names, self.packed) == (other.names, other.packed):
            return True
        return isinstance(other, Mapping) and self.all == dict(other)

    __hash__ = None  # type: ignore[assignment]


class TreeSignature(Record):
    __slots__ = ("circumstances", "folders", "files", "git", "started_ns", "settled", "index", "tracked")

    def __init__(
        self, circumstances: str, folders: Mapping[str, Mark], files: Mapping[str, Mark] | None = None,
        git: Mapping[str, Mark] | None = None, started_ns: int = 0, settled: bool = False, index: str = "", tracked: str = "",
    ) -> None:  # fmt: skip
        self.circumstances = circumstances
        """A digest of the settings, the environment and the user."""
        self.folders = folders
        """The folders that count, relative to the root; each is a real folder and not a link."""
        self.files: Mapping[str, Mark] = {} if files is None else files
        """Ignore files, and files that were left out for what they are now, relative to the root; links are not followed."""
        self.git: Mapping[str, Mark] = {} if git is None else git
        """What git reads, relative to the root or absolute, there or not; links are followed, as git does."""
        self.started_ns = started_ns
        """Since when all of this is known to be as it is."""
        self.settled = settled
        """Whether each change shows: time stamps that were too young for that when the files were listed are not believed."""
        self.index = index
        """Which of what git reads is the index of the outermost repository."""
        self.tracked = tracked
        """A digest of the names in it, and of what kind each is: git writes it anew for much else."""

    def holds(self, root: str, opened: int, circumstances: str, *, folders: bool = True) -> bool:
        """Whether everything is as it was; `opened` is a descriptor of the root. Another thread may check the `folders`."""
        if not self.settled or circumstances != self.circumstances:
            return False
        return (
            (not folders or self._same_folders(opened))
            and all(mark_of(os.path.join(root, path), follow=False) == seen for path, seen in self.files.items())
            and all(mark_of(os.path.join(root, path), follow=True) == seen for path, seen in self.git.items())
        )

    def reindexed(self, root: str, circumstances: str, began_ns: int) -> TreeSignature | None:
        """The signature after git has rewritten its index with the same files in it; None where that is not all.

        Git does so with every `add` and `commit`, and for what its caches know after a `status`.
        """
        if not self.settled or not self.tracked or circumstances != self.circumstances:
            return None
        # Read before git reads it: what is written meanwhile shows the next time.
        git = {path: mark_of(os.path.join(root, path), follow=True) for path in self.git}
        if {path for path, seen in git.items() if seen != self.git[path]} != {self.index}:
            return None
        from lurcher.sources.git.refs import tracked_digest

        if tracked_digest(root) != self.tracked:
            return None
        return TreeSignature(self.circumstances, self.folders, self.files, git, began_ns, False, self.index, self.tracked)

    def _same_folders(self, opened: int) -> bool:
        kernel = native()
        if kernel is not None and os.name == "posix":
            return not kernel.unlike(self.folders.all if isinstance(self.folders, Marks) else self.folders, 0, opened, 0, True)
        stat = os.stat
        try:
            for path, (_, mtime, ctime, inode) in self.folders.items():
                status = stat(path or ".", dir_fd=opened, follow_symlinks=False)
                if mark(status)[1:] != (mtime, ctime, inode) or status.st_mode & _KIND != _FOLDER:
                    return False
        except (OSError, ValueError):
            return False
        return True

    def marks(self) -> Iterable[Mark]:
        for part in (self.folders, self.files, self.git):
            yield from part.values()

    def same_marks(self, other: TreeSignature) -> bool:
        return (self.circumstances, self.folders, self.files, self.git) == (
            other.circumstances,
            other.folders,
            other.files,
            other.git,
        )

    def without(self, folder: str) -> TreeSignature:
        """Without a folder in which only we write, and what is below it."""
        below = folder + "/"

        def kept(part: Mapping[str, Mark]) -> dict[str, Mark]:
            return {path: seen for path, seen in part.items() if path != folder and not path.startswith(below)}

        return self.replace(folders=kept(self.folders), files=kept(self.files))
