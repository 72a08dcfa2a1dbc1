"""The trees that golden answers are about: small ones made of pinned packages, large ones cloned at a pinned commit.

A small tree is a git repository whose commits are releases of packages, downloaded from their registries. Authors, dates and
messages of the commits are fixed, so that every machine gets the same commit ids. No file of these packages is kept here.
"""

from __future__ import annotations

import calendar
import fnmatch
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.own_home import SHARED

HERE = Path(__file__).resolve().parent
CACHE = SHARED / "golden"
_SECONDS = 60
"""How long one download may take."""
_LARGEST = 20_000_000
"""Bytes that a package may unpack to."""

LEFT_OUT = frozenset(
    ".dart .hcl .tf .tfvars .ps1 .psd1 .psm1 .sql .m .mm .ml .mli .jl .pl .pm .t .svelte .vue .ipynb .pbxproj .map".split()
)
"""Files with these suffixes are left out of every tree, so that adding support for such a language changes no answer."""


class Unavailable(Exception):
    """A tree cannot be built here, for example because a registry cannot be reached."""


@dataclass(frozen=True)
class Commit:
    """Copies the files of a package that match `keep` into the tree, and removes matching ones that the package lacks.

    A pattern with a slash matches at any depth, one without only at the top of the package; `*` matches everything.
    """

    date: str
    author: str
    subject: str
    package: str
    keep: tuple[str, ...]
    into: str = ""
    body: str = ""


@dataclass(frozen=True)
class Revert:
    """Reverts the commit before it."""

    date: str
    author: str
    subject: str = ""


@dataclass(frozen=True)
class Small:
    name: str
    commits: tuple[Commit | Revert, ...]
    head: str
    """The id of the last commit."""
    libraries: tuple[tuple[str, str, str], ...] = ()
    """Installed dependencies: the name by which lurcher indexes one, its package, and the folder that it is unpacked to."""


@dataclass(frozen=True)
class Large:
    name: str
    head: str
    source: str
    """Where a clone can be had."""
    settings: tuple[str, ...] = ()
    libraries: tuple[tuple[str, str, str], ...] = ()


ADA, BEN, CLEO = "Ada Example", "Ben Example", "Cleo Example"
_PYTHON, _TESTS = ("src/*",), ("tests/*", "conftest.py", "bench/*")
_DOCS = ("docs/*", "changelog.d/*", "*.md")
_REST = ("*.toml", "*.ini", "*.cfg", "*.yml", "*.yaml", ".github/*", "LICENSE", "CITATION.cff")

ATTRS = Small(
    "attrs",
    (
        Commit("2022-12-21 09:00", ADA, "Add the package", "attrs-22.2.0", _PYTHON),
        Commit("2022-12-21 10:00", ADA, "Add tests for validators, converters and slots", "attrs-22.2.0", _TESTS),
        Commit("2022-12-21 11:00", ADA, "Add the documentation", "attrs-22.2.0", _DOCS),
        Commit("2022-12-21 12:00", ADA, "Add packaging and continuous integration", "attrs-22.2.0", _REST),
        Commit("2023-04-16 09:00", BEN, "Add converters and hash caching of 23.1.0", "attrs-23.1.0", ("src/attr/*",),
               body="Alias for attributes; validators can be negated.\n\nRefs #1065"),
        Revert("2023-04-16 15:00", ADA),
        Commit("2023-04-17 09:00", BEN, "Add aliases and the not_ validator, second attempt", "attrs-23.1.0", _PYTHON),
        Commit("2023-04-17 10:00", BEN, "Test aliases and the not_ validator", "attrs-23.1.0", _TESTS),
        Commit("2023-04-17 11:00", CLEO, "Document aliases", "attrs-23.1.0", _DOCS),
        Commit("2023-12-31 09:00", BEN, "Type field transformers better", "attrs-23.2.0", _PYTHON),
        Commit("2023-12-31 10:00", CLEO, "Rewrite the documentation of initialisation", "attrs-23.2.0", (*_DOCS, *_TESTS)),
        Commit("2023-12-31 11:00", CLEO, "Move the build to hatch", "attrs-23.2.0", _REST),
        Commit("2024-08-03 09:00", BEN, "Speed up generated methods, wrap converters in a class", "attrs-24.1.0", _PYTHON,
               body="Converters may take the instance and the field."),
        Commit("2024-08-03 10:00", BEN, "Test converters that take the instance", "attrs-24.1.0", _TESTS),
        Commit("2024-08-04 09:00", ADA, "Fix wrong methods of classes with converters", "attrs-25.1.0", ("src/attr/_make.py",)),
        Commit("2024-08-06 09:00", ADA, "Fix regression: generated __eq__ with a custom key", "attrs-24.2.0", _PYTHON,
               body="The release of three days ago broke comparison."),
        Commit("2024-08-06 10:00", ADA, "Test the fix and note it", "attrs-24.2.0", (*_TESTS, *_DOCS, *_REST)),
        Commit("2025-01-25 09:00", CLEO, "Make slotted classes keep cached properties", "attrs-25.1.0", _PYTHON),
        Commit("2025-01-25 10:00", CLEO, "Tests and documentation of 25.1.0", "attrs-25.1.0", (*_TESTS, *_DOCS, *_REST)),
    ),
    head="2dcda4b284b8f798ac59d41f89e378934e636d68",
    libraries=(("itsdangerous", "itsdangerous-2.2.0", ".venv/lib/python3.11/site-packages"),),
)  # fmt: skip

