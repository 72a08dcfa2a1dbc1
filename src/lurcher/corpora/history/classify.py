"""What kind of commit this is, judged by its subject and its files.

Traits mark commits that are rarely the answer to a query: releases, dependency updates, reformatting, merges, and changes of
nothing but documentation, tests or generated files. Two other tests recognise fixes by their subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from lurcher.languages.detect import TEXT, detect
from lurcher.sources import GENERATED_FOLDERS, LOCK_FILES, name_reason
from lurcher.sources.git.commit import Change
from lurcher.sources.roles import EXAMPLE, TEST, VENDORED, roles

RELEASE, DEPENDENCIES, REFORMAT, MERGE = "release", "dependencies", "reformat", "merge"
DOCS, TESTS, GENERATED = "docs", "tests", "generated"
TRAITS = (RELEASE, DEPENDENCIES, REFORMAT, MERGE, DOCS, TESTS, GENERATED)

FACTORS = {RELEASE: 0.7, DEPENDENCIES: 0.7, REFORMAT: 0.7, MERGE: 0.7, DOCS: 0.8, TESTS: 0.85, GENERATED: 0.7}
"""What each kind of noise multiplies a commit's score by. Docs, tests and releases were chosen on the development tasks, the
others are set like releases."""
_MAX_SUBJECT = 1000
"""Characters of a subject that are examined."""


class ClassifiedCommit(Protocol):
    """The part of a commit that is needed here."""

    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def subject(self) -> str: ...
    @property
    def changes(self) -> tuple[Change, ...]: ...


def commit_traits(commit: ClassifiedCommit) -> tuple[str, ...]:
    """The traits of a commit, in the order of TRAITS; most commits have none."""
    found = set()
    subject = commit.subject[:_MAX_SUBJECT]
    if len(commit.parents) > 1:
        found.add(MERGE)
    changes = commit.changes
    if is_release(subject, changes):
        found.add(RELEASE)
    elif is_dependencies(subject, changes):
        found.add(DEPENDENCIES)
    if changes:
        kinds = {_file_group(change.path) for change in changes}
        if kinds == {DOCS} and RELEASE not in found:
            found.add(DOCS)
        elif kinds == {TESTS}:
            found.add(TESTS)
        elif kinds == {GENERATED} and DEPENDENCIES not in found:
            found.add(GENERATED)
        if is_reformat(subject, changes):
            found.add(REFORMAT)
    return tuple(trait for trait in TRAITS if trait in found)


def noise_factor(traits: Iterable[str]) -> float:
    """What the score of a commit with these traits is multiplied by."""
    product = 1.0
    for trait in traits:
        product *= FACTORS[trait]
    return product


# -- files -------------------------------------------------------------------------------------------------------------

_GENERATED_FOLDERS = frozenset(GENERATED_FOLDERS)
_PROSE = re.compile(
    r"(?:^|/)(?:docs?|documentation|guides?|website|man|blog|news|changelog\.d|newsfragments|\.changeset|releasenotes)/"
    r"|(?:^|/)(?:changes|changelog|history|news|readme|authors|contributors|contributing|license|licence|copying|security|governance|"
    r"code_of_conduct|maintainers|copyright|todo|roadmap|upgrading|funding|codeowners|citation)(?:[._-][^/]*)?$",
    re.IGNORECASE,
)
_PROSE_EXTENSIONS = frozenset("md rst adoc txt markdown mdx asciidoc tex org textile rdoc pod".split())
_IMAGE_EXTENSIONS = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "pdf"})
_REQUIREMENTS = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w./-]+\.(?:txt|in)|constraints[\w.-]*\.txt|"
    r"CMakeLists\.txt|robots\.txt|meson_options\.txt)$"
)
"""Text files that are not prose."""
_NON_CODE_LANGUAGES = frozenset(
    (TEXT, "markdown", "restructuredtext", "asciidoc", "org", "latex", "html", "css", "scss", "xml", "yaml", "json")
)
_DOC_TOOLS = re.compile(r"(?:^|/)(?:conf\.py|Makefile|make\.bat|package\.json|_config\.yml|docusaurus\.config\.[jt]s)$")


@lru_cache(maxsize=20_000)
def _file_group(path: str) -> str:
    """DOCS, TESTS or GENERATED; empty for everything else."""
    *folders, name = path.split("/")
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    reason = name_reason(name, name.rpartition(".")[2])
    flags = roles(path)
    if extension in _PROSE_EXTENSIONS and not flags & TEST and not _REQUIREMENTS.search(path):
        return DOCS
    if reason in ("lock-file", "source-map", "minified-name") or not _GENERATED_FOLDERS.isdisjoint(folders) or flags & VENDORED:
        return GENERATED
    if _REQUIREMENTS.search(path):
        return ""
    if flags & TEST and not (extension in _PROSE_EXTENSIONS and flags & EXAMPLE and not any(map(_is_test_folder, folders))):
        return TESTS
    if extension in _PROSE_EXTENSIONS or (_PROSE.search(path) and (extension == "" or not _is_program(extension))):
        return DOCS
    if _PROSE.search(path) and flags & EXAMPLE and (extension in _IMAGE_EXTENSIONS or _DOC_TOOLS.search(path)):
        return DOCS
    return ""


def _is_test_folder(folder: str) -> bool:
    return bool(roles(f"{folder}/x.py") & TEST)


def _is_program(extension: str) -> bool:
    return detect(f"x.{extension}", b"") not in _NON_CODE_LANGUAGES


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
_OTHER_VERSION = re.compile(
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
_FEW_LINES = 12


def is_release(subject: str, changes: Sequence[Change]) -> bool:
    """Whether the subject is about a version, and hardly anything changed besides the files that hold it."""
    if not _RELEASE.match(subject) or _OTHER_VERSION.search(subject):
        return False
    if not changes:
        return True
    others = [change for change in changes if not _VERSION_FILE.search(change.path)]
    # The subject may be just a version number while the commit is the work of a month.
    return sum(change.added + change.removed for change in others) <= max(_FEW_LINES, 2 * len(others))


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
_NOT_DEPENDENCIES = re.compile(
    r"\b(?:links?|urls?|filename|description|metadata|authors?|e-?mails?|licen[cs]e|homepage|feature)\b", re.IGNORECASE
)
"""Other things in a file of dependencies that a subject may be about."""
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
    """Whether only lock files changed, or files that list dependencies, with a subject that is about them."""
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
    return bool(_DEPENDENCY.match(subject)) and not _NOT_DEPENDENCIES.search(subject)


_REFORMAT = re.compile(
    r"\b(?:re-?format\w*|re-?indent\w*|re-?style|whitespace|white\s+space|line\s+endings?|crlf|prettier|black|rustfmt|gofmt|clang-format|"
    r"autopep8|yapf|isort|cargo(?:\s+\S+)?\s+fmt|ruff\s+format|fmt|formatting|code\s*style|style|trailing\s+spaces?|tabs\s+to\s+spaces|"
    r"spaces\s+to\s+tabs|pre-commit|standardrb|linting|lints|pyupgrade|quotes|semicolons?|"
    r"indent(?:s|ed|ation|ing)?|(?:re)?wrap(?:ped|ping)?|cosmetics?|pep\s?8|flake8|rubocop|newlines?|line\s?breaks?)\b|^lint\b",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[\s\"'`,;(){}\[\]\\]+")
_MASS_LINES, _MANY_LINES, _MIN_LINES = 200, 20, 4
_WHITESPACE_SHARE, _SAME_TEXT_SHARE = 0.95, 0.9
_MAX_CHARS = 400_000


def is_reformat(subject: str, changes: Sequence[Change]) -> bool:
    """Whether the commit only changes the layout of text.

    It does if only white space changed, unless that is so little that it may change what the program does; also if punctuation
    changed in many lines; and, if the subject says so, if a few words changed. Judged by the lines that are stored.
    """
    same_but_space = same_but_punctuation = total = chars = 0
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    moved: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for hunk in (hunk for change in changes if not change.binary for hunk in change.hunks):
        new, old = "\n".join(hunk.added), "\n".join(hunk.removed)
        lines = len(hunk.added) + len(hunk.removed)
        total += lines
        words_new, words_old = _PUNCTUATION.split(new), _PUNCTUATION.split(old)
        if "".join(new.split()) == "".join(old.split()):
            same_but_space += lines
            same_but_punctuation += lines
        elif "".join(words_new) == "".join(words_old):
            same_but_punctuation += lines
        added.update(filter(None, words_new))
        removed.update(filter(None, words_old))
        moved[0].update(filter(str.strip, hunk.added))
        moved[1].update(filter(str.strip, hunk.removed))
        chars += len(new) + len(old)
        if chars > _MAX_CHARS:
            break
    if total < _MIN_LINES:
        return False
    whole = max(total, sum(change.added + change.removed for change in changes))
    announced = bool(_REFORMAT.search(subject))
    if same_but_space >= _WHITESPACE_SHARE * total and (announced or whole >= _MANY_LINES):
        return True
    if same_but_punctuation >= _SAME_TEXT_SHARE * total and whole >= _MASS_LINES:
        return True
    if not announced or _overlap(*moved) > 0.5:  # equal lines were moved, not reformatted
        return False
    return _overlap(added, removed) >= _SAME_TEXT_SHARE


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """The share of the larger multiset that both have in common."""
    larger = max(one.total(), other.total())
    return (one & other).total() / larger if larger else 0.0


_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|issues?|refs?|see|gh)\b:?\s*(?:(?:[\w.-]+/[\w.-]+)?#\d+|https?://\S+|GH-\d+|[A-Z]+-\d+)"
    r"(?:\s*(?:,|and|&)\s*#\d+)*",
    re.IGNORECASE,
)
"""Words that close an issue; the issue may be anything, not only a bug."""
_COSMETIC = re.compile(
    r"\b(?:typos?|mistypes?|misspell\w*|spell\w*|grammar|wording|lint\w*|linter|flake8|pep\s?8|pyflakes|eslint|jshint|clippy|rustfmt|"
    r"mypy|pyright|black|prettier|isort|ruff|format|formatting|reformat\w*|fmt|indent\w*|whitespace|white\s+space|spaces|newlines?|"
    r"style|styles|styling|cosmetic|docs?|docstrings?|docum\w*|rst|jsdoc|rustdoc|javadoc|readme|comments?|copyright|license|"
    r"tests?|testing|testsuite|test\s*suite|specs?|unittests?|expectations?|ci|travis|appveyor|github\s+actions?|workflows?|changelog|changes|history|"
    r"release\s+notes|release|releasing|bump|bumps|version|merge|cosmetics|nit|nits|cleanup|clean\s+up|refactor\w*|rename\w*|reorder\w*|"
    r"type\s*hints?|typings?|type\s+annotations?|annotations?|warnings?|deprecat\w*|examples?|links?|urls?\s+in|anchors?|"
    r"benchmarks?|bench|dependenc(?:y|ies)|deps?)\b",
    re.IGNORECASE,
)
_REVERT = re.compile(r"(?:\W*\w+\W+){0,2}?(?:revert|re-?apply|re-?land)", re.IGNORECASE)
"""Reverts are found by their messages, not as fixes."""
_HTTP_PATCH = re.compile(
    r"\bPATCH\b|\bpatch\s*\(|[.:]patch\b|\bpatch(?:es)?\s+(?:method|requests?|release|version|level)\b|HTTP\s+patch"
)
_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|hot-?fix(?:e[sd]|ing)?|bug-?fix(?:e[sd]|ing)?|bugs?|regressions?|crash(?:e[sd]|ing)?|prevent(?:s|ed)?|"
    r"resolve[sd]?|correct(?:s|ed|ly)?|repair(?:s|ed)?|avoid(?:s|ed)?|handle[sd]?|workaround|broken)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=16)
def _compile_words(words: str) -> re.Pattern[str]:
    listed = [re.escape(word) for word in re.split(r"[\s,;|]+", words) if word]
    if not listed:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(listed)})(?:e?s|e?d|ing)?(?![\w])", re.IGNORECASE)


def mentions_fix(subject: str, words: str) -> bool:
    """Whether the subject has one of the words, in any grammatical form."""
    return bool(_compile_words(words).search(subject[:_MAX_SUBJECT]))


def describes_fix(subject: str, words: str) -> bool:
    """Whether the subject says that it fixes what the code does: not style, tests or docs, and not just closing an issue."""
    subject = subject[:_MAX_SUBJECT]
    if _COSMETIC.search(subject) or _REVERT.match(subject):
        return False
    left = _HTTP_PATCH.sub(" ", subject)
    without = _CLOSES.sub(" ", left)
    # `Fix #12` and nothing else is a fix; `Add a cache, fixes #12` is not.
    return mentions_fix(without if re.search(r"[^\W\d_]{3}", without) else left, words)


def reads_as_fix(subject: str) -> bool:
    """Whether a subject reads as the answer to a bug report; wider than `describes_fix`, for ranking only."""
    return bool(_FIX.search(subject[:_MAX_SUBJECT]))
