"""What a subject says of a change: that it mends something, or that it is only for looks."""

from __future__ import annotations

import re
from functools import lru_cache

_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|issues?|refs?|see|gh)\b:?\s*(?:(?:[\w.-]+/[\w.-]+)?#\d+|https?://\S+|GH-\d+|[A-Z]+-\d+)"
    r"(?:\s*(?:,|and|&)\s*#\d+)*",
    re.IGNORECASE,
)
"""The words that close an issue, which may ask for anything."""
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
"""That is evidence of another kind."""
_HTTP_PATCH = re.compile(
    r"\bPATCH\b|\bpatch\s*\(|[.:]patch\b|\bpatch(?:es)?\s+(?:method|requests?|release|version|level)\b|HTTP\s+patch"
)
_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|hot-?fix(?:e[sd]|ing)?|bug-?fix(?:e[sd]|ing)?|bugs?|regressions?|crash(?:e[sd]|ing)?|prevent(?:s|ed)?|"
    r"resolve[sd]?|correct(?:s|ed|ly)?|repair(?:s|ed)?|avoid(?:s|ed)?|handle[sd]?|workaround|broken)\b",
    re.IGNORECASE,
)


_MOST = 1000
"""Characters of a subject that are read: more is no subject."""


@lru_cache(maxsize=16)
def _pattern(words: str) -> re.Pattern[str]:
    listed = [re.escape(word) for word in re.split(r"[\s,;|]+", words) if word]
    if not listed:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(listed)})(?:e?s|e?d|ing)?(?![\w])", re.IGNORECASE)


def says_fix(subject: str, words: str) -> bool:
    """Whether one of the words stands in the subject, in any form."""
    return bool(_pattern(words).search(subject[:_MOST]))


def mends(subject: str, words: str) -> bool:
    """The same, and it is a fault in what the code does that is mended: no mere looks, no issue that is merely closed."""
    subject = subject[:_MOST]
    if _COSMETIC.search(subject) or _REVERT.match(subject):
        return False
    left = _HTTP_PATCH.sub(" ", subject)
    without = _CLOSES.sub(" ", left)
    # `Fix #12` and nothing else is a fix; `Add a cache, fixes #12` is not.
    return says_fix(without if re.search(r"[^\W\d_]{3}", without) else left, words)


def reads_as_fix(subject: str) -> bool:
    """Whether a subject reads as the answer to a bug report."""
    return bool(_FIX.search(subject[:_MOST]))
