"""Which commits are rarely the answer: releases, dependency bumps, reformatting, merges, and those beside the code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from lurcher.corpora.history.outcomes.classify_subject import reads_as_fix
from lurcher.languages.detect import TEXT, detect
from lurcher.sources.files import GENERATED_FOLDERS, LOCK_FILES, name_reason
from lurcher.sources.git.parse import Change
from lurcher.sources.roles import EXAMPLE, TEST, VENDORED, roles

RELEASE, DEPENDENCIES, REFORMAT, MERGE = "release", "dependencies", "reformat", "merge"
DOCS, TESTS, GENERATED = "docs", "tests", "generated"
TRAITS = (RELEASE, DEPENDENCIES, REFORMAT, MERGE, DOCS, TESTS, GENERATED)

FACTORS = {RELEASE: 0.7, DEPENDENCIES: 0.7, REFORMAT: 0.7, MERGE: 0.7, DOCS: 0.8, TESTS: 0.85, GENERATED: 0.7}
"""What each kind of noise multiplies a commit's score by. Docs, tests and releases were chosen on the development tasks, the
others are set like releases."""
_MOST_SUBJECT = 1000

__all__ = ["FACTORS", "TRAITS", "reads_as_fix", "traits"]


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

# ----------------------------------------------------------------------------------------------------------------------
# Commits that keep a project going without changing what it does: releases, and versions of dependencies.


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

# ----------------------------------------------------------------------------------------------------------------------
# Commits that lay the same text out anew.


_REFORMAT = re.compile(
    r"\b(?:re-?format\w*|re-?indent\w*|re-?style|whitespace|white\s+space|line\s+endings?|crlf|prettier|black|rustfmt|gofmt|clang-format|"
    r"autopep8|yapf|isort|cargo(?:\s+\S+)?\s+fmt|ruff\s+format|fmt|formatting|code\s*style|style|trailing\s+spaces?|tabs\s+to\s+spaces|"
    r"spaces\s+to\s+tabs|pre-commit|standardrb|linting|lints|pyupgrade|quotes|semicolons?|"
    r"indent(?:s|ed|ation|ing)?|(?:re)?wrap(?:ped|ping)?|cosmetics?|pep\s?8|flake8|rubocop|newlines?|line\s?breaks?)\b|^lint\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\s\"'`,;(){}\[\]\\]+")
_MASS, _MANY, _LEAST_LINES = 200, 20, 4
_ANEW, _SAME = 0.95, 0.9
_MOST_CHARS = 400_000


def is_reformat(subject: str, changes: Sequence[Change]) -> bool:
    """The same text laid out anew.

    White space that changed and nothing else is, unless it is so little that it may well decide what the program does; other
    marks may change too where there is much of it, and where the subject says so, a few words as well. Of a commit that is too
    long to be kept whole, what was kept is weighed.
    """
    spaced = marked = total = chars = 0
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    moved: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for hunk in (hunk for change in changes if not change.binary for hunk in change.hunks):
        new, old = "\n".join(hunk.added), "\n".join(hunk.removed)
        lines = len(hunk.added) + len(hunk.removed)
        total += lines
        words_new, words_old = _MARKS.split(new), _MARKS.split(old)
        if "".join(new.split()) == "".join(old.split()):
            spaced += lines
            marked += lines
        elif "".join(words_new) == "".join(words_old):
            marked += lines
        added.update(filter(None, words_new))
        removed.update(filter(None, words_old))
        moved[0].update(filter(str.strip, hunk.added))
        moved[1].update(filter(str.strip, hunk.removed))
        chars += len(new) + len(old)
        if chars > _MOST_CHARS:
            break
    if total < _LEAST_LINES:
        return False
    whole = max(total, sum(change.added + change.removed for change in changes))
    said = bool(_REFORMAT.search(subject))
    if spaced >= _ANEW * total and (said or whole >= _MANY):
        return True
    if marked >= _SAME * total and whole >= _MASS:
        return True
    if not said or _shared(*moved) > 0.5:  # the same lines elsewhere were moved
        return False
    return _shared(added, removed) >= _SAME


def _shared(one: Counter[str], other: Counter[str]) -> float:
    larger = max(one.total(), other.total())
    return (one & other).total() / larger if larger else 0.0
