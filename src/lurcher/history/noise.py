"""Which commits are rarely the answer: releases, dependency bumps, reformatting, merges, and those beside the code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from lurcher.chunking.languages import TEXT, detect
from lurcher.history.layout import is_reformat
from lurcher.history.outcomes.wording import reads_as_fix
from lurcher.history.records import Change
from lurcher.history.upkeep import is_dependencies, is_release
from lurcher.index.roles import EXAMPLE, TEST, VENDORED, roles
from lurcher.settings.past import CommitSettings
from lurcher.sources.listing import GENERATED_FOLDERS, name_reason

RELEASE, DEPENDENCIES, REFORMAT, MERGE = "release", "dependencies", "reformat", "merge"
DOCS, TESTS, GENERATED = "docs", "tests", "generated"
TRAITS = (RELEASE, DEPENDENCIES, REFORMAT, MERGE, DOCS, TESTS, GENERATED)

_MOST_SUBJECT = 1000

__all__ = ["TRAITS", "factor", "reads_as_fix", "traits"]


class Written(Protocol):
    """What of a commit is needed."""

    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def subject(self) -> str: ...
    @property
    def changes(self) -> tuple[Change, ...]: ...


def traits(commit: Written) -> tuple[str, ...]:
    """What kinds of noise a commit is, in the order of TRAITS; usually none."""
    found = set()
    subject = commit.subject[:_MOST_SUBJECT]
    if len(commit.parents) > 1:
        found.add(MERGE)
    changes = commit.changes
    if is_release(subject, changes):
        found.add(RELEASE)
    elif is_dependencies(subject, changes):
        found.add(DEPENDENCIES)
    if changes:
        kinds = {_kind(change.path) for change in changes}
        if kinds == {DOCS} and RELEASE not in found:
            found.add(DOCS)
        elif kinds == {TESTS}:
            found.add(TESTS)
        elif kinds == {GENERATED} and DEPENDENCIES not in found:
            found.add(GENERATED)
        if is_reformat(subject, changes):
            found.add(REFORMAT)
    return tuple(trait for trait in TRAITS if trait in found)


def factor(found: Sequence[str], settings: CommitSettings) -> float:
    """What a commit of these kinds is multiplied with."""
    product = 1.0
    for trait in found:
        product *= getattr(settings, trait)
    return product


# -- files -------------------------------------------------------------------------------------------------------------

_GENERATED_FOLDERS = frozenset(GENERATED_FOLDERS)
_PROSE = re.compile(
    r"(?:^|/)(?:docs?|documentation|guides?|website|man|blog|news|changelog\.d|newsfragments|\.changeset|releasenotes)/"
    r"|(?:^|/)(?:changes|changelog|history|news|readme|authors|contributors|contributing|license|licence|copying|security|governance|"
    r"code_of_conduct|maintainers|copyright|todo|roadmap|upgrading|funding|codeowners|citation)(?:[._-][^/]*)?$",
    re.IGNORECASE,
)
_WRITTEN = frozenset({"md", "rst", "adoc", "txt", "markdown", "mdx", "asciidoc", "tex", "org", "textile", "rdoc", "pod"})
_PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "pdf"})
_REQUIREMENTS = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w./-]+\.(?:txt|in)|constraints[\w.-]*\.txt|"
    r"CMakeLists\.txt|robots\.txt|meson_options\.txt)$"
)
"""Text files that people do not read."""
_NO_PROGRAM = frozenset(
    (TEXT, "markdown", "restructuredtext", "asciidoc", "org", "latex", "html", "css", "scss", "xml", "yaml", "json")
)
_TOOLS = re.compile(r"(?:^|/)(?:conf\.py|Makefile|make\.bat|package\.json|_config\.yml|docusaurus\.config\.[jt]s)$")


@lru_cache(maxsize=20_000)
def _kind(path: str) -> str:
    """docs, tests, generated, or nothing for what people write programs in."""
    *folders, name = path.split("/")
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    reason = name_reason(name, name.rpartition(".")[2])
    flags = roles(path)
    if extension in _WRITTEN and not flags & TEST and not _REQUIREMENTS.search(path):
        return DOCS
    if reason in ("lock-file", "source-map", "minified-name") or not _GENERATED_FOLDERS.isdisjoint(folders) or flags & VENDORED:
        return GENERATED
    if _REQUIREMENTS.search(path):
        return ""
    if flags & TEST and not (extension in _WRITTEN and flags & EXAMPLE and not any(map(_is_test_folder, folders))):
        return TESTS
    if extension in _WRITTEN or (_PROSE.search(path) and (extension == "" or not _is_program(extension))):
        return DOCS
    if _PROSE.search(path) and flags & EXAMPLE and (extension in _PICTURES or _TOOLS.search(path)):
        return DOCS
    return ""


def _is_test_folder(folder: str) -> bool:
    return bool(roles(f"{folder}/x.py") & TEST)


def _is_program(extension: str) -> bool:
    return detect(f"x.{extension}", b"") not in _NO_PROGRAM
