"""Commits that keep a project going without changing what it does: releases, and versions of dependencies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lurcher.history.records import Change
from lurcher.sources.listing import LOCK_FILES

# -- releases ----------------------------------------------------------------------------------------------------------

_NUMBER = r"v?\d+(?:\.\d+)+(?:[._-]?(?:dev|alpha|beta|a|b|rc|pre|post|final|snapshot)[._-]?\d*)*(?:[+-][\w.]+)?"
_RELEASE = re.compile(
    rf"""
    ^\W* (?:\[\w[^\]]*\]\s*)? (?:(?:chore|build|release|ci)(?:\([^)]*\))?[:!]\s*)?
    (?: (?:[\w./@-]+\s+)? {_NUMBER} \W* (?:\(\#\d+\))? $                     # 1.2.3; name 1.2.3
    | (?:preparing|prepare[sd]?|prep|start(?:ing)?|begin|ready|tag(?:ging)?|cut(?:ting)?) \s+
      (?:for\s+)? (?:the\s+)? (?:(?:next|new|[\w./@-]+)\s+)?
      (?:{_NUMBER}(?:\s+\w+)?(?:\s+version)?|release|development|dev\s+version) \W* (?:\(\#\d+\))? $
    | releas(?:e|ed|es|ing) \s+ (?:(?:of|for|as|version|notes?\s+for|date\s+for|[\w./@-]+)\s+){{0,2}} {_NUMBER}\b
    | (?:version|ver) \s+ {_NUMBER}\b
    | (?:bump(?:s|ed|ing)?|set|update[sd]?|updating|up|increment(?:ed)?|change[sd]?) \s+
      (?:the\s+|crate\s+|package\s+|[\w./@`-]+\s+)? (?:version|ver) (?:s|\s+numbers?|\s+strings?)?\b
      (?!\s+(?:of|range|constraint|check|requirement|matrix|support))
    | bump(?:s|ed|ing)? \s+ (?:up\s+)? (?:to\s+|for\s+)? {_NUMBER}
    | version\s+bump | back\s+to\s+dev(?:elopment)?\b | post[- ]release\b | (?:new\s+)?release\W*$
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_OWN = re.compile(
    r"\b(?:dependenc\w+|deps?|actions?/|requirements?|submodules?|python|node|rust|ruby|compiler|travis|readme|security\w*)\b",
    re.IGNORECASE,
)
_VERSION_FILE = re.compile(
    r"""
      (?:^|/) (?:changes|changelog|history|news|readme|version|release[-_]?notes|releases) [^/]* $
    | (?:^|/) (?:_{0,2}version_{0,2}|version_info|__init__|__about__|setup|conf|release|lib|mix|meta|package|project|build|cargo
      |pyproject|composer|bower|component|pom|antora|settings|gradle|manifest) \.[\w.]+ $
    | \. (?:gemspec|podspec|cabal|csproj|rockspec|nuspec|props|plist|zon|spec|lock|gradle|kts) $
    | (?:^|/) (?:package-lock\.json|cmakelists\.txt|meson\.build) $
    | (?:^|/) (?:docs?|changelog|changes|releases|newsfragments|news|\.changeset|announcements) /
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FEW = 12


def is_release(subject: str, changes: Sequence[Change]) -> bool:
    """A subject that is about a version, and little else changed than the files that hold it."""
    if not _RELEASE.match(subject) or _NOT_OWN.search(subject):
        return False
    if not changes:
        return True
    beside = [change for change in changes if not _VERSION_FILE.search(change.path)]
    # A subject may be a bare number and the commit the work of a month.
    return sum(change.added + change.removed for change in beside) <= max(_FEW, 2 * len(beside))


# -- dependencies ------------------------------------------------------------------------------------------------------

_DEPENDENCY = re.compile(
    r"""
    ^\W* (?:\[\w[^\]]*\]\s*)? (?:(?:build|chore|ci|fix|deps|feat|refactor)(?:\([^)]*\))?[:!]\s*)?
    (?: (?:bump|update|upgrade|pin|unpin|up|use|downgrade|require|allow|switch\s+to|relax|move\s+to)(?:s|d|ed|ing)?\b
    | deps?: | [\w./-]+@[~^]?[\w.-]+ | \[pre-commit\.ci\] | pre-commit\b
    | .*\b (?:dependabot|dependenc(?:y|ies)|deps|requirements|lock\s?files?) \b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMES_NONE = re.compile(
    r"\b(?:links?|urls?|filename|description|metadata|authors?|e-?mails?|licen[cs]e|homepage|feature)\b", re.IGNORECASE
)
"""What else such a file holds."""
_MANIFEST = re.compile(
    r"""
    (?:^|/) (?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|cargo\.toml|go\.mod|gemfile|composer\.json|pom\.xml|mix\.exs
    |pipfile|build\.gradle(?:\.kts)?|libs\.versions\.toml|[\w.-]*requirements[\w.-]*\.(?:txt|in)|constraints[\w.-]*\.txt
    |environment\.ya?ml|tox\.ini|\.pre-commit-config\.yaml|[\w.-]+\.(?:gemspec|podspec|csproj|cabal)|directory\.packages\.props|package\.swift
    |build\.sbt|plugins\.sbt|build\.properties|stack\.yaml|flake\.nix|rebar\.config|podfile|cartfile|build\.zig\.zon|\.nvmrc|\.python-version
    |gradle-wrapper\.properties) $
    | (?:^|/) requirements/ [\w./-]+ \.(?:txt|in) $
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORKFLOW = re.compile(
    r"(?:^|/)\.github/(?:workflows|actions)/.+\.ya?ml$|(?:^|/)(?:\.travis|appveyor|\.appveyor|azure-pipelines)\.yml$"
)
_BUMP = re.compile(
    r"""
    ^\W* (?:\[\w[^\]]*\]\s*)? (?:(?:build|chore|ci|deps)(?:\([^)]*\))?[:!]\s*)?
    (?: (?:bump|upgrade)(?:s|d|ed|ing)?\b
    | update\b.*\b(?:actions?|dependenc(?:y|ies)|requirements?|from\s+\S+\s+to)\b
    | pin\b | pre-commit\b | deps\b | node\.js@
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_CHANGELOG = re.compile(r"(?:^|/)(?:changes|changelog|history|news)[^/]*$", re.IGNORECASE)


def is_dependencies(subject: str, changes: Sequence[Change]) -> bool:
    """Nothing but lock files, or the files that name dependencies under a subject that is about them."""
    if not changes:
        return False
    locked = manifests = workflows = 0
    for change in changes:
        name = change.path.rpartition("/")[2]
        if name in LOCK_FILES:
            locked += 1
        elif _WORKFLOW.search(change.path):
            workflows += 1
        elif _MANIFEST.search(change.path):
            manifests += 1
        elif not _CHANGELOG.search(change.path):
            return False
    if workflows and not _BUMP.match(subject):
        return False
    if not manifests:
        return bool(locked or workflows)
    return bool(_DEPENDENCY.match(subject)) and not _NAMES_NONE.search(subject)