_SOURCE = ("src/*", "package.json")
QUERY_CORE = Small(
    "query-core",
    (
        Commit("2024-01-05 09:00", ADA, "Add the query client and its cache", "query-core-5.17.0", ("src/*.ts",)),
        Commit("2024-01-05 10:00", ADA, "Add tests and the manifest", "query-core-5.17.0", _SOURCE),
        Commit("2024-03-13 09:00", BEN, "Batch notifications of observers", "query-core-5.28.0", ("src/*.ts",)),
        Revert("2024-03-13 12:00", ADA, "Revert: batching loses the last notification"),
        Commit("2024-03-14 09:00", BEN, "Batch notifications, with tests", "query-core-5.28.0", _SOURCE),
        Commit("2024-07-01 09:00", CLEO, "Stream and structural sharing of results", "query-core-5.50.1", _SOURCE),
    ),
    head="7be0b3899fbdf698e496e2dfc63874516a83bf18",
)

_MOBILE = ("android/*", "ios/*.swift", "ios/Tests/*", "src/*", "*.md", "package.json")
POLYGLOT = Small(
    "polyglot",
    (
        Commit("2020-07-11 09:00", ADA, "router: match requests by path, host and method", "mux-1.8.0", ("*",), "router"),
        Commit("2023-03-26 09:00", BEN, "walk: iterate over a directory tree", "walkdir-2.3.3", ("*",), "walk"),
        Commit("2023-08-31 09:00", BEN, "walk: follow root links", "walkdir-2.4.0", ("src/*", "Cargo.toml"), "walk"),
        Commit("2023-10-18 09:00", CLEO, "router: limit what a variable matches", "mux-1.8.1", ("*",), "router"),
        Commit("2023-10-18 14:00", CLEO, "clipboard: images and strings for Android and iOS", "expo-clipboard-5.0.1", _MOBILE,
               "clipboard"),
        Commit("2023-11-01 09:00", ADA, "state: drafts of immutable values", "immer-10.0.3", ("src/*", "readme.md"), "state"),
        Commit("2024-02-08 09:00", CLEO, "storage: keep strings for Android and Windows", "async-storage-1.23.1",
               ("android/*", "windows/code/*", "src/*", "README.md", "jest/*"), "storage"),
        Commit("2024-02-22 09:00", BEN, "walk: sort entries, and stop at a device boundary", "walkdir-2.5.0", ("*",), "walk"),
        Commit("2024-05-04 09:00", ADA, "state: strict shallow copies", "immer-10.1.1", ("src/*", "readme.md"), "state"),
        Revert("2024-05-05 09:00", BEN),
        Commit("2024-05-06 09:00", ADA, "state: strict shallow copies, once more", "immer-10.1.1", ("src/*", "readme.md"),
               "state"),
        Commit("2024-06-12 09:00", CLEO, "clipboard: paste button", "expo-clipboard-6.0.3", _MOBILE, "clipboard"),
        Commit("2024-10-07 09:00", ADA, "markup: escape strings in C", "markupsafe-3.0.0", ("*",), "markup"),
        Commit("2024-10-08 09:00", BEN, "markup: fix reading past the end of a string", "markupsafe-3.0.1", ("*",), "markup",
               body="Fixes the speedups of yesterday."),
        Commit("2024-10-18 09:00", BEN, "markup: fix the multi-phase initialisation of the extension", "markupsafe-3.0.2",
               ("*",), "markup"),
    ),
    head="3bfd340f3e9ec1f9771dc772db37024db07efaa2",
    libraries=(("superstruct", "superstruct-2.0.2", "node_modules/superstruct"),),
)  # fmt: skip

