from __future__ import annotations

import pytest

from lurcher.query import (
    LANGUAGE,
    REPORT,
    SYMBOL,
    detect_intent,
    find_capitalised_words,
    find_code_names,
    looks_like_regex,
    split_qualified_name,
)


@pytest.mark.parametrize(
    "text", ["getUserById", "Foo::bar", "a.b.c", "Foo#bar", "_private", "response", "empty?", "run()", "größe"]
)
def test_one_name_is_a_symbol(text: str) -> None:
    assert detect_intent(text) == SYMBOL


@pytest.mark.parametrize("text", ["how are redirects followed", "two words", "what is 42?", "a, b", "404", "::"])
def test_words_are_a_question(text: str) -> None:
    assert detect_intent(text) == LANGUAGE


def test_several_lines_are_a_report_but_blank_lines_are_not() -> None:
    assert detect_intent("crash on start\n\nTraceback follows") == REPORT
    assert detect_intent("\n  how does it start  \n\n") == LANGUAGE


def test_names_are_seen_by_how_they_are_written() -> None:
    text = "why does HttpClient.retry ignore max_retries and the HTTPServer, but not the plain words or _hidden?"
    assert find_code_names(text) == ["HttpClient.retry", "max_retries", "HTTPServer", "_hidden"]
    assert find_code_names("plain words only") == []


def test_capitals_inside_a_sentence_are_types_more_often_than_not() -> None:
    assert find_capitalised_words("How does the Session send a Request") == ["Session", "Request"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [("Foo::bar", ["Foo", "bar"]), ("a.b.c", ["a", "b", "c"]), ("Foo#bar", ["Foo", "bar"]), ("run()", ["run"]), (".", [])],
)
def test_parts(name: str, parts: list[str]) -> None:
    assert split_qualified_name(name) == parts


@pytest.mark.parametrize(
    "text",
    [r"def \w+_error", "get.*Response", "[a-z]+_id", r"\bfoo\b", "^class ", r"foo\(", "(?i)todo", "end$", r"a\.b\.c", "x.+y"],
)
def test_regular_expressions_are_seen(text: str) -> None:
    assert looks_like_regex(text)


@pytest.mark.parametrize(
    "text",
    [
        "how are redirects followed?", "Client.get", "foo()", "operator*", "list[int]", "what does foo(bar) do?", "a.b.c",
        "C++", "dict[str, int]", "price in $", "(optional) arguments", "Foo::bar", "src/*.py", "5 * 3 + 2", "e.g. cookies...",
        "$HOME", "line one\nline .* two", "what is [this]", "x^2", "why .* in (broken",
    ],
)  # fmt: skip
def test_questions_and_code_are_not_taken_for_regular_expressions(text: str) -> None:
    assert not looks_like_regex(text)
