"""What kind of text a changed file holds, and whether its lines are worth keeping at all."""

from __future__ import annotations

import re
from functools import lru_cache

from lurcher.languages.detect import TEXT, detect
from lurcher.sources.files import GENERATED_FOLDERS, name_reason
from lurcher.sources.roles import DATA, EXAMPLE, TEST, VENDORED, roles

KINDS = ("code", "test", "docs", "changelog", "data")
"""In the order in which they are kept where a diff is too long to be kept whole."""
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
    """The position in KINDS of what a file holds, as far as its path tells."""
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
    # A name without an extension is a script more often than not; an extension that nobody knows stands for data.
    return DATA_KIND if plain and "." in path.rpartition("/")[2] else CODE


@lru_cache(maxsize=20_000)
def left_out(path: str) -> bool:
    """Whether a file is nobody's writing: generated, locked, minified, binary or a copy of somebody else's."""
    *folders, name = path.split("/")
    if name_reason(name, name.rpartition(".")[2]) is not None:
        return True
    return bool(roles(path) & VENDORED) or not _GENERATED.isdisjoint(folders)
