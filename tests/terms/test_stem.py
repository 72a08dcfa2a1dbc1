"""Word stems, after Porter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.terms import vocabulary
from lurcher.terms.vocabulary import STOP_WORDS, abbreviations, stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # The examples of the paper, step by step.
        ("caresses", "caress"), ("ponies", "poni"), ("caress", "caress"), ("cats", "cat"), ("agreed", "agre"),
        ("plastered", "plaster"), ("bled", "bled"), ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"),
        ("troubled", "troubl"), ("sized", "size"), ("hopping", "hop"), ("falling", "fall"), ("hissing", "hiss"),
        ("filing", "file"), ("happy", "happi"), ("relational", "relat"), ("conditional", "condit"), ("valenci", "valenc"),
        ("digitizer", "digit"), ("operator", "oper"), ("feudalism", "feudal"), ("decisiveness", "decis"),
        ("hopefulness", "hope"), ("formaliti", "formal"), ("sensibiliti", "sensibl"), ("triplicate", "triplic"),
        ("formative", "form"), ("formalize", "formal"), ("electrical", "electr"), ("goodness", "good"),
        ("revival", "reviv"), ("allowance", "allow"), ("inference", "infer"), ("adjustable", "adjust"),
        ("replacement", "replac"), ("adoption", "adopt"), ("activate", "activ"), ("effective", "effect"),
        ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controlling", "control"), ("roll", "roll"),
    ],
)  # fmt: skip
def test_stems_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("redirect", "redirects", "redirected", "redirecting", "redirection"),
        ("configure", "configuration", "configured", "configures"),
        ("connect", "connection", "connections", "connected", "connecting"),
        ("retry", "retries", "retried"),
        ("parse", "parses", "parsed", "parsing"),
    ],
)
def test_forms_of_one_word_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_different_words_keep_different_stems() -> None:
    assert len({stem(word) for word in ("cache", "catch", "route", "root", "parse", "part", "user", "use")}) == 8


@pytest.mark.parametrize("word", ["", "a", "is", "as", "utf8", "検索検索", "größen", "x_y_z"])
def test_short_words_and_other_scripts_are_their_own_stem(word: str) -> None:
    assert stem(word) == word


@given(st.text(max_size=30) | st.from_regex(r"[a-z]{1,20}", fullmatch=True))
def test_a_stem_is_never_longer_and_never_fails(word: str) -> None:
    found = stem(word)
    assert len(found) <= len(word)
    assert found == stem(word)
    assert bool(found) == bool(word)


@given(st.from_regex(r"[a-z]{1,6}(s|ed|ing|ly|ness|ation|ational|izer)?", fullmatch=True))
def test_a_stem_begins_like_its_word(word: str) -> None:
    found = stem(word)
    assert word.startswith(found[:-1])


def test_abbreviations_lead_both_ways() -> None:
    assert abbreviations("configuration") == ("cfg", "conf", "config")
    assert abbreviations("config") == ("configuration", "configure")
    for word in vocabulary._ABBREVIATIONS.split():
        others = abbreviations(word)
        assert others and list(others) == sorted(others)
        assert all(word in abbreviations(other) for other in others)


@pytest.mark.parametrize("word", ["", " ", "\n", "figuration", "con", "config ", "configuration config", "ümlaut"])
def test_what_is_no_word_of_it_has_no_abbreviations(word: str) -> None:
    assert abbreviations(word) == ()


def test_stop_words_are_lower_case_words() -> None:
    assert {"the", "how", "is"} <= STOP_WORDS
    assert all(word == word.lower() and word for word in STOP_WORDS)
