"""Go modules in the module cache: the version that the project's `go.mod` requires, else the newest one there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lurcher.config import user_files
from lurcher.sources.packages.base import Library, content_of, order_of, text_of

_NAME = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*", re.ASCII)


def find(name: str, version: str, root: Path) -> Library | None:
    cache = _cache()
    if cache is None or not _NAME.fullmatch(name) or "." not in name.partition("/")[0]:
        return None
    folder, _, last = (cache / escaped(name)).as_posix().rpartition("/")
    try:
        there = [entry for entry in os.listdir(folder) if entry.startswith(f"{last}@")]
    except OSError:
        return None
    versions = {unescaped(entry.partition("@")[2]): Path(folder, entry) for entry in there}
    versions = {number: path for number, path in versions.items() if text_of(number) and path.is_dir()}
    required = root / "go.mod"
    wanted = version or _required(content_of(required), name)
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


def _required(text: str, name: str) -> str:
    found = re.search(rf"^\s*(?:require\s+)?{re.escape(name)}\s+(v\S+)", text, re.M)
    return found[1] if found else ""
