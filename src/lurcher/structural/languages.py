"""Which of our languages ast-grep has a grammar for, and how a metavariable is written in each.

A `$` is no part of a name in most languages, so ast-grep puts another character for it before it parses a pattern. To say where
a pattern is wrong we have to parse it as it does: a test holds this table against the installed ast-grep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lurcher.errors import MissingExtra

SIGILS = {
    "bash": "$", "c": "𐀀", "cpp": "𐀀", "csharp": "µ", "css": "_", "dart": "$", "elixir": "µ", "go": "µ", "haskell": "µ",
    "html": "z", "java": "$", "javascript": "$", "json": "$", "kotlin": "µ", "lua": "$", "markdown": "$", "nix": "_",
    "php": "µ", "python": "µ", "ruby": "µ", "rust": "µ", "scala": "$", "solidity": "$", "swift": "µ", "terraform": "µ",
    "tsx": "$", "typescript": "$", "yaml": "$", "zig": "_",
}  # fmt: skip
"""Our language → what stands for a `$` in its patterns."""

_THEIRS = {"terraform": "hcl"}

ASKED_FOR_ONLY = frozenset({"css", "html", "json", "markdown", "yaml"})
"""Markup and data, in which nearly every text parses: searched only when they are named."""


def grammar_name(language: str) -> str:
    """What ast-grep calls a language."""
    return _THEIRS.get(language, language)


def inferred(languages: Iterable[str]) -> tuple[str, ...]:
    """Those of `languages` in which a pattern is tried when none is named, sorted."""
    return tuple(sorted(language for language in set(languages) if language in SIGILS and language not in ASKED_FOR_ONLY))


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
