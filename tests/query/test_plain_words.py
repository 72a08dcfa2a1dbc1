"""What is told of plain words without regular expressions is what the expressions say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher import query, terms
from lurcher.terms import vocabulary

PIECES = (
    "how", "What", "does", "don't", "not", "cannot", "no longer", "instead of", "crashes", "KeyError", "error", "warning",
    "add", "fix", "feature:", "HttpClient", "HTTPServer", "getURL", "snake_case", "__init__", "_x", "_private", "a__b", "x_",
    "A1B",
    "a.b", "Foo::bar", "a#b", "p->q", "call()", "x?", "!", ".", ":", "#", "\\w+", ".*", "[a-z]", "(?:x)", "^a", "b$", "Alpha",
    "beta", "\n", "  ", "é", "名前", "x1", "2y", "H2O", "_1a", "Ab", "aB", "ABc", "y", "-", "'",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_questions_are_read_as_the_expressions_say(text: str) -> None:
    line = text.strip()
    if "\n" not in line:
        assert query._is_qualified_name(line) is (query.QUALIFIED.match(line) is not None)
    assert query.find_code_names(text) == list(dict.fromkeys(found[0] for found in query._CODE_NAME.finditer(text)))
    assert query.find_capitalised_words(text) == list(dict.fromkeys(found[0] for found in query._CAPITALISED.finditer(text)))
    complains = query._COMPLAINT.search(text) is not None
    assert query.requests_change(text) is (not query._QUESTION.match(text) and complains)
    assert query._is_short_phrase(line) is (query._PHRASE.fullmatch(line) is not None)
    assert query.split_qualified_name(text) == [
        part for part in re.split(r"::?|\.|#|->|/|\\", text.strip("@$#.:").removesuffix("()")) if part
    ]
    if query._REGEX_SYNTAX.search(line):
        assert any(sign in line for sign in query._REGEX_MARKS)


@pytest.mark.parametrize("text", ["how is a.b read", "retry after a failed request", "HTTPServer", "Foo::bar", "x y"])
def test_both_ways_are_taken(text: str) -> None:
    """The expressions still decide about what is not plain."""
    assert query.detect_intent(text) == (query.LANGUAGE if " " in text else query.SYMBOL)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="aeiouybtwxs", max_size=12))
def test_runs_of_vowels_are_counted(word: str) -> None:
    assert vocabulary._count_vowel_runs(word) == len(re.findall(r"(?:[aeiou]|(?<=[^aeiou])y)+", word))


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=30))
def test_words_of_ascii_are_runs_of_word_characters(text: str) -> None:
    assert terms.words(text) == re.findall(r"\w+", text)
    for word in terms.words(text):
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", word)
        assert terms._split_parts(word) == parts
        assert terms.split(word)[1:] in ((), tuple(part.lower() for part in parts if len(part) > 1 or part.isdigit()))
