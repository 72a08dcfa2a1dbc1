"""Places, captures, and the law that looking for literals first loses no match."""

from __future__ import annotations

from ast_grep_py import SgRoot
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.lanes import structural
from lurcher.query.syntax_pattern import SyntaxPattern, grammar_name, parse_pattern

NAMES = ("get", "getUser", "x", "été", "_a1", "str", "self", "名前", "Foo")


def pattern(text: str, language: str = "python") -> SyntaxPattern:
    found = parse_pattern(text, language)
    assert isinstance(found, SyntaxPattern), found
    return found


def test_places_are_lines_and_columns_of_characters() -> None:
    text = "é = 'ü'; f(é)\nif é:\n    f(\n        1,\n    )\n"
    found = [item for _, item in structural.describe_matches(pattern("f($$$A)"), text)]
    assert [(m.start_line, m.start_column, m.end_line, m.end_column) for m in found] == [(1, 10, 1, 14), (3, 5, 5, 6)]
    assert [m.captures for m in found] == [{"A": ["é"]}, {"A": ["1"]}]


def test_spans_are_bytes_of_the_file() -> None:
    text = "é = 'ü'; f(é)\nf(2)\n"
    data = text.encode()
    assert [data[start:end].decode() for start, end in structural.find_spans(pattern("f($X)"), text)] == ["f(é)", "f(2)"]


def test_the_outer_of_two_matches_comes_first_and_both_count() -> None:
    found = [item.captures["F"] for _, item in structural.describe_matches(pattern("$F($$$)"), "a(b(c()))")]
    assert found == ["a", "b", "c"]


def test_a_line_end_is_no_part_of_a_match() -> None:
    ((_, found),) = structural.describe_matches(pattern("class $C: $$$"), "class A:\n    x = 1\n\n\n")
    assert (found.end_line, found.end_column) == (2, 10)


def test_captured_texts_are_cut_and_counted() -> None:
    long = "'" + "a" * 2000 + "'"
    ((_, found),) = structural.describe_matches(pattern("f($A, $$$REST)"), f"f({long}, {', '.join(['1'] * 300)})")
    assert found.captures["A"] == long[: structural.MAX_CAPTURE_CHARS] + "…"
    assert len(found.captures["REST"]) == structural.MAX_CAPTURES + 1


def test_a_repeated_metavariable_matches_the_same_code() -> None:
    assert len(structural.find_spans(pattern("$A == $A"), "x == x\nx == y\n")) == 1


def test_wide_characters_in_a_shell_script_do_no_harm() -> None:
    text = "echo '名前' \"$X\"\necho ok\nécho 😀\n"
    found = [item.captures for _, item in structural.describe_matches(pattern("echo $A", "bash"), text)]
    assert {"A": "ok"} in found


def test_a_large_file_in_another_language_is_not_given_to_the_grammar() -> None:
    prose = "the quick (brown fox; jumps } over ] the lazy dog's\n" * 2000
    try:
        found = structural.find_spans(pattern("foo($X)", "java"), prose)
    except structural.UnreadableFile as refused:
        assert "not in the language" in str(refused)
    else:
        assert found == []


_NAME = st.sampled_from(NAMES)
_VALUE = st.one_of(_NAME, st.integers(0, 99).map(str), st.sampled_from(["'str'", "'a\\nget'", "\"x\"", "None", "f'{x}get'"]))
_CALL = st.builds(lambda f, args: f"{f}({', '.join(args)})", _NAME, st.lists(_VALUE, max_size=3))
_CODE = st.recursive(
    st.one_of(_CALL, _VALUE),
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"{a}.{b}", _NAME, _NAME),
        st.builds(lambda a, b: f"{a} + {b}", inner, inner),
        st.builds(lambda a, b: f"{a}({b})", _NAME, inner),
        st.builds(lambda a: f"[{a}]", inner),
    ),
    max_leaves=6,
)
_LINE = st.one_of(
    st.builds(lambda a, b: f"{a} = {b}", _NAME, _CODE),
    _CODE,
    st.builds(lambda a: f"def {a}(self): return {a}", _NAME),
    st.sampled_from(["12get(1)", "x = = get", "# get(1)", "print 'get'", "getUser (", "\\get", "0xget"]),
)
_HOLE = st.sampled_from(["$A", "$B", "$$$", "$$$REST", "$_", "$$OP"])
_PATTERN = st.one_of(
    st.builds(
        lambda f, args: f"{f}({', '.join(args)})", st.one_of(_NAME, _HOLE), st.lists(st.one_of(_VALUE, _HOLE), max_size=3)
    ),
    st.builds(lambda a, b: f"{a} = {b}", st.one_of(_NAME, _HOLE), st.one_of(_CODE, _HOLE)),
    st.builds(lambda a, b: f"{a}.{b}", st.one_of(_NAME, _HOLE), st.one_of(_NAME, _HOLE)),
    st.builds(lambda a: f"def {a}($$$): $$$", st.one_of(_NAME, _HOLE)),
    _CODE,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINE, max_size=6).map("\n".join), _PATTERN, st.sampled_from(["python", "javascript", "ruby", "bash"]))
def test_filtering_by_literals_first_loses_no_match(text: str, wanted: str, language: str) -> None:
    found = parse_pattern(wanted, language)
    if not isinstance(found, SyntaxPattern):
        return
    if not structural.may_match(found, text.encode()):
        assert SgRoot(text, grammar_name(language)).root().find_all(pattern=found.rule) == []


@settings(max_examples=150, deadline=None)
@given(st.lists(_LINE, max_size=6).map("\n".join), _PATTERN)
def test_places_and_spans_are_of_the_same_matches(text: str, wanted: str) -> None:
    found = parse_pattern(wanted, "python")
    if not isinstance(found, SyntaxPattern):
        return
    spans = structural.find_spans(found, text)
    described = list(structural.describe_matches(found, text))
    assert [start for start, _ in spans] == [byte for byte, _ in described]
    lines = text.split("\n")
    for (start, _), (_, item) in zip(spans, described, strict=True):
        before = "\n".join([*lines[: item.start_line - 1], lines[item.start_line - 1][: item.start_column - 1]])
        assert len(before.encode()) == start