SMALL = {tree.name: tree for tree in (ATTRS, QUERY_CORE, POLYGLOT)}
LARGE = {
    tree.name: tree
    for tree in (
        Large("django", "03988c5a5ba248c3b9b11ea96fd4fda5e98849aa", "https://github.com/django/django",
              ("history.max_commits=4000",)),
        Large("ripgrep", "3fce3b5bb0236da2df6d99672afb8a719642eca7", "https://github.com/BurntSushi/ripgrep"),
        Large("zod", "e516c3baf22615e20934116abebfed6c000222c2", "https://github.com/colinhacks/zod"),
    )
}  # fmt: skip


def fetch(tree: Small) -> None:
    """Download what the tree is made of, unless it is in the cache; raises `Unavailable`."""
    for package in _packages_of(tree):
        _read(package)


def build(tree: Small, parent: Path) -> Path:
    """Build the tree in `parent`, in a folder of its own name: ranking takes the name of a folder into account."""
    folder = parent / tree.name
    folder.mkdir(parents=True)
    _git(folder, "init", "-q")
    for commit in tree.commits:
        seconds = calendar.timegm(time.strptime(commit.date, "%Y-%m-%d %H:%M"))
        if isinstance(commit, Commit):
            _apply(folder, commit, seconds)
            message = f"{commit.subject}\n\n{commit.body}" if commit.body else commit.subject
        else:
            reverted, _, subject = _git(folder, "log", "-1", "--format=%H %s").strip().partition(" ")
            before = _times(folder)
            _git(folder, "revert", "--no-commit", "HEAD")
            for path, changed in _times(folder).items():
                if before.get(path) != changed:
                    os.utime(folder / path, (seconds, seconds))
            title = commit.subject or f'Revert "{subject}"'
            message = f"{title}\n\nThis reverts commit {reverted}."
        _git(folder, "add", "-A", "-f")
        _git(folder, "commit", "-q", "--allow-empty", "-m", message, author=commit.author, seconds=seconds)
    head = _git(folder, "rev-parse", "HEAD").strip()
    if tree.head and head != tree.head:
        raise AssertionError(f"the tree {tree.name} has the commit {head} instead of {tree.head}")
    for _, package, into in tree.libraries:
        for path, (data, _) in _unpack(package).items():
            _write(folder / into / path, data)
    (folder / ".git/info/exclude").write_text("/.venv/\n/node_modules/\n")
    _git(folder, "status", "--porcelain")  # git notes the times of the files
    return folder


