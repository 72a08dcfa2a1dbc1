"""Which commit HEAD stands for, read from files where that is possible: a query must not pay for a process to learn it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from lurcher.sources import repository as repositories
from lurcher.sources.decode import read_regular
from lurcher.sources.repository import Repository

_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_BYTES = 64 << 20
_REF = re.compile(rb"ref: (refs/[^\0\n]+)")
_DEPTH = 5


class Head(NamedTuple):
    """What decides which commits a history has."""

    sha: str
    """Empty for a repository without a commit."""
    shallow: str
    """Names the commits at which a shallow clone ends; empty for a whole one."""


NOWHERE = Head("", "")


def repository_at(top: Path) -> Repository | None:
    """The repository of a work tree, or a bare one."""
    found = repositories.repository(str(top))
    if found is None and (top / "HEAD").is_file() and (top / "objects").is_dir() and (top / "refs").is_dir():
        own = os.path.realpath(top)
        return Repository(own, own)
    return found


def head_of(top: Path) -> Head | None:
    """None where there is no repository, or where git does not tell."""
    found = repository_at(top)
    if found is None:
        return None
    shallow = read_regular(f"{found.common}/shallow", _MOST_BYTES)
    mark = "" if isinstance(shallow, str) or not shallow else hashlib.blake2b(shallow, digest_size=8).hexdigest()
    sha = _from_files(found)
    if sha is None:
        # An unborn branch, a packed ref behind a link, a store of references that is no folder: git knows.
        from lurcher.history.log import resolve

        sha = resolve(top, "HEAD") or ""
    return Head(sha, mark)


def boundary(top: Path) -> frozenset[str]:
    """The commits at which a shallow clone ends."""
    found = repository_at(top)
    raw = read_regular(f"{found.common}/shallow", _MOST_BYTES) if found is not None else b""
    return frozenset() if isinstance(raw, str) else frozenset(raw.decode("ascii", "replace").split())


def _from_files(found: Repository) -> str | None:
    path, folder = "HEAD", found.own
    for _ in range(_DEPTH):
        raw = read_regular(f"{folder}/{path}", 10_000)
        if isinstance(raw, str):
            return _packed(found, path) if path != "HEAD" else None
        raw = raw.rstrip(b"\r\n ")
        if _SHA.fullmatch(raw):
            return raw.decode()
        match = _REF.fullmatch(raw)
        if not match or b".." in match[1]:
            return None
        path, folder = os.fsdecode(match[1]), found.common
    return None


def _packed(found: Repository, name: str) -> str | None:
    raw = read_regular(f"{found.common}/packed-refs", _MOST_BYTES)
    if isinstance(raw, str):
        return None
    match = re.search(rb"(?m)^([0-9a-f]{40,64}) " + re.escape(os.fsencode(name)) + rb"\r?$", raw)
    return match[1].decode() if match else None
