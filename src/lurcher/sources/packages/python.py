"""Python packages by the name they are imported by: those of the project's environment, told by what pip wrote down.

The environment is `.venv` or `venv` of the project, the active one, or that of the running Python, whichever has the name
first.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lurcher.config import user_files
from lurcher.errors import UsageError
from lurcher.sources.packages.base import Library, content_of, json_object, text_of

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_DISTRIBUTION = re.compile(r"[\w.-]+", re.ASCII)
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.M | re.I)
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


def find(name: str, version: str, root: Path) -> Library | None:
    sites, others = _sites(root), False
    for site in sites if _NAME.fullmatch(name) else ():
        found = _installed(site, name) or _editable(site, name)
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


def _installed(site: Path, name: str) -> Library | None:
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
        for path in _recorded(text):
            if path.startswith(f"{inside}/"):
                files.append(path[len(inside) + 1 :])
            elif path in (f"{inside}.py", f"{inside}.pyi"):
                files.append(path.rpartition("/")[2])
        if files:
            yield _Claim(info.name.partition("-")[0], _version_in(info / "METADATA", info), info / "RECORD", tuple(files))


def _recorded(text: str) -> Iterator[str]:
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
    told = _VERSION.search(content_of(metadata, _HEAD).partition("\n\n")[0])
    return text_of(told[1] if told else info.name.removesuffix(".dist-info").partition("-")[2])


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
        told = json_object(info / "direct_url.json")
        url, about = told.get("url"), told.get("dir_info")
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
        if _plain(info.name.partition("-")[0]) != _plain(name):
            continue
        tops = {path.partition("/")[0] for path in _recorded(content_of(info / "RECORD")) if path.endswith(".py")}
        names = sorted(top.removesuffix(".py") for top in tops if _NAME.fullmatch(top.removesuffix(".py")))
        if names:
            raise UsageError(f"{name} is not what code imports", f"it installs: {', '.join(names[:8])}")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _within(place: Path, site: Path) -> bool:
    try:
        return place.resolve().is_relative_to(site)
    except (OSError, RuntimeError):
        return False
