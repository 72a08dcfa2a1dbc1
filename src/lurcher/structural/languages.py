"""Which of our languages ast-grep has a grammar for, and how a metavariable is written in each.

A `$` is no part of a name in most languages, so ast-grep puts another character for it before it parses a pattern. To say where
a pattern is wrong we have to parse it as it does: a test holds the sigils against the installed ast-grep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lurcher.errors import MissingExtra
from lurcher.languages.detect import LANGUAGES

SIGILS = {name: language.sigil for name, language in LANGUAGES.items() if language.sigil}
"""Our language → what stands for a `$` in its patterns."""


def grammar_name(language: str) -> str:
    """What ast-grep calls a language."""
    return LANGUAGES[language].ast_grep or language


def inferred(languages: Iterable[str]) -> tuple[str, ...]:
    """Those of `languages` in which a pattern is tried when none is named, sorted."""
    return tuple(sorted(language for language in set(languages) if language in SIGILS and not LANGUAGES[language].markup))


def parser() -> Any:
    """ast-grep's parser; an error that says how to install it where it is missing."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise MissingExtra(
            "structural search needs ast-grep, which is not installed", "run: pip install 'lurcher[structural]'"
        ) from None
    return SgRoot


def installed() -> bool:
    from importlib.util import find_spec

    return find_spec("ast_grep_py") is not None
