"""Installed dependencies as a source: which folder a library's name stands for, and the files in it.

A library is named as the code that uses it names it: `requests`, `@scope/name`, `github.com/owner/module`, `serde_json`.
`python:requests` says of which ecosystem, `name@1.2.3` which version. Each ecosystem has one function that finds a library:

    python   by the name that is imported, in `.venv` or `venv` of the project, the active environment, or that of the running
             Python, whichever has the name first
    node     packages of npm, yarn and pnpm, in the nearest `node_modules` upward that has the name
    go       the module cache: the version that the project's `go.mod` requires, else the newest one there
    cargo    crates that Cargo unpacked: the version in the project's `Cargo.lock`, else the newest one there
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lurcher.config import user_files
from lurcher.errors import UsageError
from lurcher.runtime.process import open_waiting_for_nobody
from lurcher.sources import FilesSettings, Listing
from lurcher.sources.filter import Sieve, is_utf8

ECOSYSTEMS = ("python", "node", "go", "cargo")
MAX_FILES = 100_000
"""Files of one library that are read; what is beyond is counted."""
_LONGEST = 300
PREFIX = "lib:"


@dataclass(frozen=True, slots=True)
class Library:
    """One version of a library as it is installed."""

    ecosystem: str
    name: str
    version: str
    """Empty where it is not known."""
    root: Path
    files: tuple[str, ...] | None
    """What its metadata lists, relative to `root`; None: all that is below."""
    evidence: tuple[Path, ...]
    """Files that change when another version is installed or required; the first is the library's own."""


@dataclass(frozen=True, slots=True)
class LibraryName:
    """A library as a user names it."""

    ecosystem: str
    name: str
    version: str

    @property
    def text(self) -> str:
        """The name, with the version if it has one."""
        return f"{self.name}@{self.version}" if self.version else self.name

    def means(self, other: LibraryName) -> bool:
        """Whether it names the indexed library `other`."""
        return self.text == other.text and self.ecosystem in ("", other.ecosystem)


def parse_library_name(text: str) -> LibraryName:
    """What `[ecosystem:]name[@version]` asks for; it may begin with `lib:`, as hits have it."""
    stripped = text.strip().removeprefix(PREFIX).rstrip("/")
    ecosystem, colon, name = stripped.partition(":")
    if not colon:
        ecosystem, name = "", stripped
    if ecosystem and ecosystem not in ECOSYSTEMS:
        raise UsageError(f"unknown ecosystem '{ecosystem}'", f"known are: {', '.join(ECOSYSTEMS)}")
    version = ""
    if "@" in name[1:]:  # a scope begins with one
        name, _, version = name.rpartition("@")
    parts = name.split("/")
    bad = any(part in ("", ".", "..") for part in parts) or not (name + version).isprintable() or "\\" in text
    if bad or len(stripped) > _LONGEST or "/" in version:
        raise UsageError(f"{text!r} names no library", "name it as code does, such as requests or @scope/name")
    return LibraryName(ecosystem, name, version)


def find(wanted: LibraryName, root: Path) -> Library:
    """The library that the project at `root` means by a name."""
    found: list[Library] = []
    problems: list[UsageError] = []
    for ecosystem in (wanted.ecosystem,) if wanted.ecosystem else ECOSYSTEMS:
        try:
            library = _FINDERS[ecosystem](wanted.name, wanted.version, root)
        except UsageError as problem:
            problems.append(problem)
            continue
        if library is not None:
            found.append(library)
    if len(found) > 1:
        ways = " or ".join(f"{library.ecosystem}:{wanted.text}" for library in found)
        raise UsageError(f"{wanted.text} is a library of {' and of '.join(item.ecosystem for item in found)}", f"say {ways}")
    if found:
        return found[0]
    if problems:
        raise problems[0]
    where = f"for {wanted.ecosystem}" if wanted.ecosystem else f"for any of {', '.join(ECOSYSTEMS)}"
    raise UsageError(f"no library {wanted.text} is installed {where}", "install it, or check how code names it")


