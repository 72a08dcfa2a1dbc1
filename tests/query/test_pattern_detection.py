"""Patterns are told from questions that have a `$` in them."""

from __future__ import annotations

import pytest

from lurcher.query import make_plan, syntax_pattern
from lurcher.query.syntax_pattern import is_pattern, looks_like_pattern
from tests.small import snapshot_of

LANGUAGES = tuple("bash c elixir go haskell java javascript php python ruby rust scala typescript".split())

QUESTIONS = [
    "$HOME is not set",
    "$HOME (not set)",
    "why is $HOME (my home) ignored?",
    "export PATH=$PATH:/usr/bin",
    "set $FOO=1",
    "$FOO: command not found",
    "echo $FOO",
    "cd $FOO; make",
    "$FOO is not set (why?)",
    "$API_KEY=abc in the .env file is ignored",
    "env var $DATABASE_URL = postgres://x is wrong",
    "Error: $TOKEN not found; please set it",
    "how does ${HOME} work",
    "it costs $$$",
    "cost: $$$",
    "$_SERVER['HTTP_HOST']",
    "$this->foo($bar)",
    "$(document).ready()",
    "$PATH[0]",
    "what does foo($X) do",
    "pass $ARGS to run()",
    "$ARGS (a list) is empty",
    "$A is $B",
    "$USER@example.com",
    "$HOME/.config",
    "Bug: $FOO[0] fails\n\nWhen I run it with {a: 1} it fails",
    "$X",
    "a price of $5 (or $10)",
]
PATTERNS = [
    "fn $NAME($$$) { $$$ }",
    "async fn $N($$$) -> $R { $$$ }",
    "$A.unwrap()",
    "def $F($$$): $$$",
    "@$D\ndef $F($$$): $$$",
    "for $X in $Y: $$$",
    "try: $$$\nexcept $E: $$$",
    "if ($COND) { $$$ }",
    "if err != nil { return $X }",
    "class $C extends $D { $$$ }",
    "public static void $F($$$) { $$$ }",
    "console.log($$$)",
    "foo($$$ARGS)",
    "$X = $Y",
    "$X == None",
    "new $T()",
    "return $X;",
    "raise ValueError('give $HOME (all of it) to $X', $X)",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_stays_one(text: str) -> None:
    assert not is_pattern(text, LANGUAGES)


@pytest.mark.parametrize("text", PATTERNS)
def test_a_pattern_is_one(text: str) -> None:
    assert is_pattern(text, LANGUAGES)


def test_it_has_to_parse_in_a_language_of_the_index() -> None:
    assert is_pattern("fn $NAME($$$) -> $R { $$$ }", ["rust", "python"])
    assert not is_pattern("fn $NAME($$$) -> $R { $$$ }", ["python", "markdown"])
    assert not is_pattern("$A.unwrap()", [])
    assert not is_pattern("$X=$(cat $Y)", ["bash"])  # to a shell these are its own variables


def test_without_ast_grep_nothing_is_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax_pattern, "has_ast_grep", lambda: False)
    assert looks_like_pattern("$A.unwrap()")
    assert not is_pattern("$A.unwrap()", ["rust"])


def test_the_plan_follows() -> None:
    snapshot = snapshot_of({"a.rs": "fn main() { x.unwrap() }\n"})
    assert snapshot.languages == ("rust",)
    plan = make_plan("$A.unwrap()", "auto", snapshot, languages=snapshot.languages)
    assert (plan.mode, plan.intent, plan.lanes, plan.groups) == ("structural", "pattern", ("structural",), ())
    assert make_plan("$HOME is not set", "auto", snapshot, languages=snapshot.languages).mode == "hybrid"
    assert make_plan("$A.unwrap()", "hybrid", snapshot, languages=snapshot.languages).mode == "hybrid"
