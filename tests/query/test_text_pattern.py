"""Patterns: what they find, what they must contain, and what is no pattern."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lurcher.errors import MissingExtra, QueryError
from lurcher.query import compile_phrase
from lurcher.query.text_pattern import compile_pattern, parse_syntax


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("foo.*bar", ("foo", "bar")),
        ("(a|b)cde", ("cde",)),
        ("foo|bar", ()),
        ("a+bc?de", ("a", "b", "de")),
        ("foo{2,3}bar", ("fo", "bar")),
        (r"\(self\)", ("(self)",)),
        (r"def \w+_error", ("def ", "_error")),
        ("[A-Z]foo", ("foo",)),
        ("(?i)foo", ()),
        (r"\pLfoo", ("foo",)),
        (r"\x41foo", ("foo",)),
        ("1{?", ("1",)),
        ("a{,2}b", ("a{,2}b",)),
        ("a+*b", ("a", "b")),
        ("", ()),
    ],
)
def test_what_every_match_contains(text: str, runs: tuple[str, ...]) -> None:
    assert parse_syntax(text, False).runs == runs


@given(st.text("ab_(|)[]*+?.^$\\{}1,Q", max_size=12), st.text("ab_1", min_size=1, max_size=20))
@example("1{?", "1")
@settings(max_examples=600, deadline=None)
def test_no_match_is_without_what_every_match_contains(text: str, word: str) -> None:
    try:
        pattern = compile_pattern(text, case="exact")
    except QueryError:
        return
    for line in (word, word * 2, text):
        data = line.encode()
        for start, end in pattern.spans(data, 0, len(data)):
            found = data[start:end].decode()
            assert all(run in found for run in pattern.syntax.runs), (text, found, pattern.syntax.runs)


@pytest.mark.parametrize(
    ("text", "case", "found"),
    [
        ("client", "smart", ["Client", "client", "CLIENT"]),
        ("Client", "smart", ["Client"]),
        ("client", "exact", ["client"]),
        ("CLIENT", "ignore", ["Client", "client", "CLIENT"]),
        (r"\Slient", "smart", ["Client", "client", "CLIENT"]),
    ],
)
def test_case(text: str, case: str, found: list[str]) -> None:
    data = b"Client client CLIENT"
    pattern = compile_pattern(text, case=case)
    assert [data[a:b].decode() for a, b in pattern.spans(data, 0, len(data))] == found


def test_whole_words_beside_each_other_are_all_found() -> None:
    pattern = compile_pattern("foo", word=True)
    data = b"foo foo,foo foot _foo foo\nfoo"
    assert [a for a, _ in pattern.spans(data, 0, len(data))] == [0, 4, 8, 22, 26]
    assert len(list(compile_pattern("f[o]+", word=True).spans(data, 0, len(data)))) == 5


def test_lines_and_all_matches_in_them() -> None:
    data = b"aXbX\nnone\nX\n"
    pattern = compile_pattern("X", case="exact")
    assert [a for a, _ in pattern.lines(data)] == [1, 10]
    assert pattern.starts(data) == [1, 3, 10]
    assert list(pattern.spans(data, 0, 5)) == [(1, 2), (3, 4)]


@pytest.mark.parametrize("text", ["(", "[a", "a**b(", "(?<!x)y", r"\1"])
def test_an_invalid_regular_expression_is_an_error(text: str) -> None:
    with pytest.raises(QueryError, match="not a regular expression") as error:
        compile_pattern(text)
    assert "--fixed" in error.value.hint
    assert compile_pattern(text, fixed=True).starts(text.encode()) == [0]


def test_empty_patterns_and_line_breaks() -> None:
    with pytest.raises(QueryError, match="empty"):
        compile_pattern("")
    with pytest.raises(QueryError, match="line break"):
        compile_pattern("a\nb", word=True)
    assert compile_pattern("a\nb", multiline=True).starts(b"xa\nb") == [1]


def test_time_is_linear_in_the_text() -> None:
    """What makes other engines backtrack for ever."""
    data = b"a" * 200_000 + b"!"
    assert compile_pattern("(a+)+$").first(data, 0) is None
    assert compile_pattern("(a|aa)+$").first(data, 0) is None


@given(
    st.sampled_from(["a", "ab", "[ab]", "a+", "a*", "b|ab", "()", "."]), st.booleans(),
    st.text("ab\n", max_size=40), st.sets(st.integers(0, 40), max_size=5), st.integers(1, 4),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_between_two_borders_no_more_matches_are_found_than_requested(
    text: str, fixed: bool, written: str, borders: set[int], most: int
) -> None:
    pattern, data = compile_pattern(text, fixed=fixed, case="exact"), written.encode()
    ordered = sorted(border for border in borders if border <= len(data))
    found = pattern.starts(data, ordered, most)
    parts = [sum(border <= start for border in ordered) for start in found]
    assert found == sorted(set(found))
    assert all(parts.count(part) <= most for part in parts)
    every = pattern.starts(data)
    if most >= len(every):
        assert found == every
    # A part that has any match has one that is found, unless a match that reaches over its border hides it.
    if len(text) == 1:
        assert set(parts) == {sum(border <= start for border in ordered) for start in every}


def test_groups_cost_nothing() -> None:
    pattern = compile_pattern("()" * 2000)
    assert pattern._expression.groups == 0
    assert pattern.starts(b"abc") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a|" * 6000, {}, "12,000 characters"),
        (r"\pL{1,900}", {}, "too large"),
        ("()" * 60, {"word": True}, "60 groups"),
        (".{0,900}" * 4, {}, "too large"),
    ],
)
def test_a_pattern_that_would_take_for_ever_is_refused(text: str, options: dict[str, bool], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        compile_pattern(text, **options)  # type: ignore[arg-type]


def test_without_the_package_for_patterns_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtra, match="google-re2") as told:
        compile_pattern("parse_[a-z]+")
    assert told.value.hint == "pip install google-re2"
    assert compile_pattern("parse_cookie", fixed=True).first(b"def parse_cookie", 0) == (4, 16)  # plain text needs no package
    assert compile_phrase("größe der seite") is None  # a sign among others is done without
