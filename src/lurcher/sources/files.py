"""What a listing of a tree is made of, and which file names are left out by default."""

from __future__ import annotations

import os

from lurcher.runtime.fastjson import blake2b
from lurcher.runtime.light import NamedTuple, dataclass, field
from lurcher.sources.git import command
from lurcher.sources.roots import Root
from lurcher.sources.signature import TreeSignature

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
MOST_EXAMPLES = 3
"""Paths that are kept for each reason to leave files out."""
INTERNAL_FOLDERS = frozenset({".git", ".lurcher"})


@dataclass(frozen=True, slots=True)
class FilesSettings:
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

    max_file_bytes: int = 1_000_000
    follow_symlinks: bool = False
    submodules: bool = True
    skip_folders: tuple[str, ...] = GENERATED_FOLDERS
    skip_untracked_folders: tuple[str, ...] = AMBIGUOUS_FOLDERS
    secrets: bool = False


class Entry(NamedTuple):
    path: str
    """Relative to the root, with forward slashes."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Listing:
    entries: list[Entry]
    """Sorted by path."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Files left out, per reason, sorted by reason; a folder that the walk did not enter counts as one."""
    method: str = "git"
    """How the files were found: git, walk, or a glance at those that were known."""
    started_ns: int = 0
    """The time before the first `stat`; later changes may have been missed."""
    signature: TreeSignature | None = None
    """A signature of everything the listing depends on; None if there is none."""
    nested: tuple[str, ...] = ()
    """The repositories inside the tree whose files are in the listing."""
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
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

def circumstances(root: Root, settings: FilesSettings) -> str:
    """A digest of what a listing depends on besides the tree: settings, environment, and what the user may read."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    decisive = repr((root.git, settings, user, command.config_environment()))
    return blake2b(os.fsencode(decisive), digest_size=16).hexdigest()
