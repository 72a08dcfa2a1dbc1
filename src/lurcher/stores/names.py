"""What a project is called in a shared store: the same on every machine that has a checkout of it."""

from __future__ import annotations

import re
from pathlib import Path

from lurcher.errors import Template, UsageError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+@:-]|/(?=[A-Za-z0-9._+@-]))*")
_LONGEST = 200
_REMOTE = re.compile(r'^\s*\[\s*remote\s+"([^"\n]+)"\s*\]', re.IGNORECASE)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9._+@/-]+")


def checked_name(name: str) -> str:
    """A project's name, if it can be one."""
    if len(name) > _LONGEST or not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"{name[:60]!r} cannot be the name of a project",
            "letters, digits and . _ - + @ : / can be in it, such as acme/web",
        )
    return name


def split_names(setting: str) -> tuple[str, ...]:
    """Names as a setting lists them, by commas or spaces."""
    return tuple(dict.fromkeys(checked_name(name) for name in re.split(r"[,\s]+", setting) if name))


def default_name(root: Path) -> str:
    """Owner and name as the git remote has them, else the folder's name."""
    found = _from_remote(root) or root.name
    name = _UNFIT.sub("-", found).strip("-/.")[:_LONGEST].strip("-/.")
    try:
        return checked_name(name)
    except UsageError:
        raise UsageError(f"{root} has no name that a project could have", Template("name it: {project=NAME}")) from None


def _from_remote(root: Path) -> str | None:
    """The last two parts of the address of `origin`, else of the only remote; read from the file, without starting git."""
    from lurcher.sources.decode import read_regular
    from lurcher.sources.git.refs import find_repository

    found = find_repository(str(root))
    raw = read_regular(f"{found.common}/config", 1_000_000) if found is not None else ""
    if isinstance(raw, str):
        return None
    remotes: dict[str, str] = {}
    current = None
    for line in raw.decode("utf-8", "replace").splitlines():
        if line.lstrip().startswith("["):
            section = _REMOTE.match(line)
            current = section[1] if section else None
        elif current is not None and (url := _URL.match(line)):
            remotes.setdefault(current, url[1])
    chosen = remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else None)
    return _named_by(chosen) if chosen else None


def _named_by(url: str) -> str | None:
    """`git@host:owner/name.git`, `https://host/owner/name` → `owner/name`; a path here says nothing to other machines."""
    if url.startswith(("/", ".", "file:")) or "\\" in url:
        return None
    _, scheme, rest = url.rpartition("://")
    if scheme:
        place = rest.partition("/")[2]
    elif ":" in rest:
        place = rest.partition(":")[2]
    else:
        return None
    parts = [part for part in place.split("?")[0].removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join(parts[-2:]) if parts else None
