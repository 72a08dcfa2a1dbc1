"""Identifiers become terms: the compound and its parts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.terms import MAX_IDENTIFIER, UNSPACED_RUN, compound, split, words

ASCII_NAMES = st.text("abcXYZ019_", max_size=40)
ANY_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def may_be_a_name(text: str) -> bool:
    """Whether it is not a sentence of a script without spaces."""
    whole = unicodedata.normalize("NFKC", text)
    return len(whole) <= 16 or UNSPACED_RUN.search(whole) is None


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("getHTTPResponse", ("gethttpresponse", "get", "http", "response")),
        ("get_user", ("getuser", "get", "user")),
        ("getUser", ("getuser", "get", "user")),
        ("redirect", ("redirect",)),
        ("HTTP", ("http",)),
        ("MAX_RETRIES", ("maxretries", "max", "retries")),
        ("__init__", ("init",)),
        ("utf8", ("utf8", "utf", "8")),
        ("base64encode", ("base64encode", "base", "64", "encode")),
        ("XMLHttpRequest", ("xmlhttprequest", "xml", "http", "request")),
        ("x_axis", ("xaxis", "axis")),
        ("2024", ("2024",)),
        ("_", ()),
        ("", ()),
    ],
)
def test_identifiers_split_at_case_underscore_and_digit_borders(identifier: str, terms: tuple[str, ...]) -> None:
    assert split(identifier) == terms


def test_snake_and_camel_case_share_every_term() -> None:
    assert split("parse_cookie_header") == split("parseCookieHeader") == split("ParseCookieHeader")


def test_data_in_the_form_of_an_identifier_gives_no_terms() -> None:
    assert split("a" * MAX_IDENTIFIER) != ()
    assert split("a" * (MAX_IDENTIFIER + 1)) == ()
    assert split("12345678901") == ()


def test_a_digest_is_one_term_without_its_parts() -> None:
    assert split("a1b2c3d4e5f6a7b8") == ("a1b2c3d4e5f6a7b8",)


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("λόγος", ("λόγοσ",)),
        ("ΛόγοςΑρχή", ("λόγοσαρχή", "λόγοσ", "αρχή")),
        ("größe_alt", ("größealt", "größe", "alt")),
        ("検索", ("検索",)),
        ("全文検索", ("全文検索", "全文", "文検", "検索")),
        ("parse検索", ("parse検索", "parse", "検索")),
        ("ﬁle", ("file",)),
    ],
)
def test_other_scripts(identifier: str, terms: tuple[str, ...]) -> None:
    assert split(identifier) == terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी में खोज", ["हिन्दी", "में", "खोज"]),
        ("தமிழ் தேடல்", ["தமிழ்", "தேடல்"]),
        ("مُحَمَّد محمد", ["محمد", "محمد"]),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        ("می‌خواهم", ["میخواهم"]),
        ("Tìm kiếm ÉCOLE", ["tìm", "kiếm", "école"]),
        ("❤️ heart", ["heart"]),
    ],
)
def test_a_mark_does_not_end_its_word_and_optional_signs_do_not_count(text: str, expected: list[str]) -> None:
    assert [split(word)[0] for word in words(unicodedata.normalize("NFD", text))] == expected
    assert [split(word)[0] for word in words(text)] == expected


@pytest.mark.parametrize("text", ["ค้นหาข้อความ", "ຄົ້ນຫາ", "ការស្វែងរក", "မြန်မာဘာသာ", "全文検索", "한국어"])
def test_scripts_without_spaces_are_found_by_every_two_letters(text: str) -> None:
    (word,) = words(text)
    assert split(word) == (text, *(text[i : i + 2] for i in range(len(text) - 1)))


def test_a_sentence_without_spaces_gives_words_and_no_compound() -> None:
    terms = split("FastAPIを使用して作成する関数はとても速いです")
    assert terms[:4] == ("fastapi", "fast", "api", "を使")
    assert "関数" in terms
    assert max(map(len, terms)) == 7
    assert split("漢" * 17) == ("漢漢",) * 16
    assert split("漢" * 200 + "abc") == (*("漢漢",) * 199, "abc")


def test_a_greek_word_is_one_term_in_either_case() -> None:
    assert split("ΟΔΟΣ") == split("οδος") == split("Οδος")
    assert split("ΟΔΟΣ_ΑΒ")[0] == split("οδος_αβ")[0]


def test_an_accent_may_follow_its_letter_or_be_part_of_it() -> None:
    composed, decomposed = "café", unicodedata.normalize("NFD", "café")
    assert composed != decomposed
    assert [split(word) for word in words(composed)] == [split(word) for word in words(decomposed)] == [("café",)]


@given(ANY_NAMES)
def test_splitting_never_fails_and_depends_on_nothing_else(text: str) -> None:
    assert split(text) == split(text)
    for word in words(text):
        assert isinstance(split(word), tuple)
    assert isinstance(compound(text), str)


@given(ASCII_NAMES | ANY_NAMES)
def test_terms_are_lower_case_without_underscores_and_parts_lie_in_the_compound(text: str) -> None:
    terms = split(text)
    for term in terms:
        assert term
        assert "_" not in term
        assert term == term.lower()
    if may_be_a_name(text):  # of a sentence without spaces there is no compound
        assert all(term in terms[0] for term in terms)


@given(ASCII_NAMES)
def test_parts_of_an_ascii_name_stand_in_order(name: str) -> None:
    whole, *parts = split(name) or ("",)
    position = 0
    for part in parts:
        position = whole.index(part, position) + len(part)


@given(ASCII_NAMES)
def test_a_compound_is_its_own_compound(name: str) -> None:
    for term in split(name)[:1]:
        assert split(term)[:1] in ((term,), ())


@given(ASCII_NAMES)
def test_a_part_without_digits_splits_no_further(name: str) -> None:
    for part in split(name)[1:]:
        assert split(part) in ((part,), ())


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=6))
def test_words_joined_either_way_come_back_as_parts(parts: list[str]) -> None:
    expected = ("".join(parts), *(parts if len(parts) > 1 else ()))
    assert split("_".join(parts)) == expected
    assert split("".join(part.capitalize() for part in parts)) == expected


@given(ANY_NAMES)
def test_a_defined_name_is_filed_under_the_term_that_its_use_is_counted_as(text: str) -> None:
    for word in words(text):
        if split(word) and may_be_a_name(word):
            assert compound(word) == split(word)[0]


def test_an_operator_is_filed_as_it_is_written() -> None:
    assert compound("<=>") == "<=>"
    assert compound("operator==") == "operator"


def test_words_are_found_in_order() -> None:
    assert words("if (getUser(id) >= 10) return _x;") == ["if", "getUser", "id", "10", "return", "_x"]