def clone(tree: Large, checkouts: Path, parent: Path) -> Path:
    """Clone a large tree at its commit from a folder with checkouts (or bare repositories), and give all files one time."""
    source = next((path for path in (checkouts / tree.name, checkouts / f"{tree.name}.git") if path.is_dir()), None)
    if source is None:
        raise Unavailable(f"{checkouts} has no folder {tree.name}; clone {tree.source} there")
    if _git(source, "rev-parse", "--verify", "-q", f"{tree.head}^{{commit}}", check=False).strip() != tree.head:
        raise Unavailable(f"{source} has no commit {tree.head}")
    folder = parent / tree.name
    parent.mkdir(parents=True, exist_ok=True)
    _git(parent, "clone", "-q", "--no-checkout", "--shared", str(source), tree.name)
    _git(folder, "checkout", "-q", "--detach", tree.head)
    seconds = int(_git(folder, "log", "-1", "--format=%ct"))
    for path in _times(folder):
        if PurePosixPath(path).suffix in LEFT_OUT:
            (folder / path).unlink()
        else:
            os.utime(folder / path, (seconds, seconds))
    _git(folder, "status", "--porcelain")
    return folder


def _packages_of(tree: Small) -> list[str]:
    named = [commit.package for commit in tree.commits if isinstance(commit, Commit)]
    return list(dict.fromkeys([*named, *(package for _, package, _ in tree.libraries)]))


def _pinned() -> dict[str, tuple[str, str]]:
    """The SHA-256 and the address of each package."""
    lines = (HERE / "packages.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: (digest, address) for name, digest, address in rows}


def _read(package: str) -> bytes:
    digest, address = _pinned()[package]
    kept = CACHE / f"{package}.{digest[:16]}"
    if kept.exists():
        data = kept.read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            data = answer.read(_LARGEST)
    except (OSError, urllib.error.URLError) as error:
        raise Unavailable(f"cannot download {address}: {error}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise Unavailable(f"{address} is not the file whose SHA-256 is pinned")
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = CACHE / f"{package}.{os.getpid()}"
    draft.write_bytes(data)
    draft.replace(kept)
    return data


def _unpack(package: str) -> dict[str, tuple[bytes, bool]]:
    """The files of a package by path below its topmost folder, each with whether it is executable."""
    data = _read(package)
    files: dict[str, tuple[bytes, bool]] = {}
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    files[member.filename] = archive.read(member), False
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isfile() else None
                if content is not None:
                    files[entry.name] = content.read(), bool(entry.mode & 0o100)
    top = os.path.commonpath(list(files))  # none in a wheel
    if top:
        files = {path[len(top) + 1 :]: content for path, content in files.items()}
    return {path: content for path, content in sorted(files.items()) if PurePosixPath(path).suffix not in LEFT_OUT}


def _apply(folder: Path, commit: Commit, seconds: int) -> None:
    begin = f"{commit.into}/" if commit.into else ""

    def belongs(path: str) -> bool:
        patterns = [pattern for pattern in commit.keep if pattern == "*" or "/" in pattern or "/" not in path]
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)

    wanted = {begin + path: content for path, content in _unpack(commit.package).items() if belongs(path)}
    for path in _times(folder):
        if path.startswith(begin) and belongs(path[len(begin) :]) and path not in wanted:
            (folder / path).unlink()
    for path, (data, executable) in wanted.items():
        target = folder / path
        if not target.exists() or target.read_bytes() != data:
            _write(target, data)
            target.chmod(0o755 if executable else 0o644)
            os.utime(target, (seconds, seconds))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _times(folder: Path) -> dict[str, int]:
    """The files of a work tree, without links, and when they were changed."""
    found = {}
    for place, folders, names in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                found[os.path.relpath(path, folder)] = os.stat(path).st_mtime_ns
    return found


def _git(folder: Path, *arguments: str, author: str = ADA, seconds: int = 0, check: bool = True) -> str:
    """Run git, untouched by the settings of whoever runs it."""
    address = f"{author.split()[0].lower()}@example.invalid"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = {
        **kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C", "TZ": "UTC",
        "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": f"@{seconds} +0000",
        "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": address, "GIT_COMMITTER_DATE": f"@{seconds} +0000",
    }  # fmt: skip
    git = shutil.which("git")
    if git is None:
        raise Unavailable("git is not installed")
    command = [git, "-c", "init.defaultBranch=main", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=600)
    if check and done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]} in {folder} ended with {done.returncode}: {done.stderr}")
    return done.stdout
