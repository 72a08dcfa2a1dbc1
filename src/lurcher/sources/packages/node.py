"""Packages of npm, yarn and pnpm: the nearest `node_modules` upward that has the name."""

from __future__ import annotations

import re
from pathlib import Path

from lurcher.errors import UsageError
from lurcher.sources.packages.base import Library, json_object, text_of

_NAME = re.compile(r"(?:@[\w.~-]+/)?[\w~-][\w.~-]*", re.ASCII)


def find(name: str, version: str, root: Path) -> Library | None:
    if not _NAME.fullmatch(name):
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
