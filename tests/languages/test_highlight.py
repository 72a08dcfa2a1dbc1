"""Syntax colours come from the parser: what is in a string is no keyword."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.languages.highlight import MAX_LENGTH, split_by_line, syntax_spans
from lurcher.runtime.kernel import native

pytestmark = pytest.mark.skipif(native() is None, reason="only the kernel's parser colours")


def coloured(text: str, language: str) -> list[tuple[str, str]]:
    found = syntax_spans(text, language)
    assert found is not None
    return [(text[start:end], kind) for start, end, kind in found]


def test_words_of_a_docstring_are_not_keywords() -> None:
    text = 'def f(x):\n    """for a class\n    import é this"""\n    return 1.5  # if\n'
    assert coloured(text, "python") == [
        ("def", "keyword"), ('"""for a class\n    import é this"""', "string"), ("return", "keyword"), ("1.5", "number"),
        ("# if", "comment"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("rust", 'fn a() { "b" }', [("fn", "keyword"), ('"b"', "string")]),
        ("typescript", "let a = `b ${c} d`", [("let", "keyword"), ("`b ", "string"), (" d`", "string")]),
        ("java", "class A { char c = 'x'; }", [("class", "keyword"), ("char", "keyword"), ("'x'", "string")]),
        ("go", "// if\nvar x = 0x1f", [("// if", "comment"), ("var", "keyword"), ("0x1f", "number")]),
        ("ruby", 'puts "x #{y}" if z', [('"x ', "string"), ('"', "string"), ("if", "keyword")]),
    ],
)
def test_other_languages_need_no_table(language: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert coloured(text, language) == expected


def test_a_part_of_a_text_that_begins_within_a_string_is_a_string() -> None:
    text = 'x = """\nreturn if é\n"""\n'
    start = text.index("return")
    assert syntax_spans(text, "python", start, start + 11) == [(start, start + 11, "string")]


def test_no_parser_no_colours() -> None:
    assert syntax_spans("x = 1", "text") is None
    assert syntax_spans("x = 1\n" * MAX_LENGTH, "python") is None


@given(st.text(alphabet=st.sampled_from("ab1é😀\"'#\n (){}:=\\"), max_size=60))
def test_the_lines_have_all_that_is_coloured_but_line_ends(text: str) -> None:
    spans = syntax_spans(text, "python")
    assert spans is not None
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    rows = text.split("\n")
    shown = ["".join(rows[i][a:b] for a, b, _ in row) for i, row in enumerate(split_by_line(text, spans))]
    assert "".join(shown) == "".join(text[a:b] for a, b, _ in spans).replace("\n", "")