def list_library(library: Library, settings: FilesSettings) -> Listing:
    """The files of a library that may be searched. What its metadata names outside of it, and links, are left out."""
    started = time.time_ns()
    # A package has nothing but what was meant to be shipped: `build` and `dist` are source here.
    sieve = Sieve(str(library.root), settings.replace(follow_symlinks=False, skip_untracked_folders=()), {})
    if library.files is None:
        for paths in _below(sieve):
            sieve.take(paths)
    else:
        safe = [path for path in dict.fromkeys(library.files) if _inside(path)]
        kept = safe[:MAX_FILES]
        for reason, count in (("unsafe-path", len(set(library.files)) - len(safe)), ("too-many", len(safe) - len(kept))):
            if count:
                sieve.skipped[reason] = count
        sieve.take(kept)
    for path in sieve.nested:  # metadata that names a folder
        sieve.count("special", path)
    return sieve.listing("walk", started, None)


def _inside(path: str) -> bool:
    """Whether a path leads to a place below the folder it is relative to."""
    return is_utf8(path) and "\0" not in path and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))


def _below(sieve: Sieve) -> Iterator[list[str]]:
    """The files of a folder and of those in it, folder by folder; links are not followed."""
    todo, seen = [""], 0
    while todo:
        folder = todo.pop()
        prefix = f"{folder}/" if folder else ""
        files = []
        try:
            with os.scandir(sieve.base + folder) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            sieve.count("unreadable", folder or ".")
            continue
        for name, is_folder in found:
            path = prefix + name
            if not is_utf8(path):
                sieve.count("undecodable-name", path)
            elif not is_folder:
                files.append(path)
            elif (reason := sieve.enter(path)) is None:
                todo.append(path)
            elif reason != "internal":
                sieve.count(reason, path)
        if seen + len(files) > MAX_FILES:
            sieve.count("too-many", folder)
            return
        seen += len(files)
        yield files

# -- metadata files of packages; a broken one counts as absent -----------------------------------------------------------


_MOST = 32_000_000
_VERSION = re.compile(r"[\w.+!~^-]{1,100}", re.ASCII)


def content_of(path: Path, most: int = _MOST) -> str:
    """The text of a file; nothing where there is none, or something else. A pipe in its place cannot hold us up."""
    try:
        with open(path, "rb", opener=open_waiting_for_nobody) as handle:
            return (handle.read(most) or b"").decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(content_of(path))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """A version, if it is one: it is shown to people and kept in an index."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else ""


def order_of(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Sorts versions such as 1.2.3 and v1.2.3-rc.1 by their numbers, releases after what came before them."""
    base = version.removeprefix("v").partition("+")[0]
    numbers, dash, before = base.partition("-")
    return tuple(int(part) if part.isdecimal() else 0 for part in numbers.split(".")[:8]), not dash, before


_PYTHON_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_DISTRIBUTION = re.compile(r"[\w.-]+", re.ASCII)
_VERSION_LINE = re.compile(r"^Version:[ \t]*(\S+)", re.M | re.I)
_HEAD = 100_000
_SITES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A distribution that says that it installed something."""

    name: str
    version: str
    record: Path
    files: tuple[str, ...]
    """Relative to the folder of the package, or its module's own files."""


def find_python_package(name: str, version: str, root: Path) -> Library | None:
    sites, others = _sites(root), False
    for site in sites if _PYTHON_NAME.fullmatch(name) else ():
        found = _find_installed(site, name) or _editable(site, name)
        if found is not None and version in ("", found.version):
            return found
        others = others or found is not None
    for site in sites if not others and _DISTRIBUTION.fullmatch(name) else ():
        _say_import_name(site, name)
    return None


def _sites(root: Path) -> list[Path]:
    """The folders with packages, nearest to the project first."""
    active = user_files.named_folder("VIRTUAL_ENV")
    found: dict[Path, None] = {}
    for environment in (root / ".venv", root / "venv", *([active] if active else [])):
        for pattern in ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages"):
            found |= dict.fromkeys(path.resolve() for path in sorted(environment.glob(pattern)) if path.is_dir())
    running = (Path(entry) for entry in sys.path if Path(entry).name in _SITES)
    return list(found | dict.fromkeys(path.resolve() for path in running if path.is_dir()))


def _find_installed(site: Path, name: str) -> Library | None:
    place = site.joinpath(*name.split("."))
    if place.is_dir():
        return _package(site, place, name)
    files = tuple(f"{place.name}{end}" for end in (".py", ".pyi") if place.with_name(f"{place.name}{end}").is_file())
    if not files or not _within(place.parent, site):
        return None
    claims = list(_claims(site, name))
    record = claims[0].record if claims else place.with_name(files[0])
    return Library("python", name, claims[0].version if claims else "", place.parent.resolve(), files, (record,))


