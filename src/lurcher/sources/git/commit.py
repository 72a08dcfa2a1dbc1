"""A commit as it is read from git: its changes, its message split into parts, and the kinds of files it changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache

from lurcher.languages.detect import TEXT, detect
from lurcher.sources import GENERATED_FOLDERS, name_reason
from lurcher.sources.decode import to_utf8
from lurcher.sources.roles import DATA, EXAMPLE, TEST, VENDORED, roles

ADDED, MODIFIED, DELETED, RENAMED, COPIED, RETYPED = "A", "M", "D", "R", "C", "T"
"""Status letters of a changed file, as git prints them; RETYPED: for example from a file to a symbolic link."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One run of changed lines, without context."""

    old_start: int
    new_start: int
    heading: str
    """The text that git prints after the @@: usually the first line of the surrounding function."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one file."""

    path: str
    """The path after the commit; of a deleted file, the path before it."""
    status: str
    hunks: tuple[Hunk, ...] = ()
    old_path: str | None = None
    """The path before the commit, if that differs."""
    added: int = 0
    """Added lines, including those of hunks that are left out."""
    removed: int = 0
    binary: bool = False
    truncated: bool = False
    """Whether hunks were left out: the file is huge, generated or secret, or its blob is missing."""


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    """The full hash, in hexadecimal."""
    parents: tuple[str, ...]
    author: str
    email: str
    authored: int
    """Seconds since 1970."""
    committed: int
    subject: str
    body: str
    """Without trailers."""
    trailers: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    patch_id: str = ""
    """Equal for commits that make the same change; empty if nothing changed."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)


_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)\s*:\s*(.*)")
_PICKED = re.compile(r"\(cherry[ -]picked from commit ([0-9a-f]{7,64})\)?", re.IGNORECASE)
PICKED = "Cherry-picked-from"
"""Trailer name given to the line that `git cherry-pick -x` adds."""
_GIT_TRAILERS = ("signed-off-by", PICKED.lower())
"""Trailers that git itself writes: a paragraph with one of these consists of trailers, even if it has other lines too."""


def decode_text(raw: bytes) -> str:
    """Decode bytes of unknown encoding: UTF-8, else Windows-1252, with undecodable bytes dropped."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # `to_utf8` takes a zero byte for binary data and a byte order mark for another encoding: hide both from it.
        return (to_utf8(b" " + raw.replace(b"\0", b" ")) or b" ")[1:].decode()


def split_message(text: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """(subject, body, trailers) of a message; the subject is the first paragraph joined into one line, as git does it."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    end = lines.index("") if "" in lines else len(lines)
    subject = " ".join(line.strip() for line in lines[:end])
    rest = lines[end:]
    start = len(rest)
    while start and rest[start - 1]:
        start -= 1
    trailers, kept = _split_trailers(rest[start:])
    body = "\n".join([*rest[:start], *kept]).strip("\n")
    return subject, body, trailers


def _split_trailers(paragraph: list[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The trailers of the last paragraph, and its other lines; no trailers at all if too few of its lines are trailers."""
    found: list[tuple[str, str]] = []
    kept: list[str] = []
    previous = False
    for line in paragraph:
        picked, match = _PICKED.fullmatch(line.strip()), _TRAILER.fullmatch(line)
        if picked:
            found.append((PICKED, picked[1].lower()))
        elif match and not match[2].startswith("//"):
            found.append((match[1], match[2].strip()))
        elif previous and line[:1] in (" ", "\t"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
            continue
        else:
            kept.append(line)
            previous = False
            continue
        previous = True
    certain = any(name.lower() in _GIT_TRAILERS for name, _ in found)
    if kept and not (certain and 3 * len(found) >= len(kept)):
        return (), paragraph
    return tuple(found), kept


KINDS = ("code", "test", "docs", "changelog", "data")
"""Kinds of changed files, most important first: a diff that is too long keeps the lines of the first kinds."""
CODE, TESTS, DOCS, CHANGELOG, DATA_KIND = range(len(KINDS))

_CHANGELOG = re.compile(
    r"(?:^|/)(?:changes|changelog|change_log|history|news|release[-_]?notes|releases|whats[-_]?new)(?:\.[a-z]{1,8})?$"
    r"|(?:^|/)(?:changelog|changelogs|changes|newsfragments|news|releasenotes|release-notes|whatsnew|\.changeset|changelog\.d)/"
    r"[^/]*$",
    re.IGNORECASE,
)
_GENERATED = frozenset(GENERATED_FOLDERS)
_MARKUP = frozenset({"html", "css", "scss", "xml", "json", "yaml", "toml", "csv", "ini", "dotenv"})


@lru_cache(maxsize=20_000)
def kind_of(path: str) -> int:
    """The kind of a file, judged by its path alone, as a position in KINDS."""
    flags, language = roles(path), detect(path, b"")
    documents = bool(flags & EXAMPLE)
    plain = language == TEXT
    if _CHANGELOG.search(path) and (plain or documents):
        return CHANGELOG
    if flags & DATA or language in _MARKUP:
        return DATA_KIND
    if flags & TEST:
        return DATA_KIND if plain and "." in path.rpartition("/")[2] else TESTS
    if documents:
        return DOCS
    # A file without an extension is usually a script; one with an unknown extension is usually data.
    return DATA_KIND if plain and "." in path.rpartition("/")[2] else CODE


@lru_cache(maxsize=20_000)
def is_generated_or_vendored(path: str) -> bool:
    """Whether the path is of a file that people here did not write: generated, a lock file, minified, binary, or vendored."""
    *folders, name = path.split("/")
    if name_reason(name, name.rpartition(".")[2]) is not None:
        return True
    return bool(roles(path) & VENDORED) or not _GENERATED.isdisjoint(folders)


@lru_cache(maxsize=1000)
def iso_date(seconds: int) -> str:
    """Seconds since 1970 as an ISO 8601 date with the offset +00:00; the number itself if no calendar has the date."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def utc_date(seconds: int) -> str | None:
    """Seconds since 1970 as an ISO 8601 date that ends in Z; None if no calendar has the date."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return None
