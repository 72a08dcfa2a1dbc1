"""Commits that lay the same text out anew."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lurcher.history.records import Change

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