def _package(site: Path, place: Path, name: str) -> Library | None:
    if not _within(place, site):
        raise UsageError(f"{place} is a link that leads out of {site}", "index that folder by itself")
    claims = list(_claims(site, name))
    owners = [claim for claim in claims if {"__init__.py", "__init__.pyi"} & set(claim.files)]
    if not owners and len(claims) > 1:
        below = sorted({f"{name}.{file.partition('/')[0]}" for claim in claims for file in claim.files if "/" in file})
        whose = ", ".join(sorted(claim.name for claim in claims)[:5])
        raise UsageError(f"{name} is a name that {whose} share", f"name a package below it: {', '.join(below[:8])}")
    if not owners and not claims:
        return Library("python", name, _egg_version(site, name), place.resolve(), None, (place,))
    claim = (owners or claims)[0]
    return Library("python", name, claim.version, place.resolve(), claim.files, (claim.record,))


def _claims(site: Path, name: str) -> Iterator[_Claim]:
    """The distributions whose record has files of a package or module, with these files."""
    inside = name.replace(".", "/")
    for info in _infos(site, ".dist-info"):
        text = content_of(info / "RECORD")
        if inside not in text:
            continue
        files = []
        for path in _read_record(text):
            if path.startswith(f"{inside}/"):
                files.append(path[len(inside) + 1 :])
            elif path in (f"{inside}.py", f"{inside}.pyi"):
                files.append(path.rpartition("/")[2])
        if files:
            yield _Claim(info.name.partition("-")[0], _version_in(info / "METADATA", info), info / "RECORD", tuple(files))


def _read_record(text: str) -> Iterator[str]:
    try:
        for row in csv.reader(text.splitlines()):
            if row:
                yield row[0].replace("\\", "/")
    except csv.Error:  # a line that is none: what came before it is good
        return


def _infos(site: Path, end: str) -> list[Path]:
    try:
        return [site / entry for entry in sorted(os.listdir(site)) if entry.endswith(end)]
    except OSError:
        return []


def _version_in(metadata: Path, info: Path) -> str:
    found = _VERSION_LINE.search(content_of(metadata, _HEAD).partition("\n\n")[0])
    return text_of(found[1] if found else info.name.removesuffix(".dist-info").partition("-")[2])


def _egg_version(site: Path, name: str) -> str:
    """What older tools wrote, which do not say which files they installed."""
    top = name.partition(".")[0]
    for info in _infos(site, ".egg-info"):
        if top in content_of(info / "top_level.txt", _HEAD).split():
            return _version_in(info / "PKG-INFO", info)
    return ""


def _editable(site: Path, name: str) -> Library | None:
    """A package that is used from the folder in which it is developed."""
    inside = name.split(".")
    for info in _infos(site, ".dist-info"):
        found = json_object(info / "direct_url.json")
        url, about = found.get("url"), found.get("dir_info")
        if not isinstance(url, str) or not isinstance(about, dict) or about.get("editable") is not True:
            continue
        if not url.startswith("file:///") or "\0" in (path := unquote(urlsplit(url).path)):
            continue
        for place in (Path(path, "src", *inside), Path(path, *inside)):
            if place.is_dir():
                return Library(
                    "python", name, _version_in(info / "METADATA", info), place.resolve(), None, (info / "METADATA",)
                )
    return None


def _say_import_name(site: Path, name: str) -> None:
    """Raises where a name is a distribution's, which is imported by another one."""
    for info in _infos(site, ".dist-info"):
        if _normalise_name(info.name.partition("-")[0]) != _normalise_name(name):
            continue
        tops = {path.partition("/")[0] for path in _read_record(content_of(info / "RECORD")) if path.endswith(".py")}
        names = sorted(top.removesuffix(".py") for top in tops if _PYTHON_NAME.fullmatch(top.removesuffix(".py")))
        if names:
            raise UsageError(f"{name} is not what code imports", f"it installs: {', '.join(names[:8])}")


def _normalise_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _within(place: Path, site: Path) -> bool:
    try:
        return place.resolve().is_relative_to(site)
    except (OSError, RuntimeError):
        return False


