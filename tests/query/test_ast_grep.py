"""The table of languages is held against the ast-grep that is installed."""

from __future__ import annotations

import builtins
import re
from typing import Any

import pytest
from ast_grep_py import SgRoot

from lurcher.errors import MissingExtra
from lurcher.languages.detect import LANGUAGES
from lurcher.query import syntax_pattern as languages


@pytest.mark.parametrize("language", sorted(languages.SIGILS))
def test_the_sign_for_a_dollar_is_the_one_that_ast_grep_uses(language: str) -> None:
    assert language in LANGUAGES
    root = SgRoot("a", languages.grammar_name(language)).root()
    with pytest.raises(RuntimeError) as refused:  # ast-grep tells the pattern as it parsed it
        root.find(pattern="$$$")
    assert re.search(r"variable `(.)\1\1`", str(refused.value))[1] == languages.SIGILS[language]  # type: ignore[index]


def test_markup_and_what_has_no_grammar_are_not_inferred() -> None:
    assert languages.infer_languages(["rust", "markdown", "toml", "python", "json", "rust"]) == ("python", "rust")


def test_without_ast_grep_the_error_has_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "ast_grep_py":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra) as missing:
        languages.load_parser()
    assert "pip install ast-grep-py" in missing.value.hint
