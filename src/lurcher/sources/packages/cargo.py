"""Crates that Cargo unpacked: the version in the project's `Cargo.lock`, else the newest one there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lurcher.config import user_files
from lurcher.sources.packages.base import Library, content_of, order_of

_NAME = re.compile(r"[\w-]+", re.ASCII)
_FOLDER = re.compile(r"(?P<name>[\w-]+?)-(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.ASCII)
_LOCKED = re.compile(r'^name = "([^"\n]+)"\nversion = "([^"\n]+)"', re.M)


def find(name: str, version: str, root: Path) -> Library | None:
    home = user_files.named_folder("CARGO_HOME", ".cargo")
    if home is None or not _NAME.fullmatch(name):
        return None
    source = home / "registry" / "src"
    versions: dict[str, Path] = {}
    for registry in _folders(source):
        for crate in _folders(registry):
            found = _FOLDER.fullmatch(crate.name)
            if found and _plain(found["name"]) == _plain(name):
                versions.setdefault(found["version"], crate)
    locked = [number for crate, number in _LOCKED.findall(content_of(root / "Cargo.lock")) if _plain(crate) == _plain(name)]
    usable = [version] if version else [number for number in locked if number in versions] or list(versions)
    chosen = max((number for number in usable if number in versions), key=order_of, default="")
    if not chosen:
        return None
    place = versions[chosen].resolve()
    if not place.is_relative_to(source.resolve()):
        return None
    return Library("cargo", name, chosen, place, None, (place / "Cargo.toml", root / "Cargo.lock"))


def _plain(name: str) -> str:
    """Code writes with an underscore what the registry may have with a dash."""
    return name.replace("-", "_")


def _folders(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if (folder / name).is_dir()]
    except OSError:
        return []
