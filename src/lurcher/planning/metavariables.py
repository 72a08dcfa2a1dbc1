"""Tells a pattern of syntax from a question that has a `$` in it, such as a report about a shell variable.

A pattern is code around metavariables. So it has brackets, an assignment, a semicolon or a block, and its words stand alone
but for keywords; words in a row, or a bracket after a space, are prose. And some variable must not be one that every shell has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lurcher.structural.languages import inferred, installed
from lurcher.structural.pattern import MAX_CHARS, METAVARIABLE, Pattern, read

_EVERYDAY = frozenset(
    """
    ARGV CDPATH DISPLAY EDITOR ENV GLOBALS HOME HOST HOSTNAME IFS LANG LANGUAGE LC_ALL LD_LIBRARY_PATH LOGNAME MAIL
    NO_COLOR OLDPWD PAGER PATH PHP_SELF PORT PROMPT PS1 PS2 PWD PYTHONPATH RANDOM SHELL SHLVL TEMP TERM TMP TMPDIR TZ
    UID USER USERNAME VIRTUAL_ENV
    """.split()
)
_KEYWORDS = frozenset(
    """
    abstract and as assert async auto await begin bool break case catch char class const continue data def default defer
    defmodule defp del delete do double elif else end ensure enum except export extends extern final finally float fn
    for foreach from fun func function global go guard if impl implements import in inline instance instanceof int
    interface internal is lambda let local long loop match mod module mut namespace new nonlocal not object of open or
    override package private protected protocol pub public raise record ref rescue return sealed select short signed
    static string struct super switch synchronized template then throw throws trait try type typedef typeof union unless
    unsafe unsigned until use using val var virtual void volatile when where while with yield
    """.split()
)
_BETWEEN = frozenset({"as", "extends", "implements", "in", "instanceof", "of"})
"""Keywords that stand between names."""
_BLOCK = re.compile(r"^\s*(?:async|else|for|if|try|while|with)\b.*:\s*\$\$\$", re.S)
_STRUCTURE = re.compile(r"[(\[{;]|(?<![=!<>])=")
_VARIABLE = re.compile(r"(?<![\w$\\])(?:" + METAVARIABLE.pattern + r")(?![a-z])")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_WORD = r"[^\W\d]\w*"
_IN_A_ROW = re.compile(rf"(?<!\w)({_WORD})[ \t]+(?=({_WORD}))")
_BEFORE_BRACKET = re.compile(rf"(?<!\w)({_WORD})[ \t]+\((?=[^)]*[^\W\d])")
_ANY = "X"
"""Stands for a metavariable when words are looked at."""


def looks_like_pattern(text: str) -> bool:
    """Whether a query reads as code with metavariables; it may still parse in no language."""
    if "$" not in text or len(text) > MAX_CHARS:
        return False
    names = {found.lstrip("$") for found in _VARIABLE.findall(text) if found.startswith("$$$") or not found.startswith("$_")}
    if not names - _EVERYDAY:
        return False
    if not METAVARIABLE.sub("", text).strip():
        return False
    bare = _VARIABLE.sub(_ANY, _STRING.sub("''", text))
    if not _STRUCTURE.search(bare) and not _BLOCK.search(text):
        return False
    return all(word in _KEYWORDS or (word == _ANY and after in _BETWEEN) for word, after in _IN_A_ROW.findall(bare)) and all(
        word in _KEYWORDS for word in _BEFORE_BRACKET.findall(bare)
    )


def is_pattern(text: str, languages: Iterable[str]) -> bool:
    """Whether a query is a pattern in one of `languages`. To a shell everything with a `$` is: it has no say."""
    if not looks_like_pattern(text) or not installed():
        return False
    return any(isinstance(read(text.strip(), language), Pattern) for language in inferred(languages) if language != "bash")