_NODE_NAME = re.compile(r"(?:@[\w.~-]+/)?[\w~-][\w.~-]*", re.ASCII)


def find_node_package(name: str, version: str, root: Path) -> Library | None:
    if not _NODE_NAME.fullmatch(name):
        return None
    for folder in (root, *root.parents):
        package = folder / "node_modules" / name
        manifest = package / "package.json"
        if not manifest.is_file():
            continue
        try:
            real = package.resolve(strict=True)
            # pnpm links into a folder beside, a workspace to a package of the same project: neither leads further out.
            if not real.is_relative_to(folder.resolve()):
                raise UsageError(f"{package} is a link that leads out of {folder}", "index that folder by itself")
        except (OSError, RuntimeError):
            continue
        found = text_of(json_object(manifest).get("version"))
        if not version or version == found:
            return Library("node", name, found, real, None, (manifest,))
    return None


_GO_NAME = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*", re.ASCII)


def find_go_module(name: str, version: str, root: Path) -> Library | None:
    cache = _cache()
    if cache is None or not _GO_NAME.fullmatch(name) or "." not in name.partition("/")[0]:
        return None
    folder, _, last = (cache / escaped(name)).as_posix().rpartition("/")
    try:
        there = [entry for entry in os.listdir(folder) if entry.startswith(f"{last}@")]
    except OSError:
        return None
    versions = {unescaped(entry.partition("@")[2]): Path(folder, entry) for entry in there}
    versions = {number: path for number, path in versions.items() if text_of(number) and path.is_dir()}
    required = root / "go.mod"
    wanted = version or _find_required(content_of(required), name)
    chosen = wanted if wanted in versions else "" if version else max(versions, key=order_of, default="")
    if not chosen:
        return None
    place = versions[chosen].resolve()
    return Library("go", name, chosen, place, None, (place, required)) if place.is_relative_to(cache.resolve()) else None


def _cache() -> Path | None:
    own = user_files.named_folder("GOMODCACHE")
    if own is not None:
        return own
    path = user_files.named_folder("GOPATH", "go")
    return None if path is None else Path(str(path).partition(os.pathsep)[0]) / "pkg" / "mod"


def escaped(name: str) -> str:
    """As the cache writes it: file systems may not tell capitals apart."""
    return re.sub("[A-Z]", lambda found: f"!{found[0].lower()}", name)


def unescaped(text: str) -> str:
    return re.sub("!([a-z])", lambda found: found[1].upper(), text)


def _find_required(text: str, name: str) -> str:
    found = re.search(rf"^\s*(?:require\s+)?{re.escape(name)}\s+(v\S+)", text, re.M)
    return found[1] if found else ""


_CRATE_NAME = re.compile(r"[\w-]+", re.ASCII)
_FOLDER = re.compile(r"(?P<name>[\w-]+?)-(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.ASCII)
_LOCKED = re.compile(r'^name = "([^"\n]+)"\nversion = "([^"\n]+)"', re.M)


def find_crate(name: str, version: str, root: Path) -> Library | None:
    home = user_files.named_folder("CARGO_HOME", ".cargo")
    if home is None or not _CRATE_NAME.fullmatch(name):
        return None
    source = home / "registry" / "src"
    versions: dict[str, Path] = {}
    for registry in _folders(source):
        for crate in _folders(registry):
            found = _FOLDER.fullmatch(crate.name)
            if found and _crate_key(found["name"]) == _crate_key(name):
                versions.setdefault(found["version"], crate)
    named = _LOCKED.findall(content_of(root / "Cargo.lock"))
    locked = [number for crate, number in named if _crate_key(crate) == _crate_key(name)]
    usable = [version] if version else [number for number in locked if number in versions] or list(versions)
    chosen = max((number for number in usable if number in versions), key=order_of, default="")
    if not chosen:
        return None
    place = versions[chosen].resolve()
    if not place.is_relative_to(source.resolve()):
        return None
    return Library("cargo", name, chosen, place, None, (place / "Cargo.toml", root / "Cargo.lock"))


def _crate_key(name: str) -> str:
    """Code writes with an underscore what the registry may have with a dash."""
    return name.replace("-", "_")


def _folders(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if (folder / name).is_dir()]
    except OSError:
        return []


_FINDERS = {"python": find_python_package, "node": find_node_package, "go": find_go_module, "cargo": find_crate}
