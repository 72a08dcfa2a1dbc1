"""Reading patterns: what parses where, what is wrong and at which place, and what every match contains."""

from __future__ import annotations

import pytest

from lurcher.errors import QueryError
from lurcher.query.syntax_pattern import MAX_CHARS, Flaw, SyntaxPattern, check_pattern, make_pattern_error, parse_pattern


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("rust", "fn $NAME($$$) { $$$ }"),
        ("rust", "impl $T for $U { $$$ }"),
        ("rust", "match $X { $$$ }"),
        ("python", "def $F($$$): $$$"),
        ("python", "@$D.route($$$)"),
        ("python", "except $E: $$$"),
        ("java", "class $N { $$$ }"),
        ("java", "$A.foo($$$)"),
        ("java", "private $T $F($$$) { $$$ }"),
        ("c", "printf($$$)"),
        ("c", "struct $S { $$$ };"),
        ("cpp", "class $N { $$$ };"),
        ("csharp", "await $X"),
        ("php", "foo($X)"),
        ("php", "function $F($$$) { $$$ }"),
        ("go", "if err != nil { $$$ }"),
        ("go", "panic($X)"),
        ("go", "c.Flags()"),
        ("go", "func ($C *$T) $NAME() bool { $$$ }"),
        ("typescript", "private $F($$$): $T { $$$ }"),
        ("ruby", "$A.each do |$X| $$$ end"),
        ("kotlin", "fun $F($$$) { $$$ }"),
        ("bash", "echo $X"),
        ("css", "color: $X"),
        ("zig", "const $X = @import($Y);"),
    ],
)
def test_patterns_as_people_write_them_parse(language: str, text: str) -> None:
    assert isinstance(parse_pattern(text, language), SyntaxPattern)


@pytest.mark.parametrize(
    ("language", "text", "message", "hint"),
    [
        ("python", "x = = 3", "python: column 5: unexpected '='", "x = = 3\n    ^"),
        ("javascript", "if (a { b", "javascript: column 6: missing ')'", "if (a { b\n     ^"),
        ("python", "foo()\nbar = = 1", "python: line 2, column 7: unexpected '='", "bar = = 1\n      ^"),
        ("python", "foo()\nbar()", "line 2, column 1: a pattern is one piece of syntax", "bar()\n^^^^^"),
        ("rust", "fn $NAME(", "rust: column 1: unexpected 'fn $NAME('", "fn $NAME(\n^^^^^^^^^"),
        ("javascript", "\tf(é, , = )", "javascript: column ", "\t"),
    ],
)
def test_an_error_shows_where_the_pattern_stops_being_code(language: str, text: str, message: str, hint: str) -> None:
    flaw = parse_pattern(text, language)
    assert isinstance(flaw, Flaw)
    error = make_pattern_error(text, [flaw])
    assert message in error.message and "\n" not in error.message
    assert error.hint.startswith(hint)


def test_other_languages_that_do_not_read_it_are_named() -> None:
    flaws = [parse_pattern("x = = 3", language) for language in ("python", "go", "rust")]
    assert "does not parse as python, nor as go, rust: column 5" in make_pattern_error("x = = 3", flaws).message  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["$X", " $$$ ", "$$$ARGS", "$A $B", "$_"])
def test_a_pattern_that_matches_everything_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="matches everything"):
        check_pattern(text)


def test_a_pattern_has_a_largest_size_and_a_largest_depth() -> None:
    with pytest.raises(QueryError, match="characters"):
        check_pattern("f($X)" * MAX_CHARS)
    for deep in ("(" * 1900 + "a" + ")" * 1900, "a+" * 1900 + "a", "!" * 3000 + "$X", "[" * 3900):
        with pytest.raises(QueryError, match=r"deep|parse"):
            found = parse_pattern(check_pattern(deep), "javascript")
            raise make_pattern_error(deep, [found]) if isinstance(found, Flaw) else AssertionError("it was read")


@pytest.mark.parametrize(
    ("language", "text", "literals"),
    [
        ("python", "isinstance($X, str)", {b"isinstance", b"str"}),
        ("bash", "echo $X", {b"echo"}),
        ("go", "if err != nil { $$$ }", {b"err", b"nil"}),
        ("rust", "fn $NAME($$$) { $$$ }", set()),
        ("php", "foo($X)", {b"foo"}),
        ("python", "f('é')", {b"f", "é".encode()}),
    ],
)
def test_literals_are_the_texts_that_no_match_can_lack(language: str, text: str, literals: set[bytes]) -> None:
    found = parse_pattern(text, language)
    assert isinstance(found, SyntaxPattern)
    assert literals <= set(found.literals) <= literals | {b"'"}


def test_names_of_metavariables_are_distinguished() -> None:
    found = parse_pattern("$A.f($B, $$$REST, $_, $$$)", "python")
    assert isinstance(found, SyntaxPattern)
    assert (found.single, found.several) == (("A", "B"), ("REST",))


@pytest.mark.parametrize("text", ["\0", "f(\0)", "\ud800", "�($X)", "\x1b[31m", "<?php", "`", "'", '"""', "/*", "\\", "#{"])
@pytest.mark.parametrize("language", ["python", "javascript", "bash", "ruby", "php", "html"])
def test_odd_text_is_read_or_refused(text: str, language: str) -> None:
    try:
        found = parse_pattern(text, language)
    except QueryError:
        return
    assert isinstance(found, (SyntaxPattern, Flaw))
