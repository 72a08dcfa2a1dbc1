"""What each language defines, under which name, in which container and with which signature."""

from __future__ import annotations

import pytest

from lurcher.chunking.code import parse
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.parsed_file import ParsedFile
from lurcher.types import Definition
from tests.languages.samples import samples

PARSED = [name for name, language in LANGUAGES.items() if language.grammar]


def read(language: str, source: str) -> ParsedFile:
    return parse(source.encode(), language)


def only(language: str, source: str, name: str) -> Definition:
    (definition,) = [entry for entry in read(language, source).definitions if entry.name == name]
    return definition


def span(source: str, definition: Definition) -> str:
    return source.encode()[definition.start_byte : definition.end_byte].decode()


def comments(language: str, source: str) -> list[str]:
    return [source.encode()[start:end].decode() for start, end in read(language, source).comments]


@pytest.mark.parametrize("language", PARSED)
def test_definitions_are_ordered_distinct_and_on_their_lines(language: str) -> None:
    source = samples()[language].source
    text = source.encode()
    definitions = read(language, source).definitions
    keys = [(entry.start_byte, -entry.end_byte, entry.name) for entry in definitions]
    assert keys == sorted(set(keys))
    for entry in definitions:
        assert entry.start_line == text[: entry.start_byte].count(b"\n") + 1
        assert entry.end_line == text[: entry.end_byte - 1].count(b"\n") + 1
        assert entry.signature
        assert len(entry.signature) <= 200
        assert "\n" not in entry.signature


def test_a_signature_skips_comments_and_is_cut_at_200_characters() -> None:
    assert only("python", "def f(a,  # first\n      b):\n    pass\n", "f").signature == "def f(a, b)"
    long = only("python", f"def f({', '.join(f'argument{i}' for i in range(60))}): pass\n", "f").signature
    assert 190 < len(long) <= 200


def test_a_span_includes_decorators_and_attributes_but_not_the_comment_before() -> None:
    python = "# words\n@a\n@b(1)\ndef f(): pass\n"
    assert span(python, only("python", python, "f")) == "@a\n@b(1)\ndef f(): pass"
    rust = samples()["rust"].source
    assert span(rust, only("rust", rust, "Shape")).startswith("#[derive(Debug)]\n// between\n#[serde")
    java = samples()["java"].source
    assert span(java, only("java", java, "area")).startswith("@Override")


def test_a_definition_does_not_run_on_into_the_next_ones_comment() -> None:
    scala = samples()["scala"].source
    assert span(scala, only("scala", scala, "add")) == "def add() =\n    1"


def test_the_equations_of_one_function_are_one_definition() -> None:
    haskell = samples()["haskell"].source
    area = span(haskell, only("haskell", haskell, "area"))
    assert area.startswith("area :: Int")
    assert area.rstrip().endswith("where local = 1")
    elixir = samples()["elixir"].source
    assert span(elixir, only("elixir", elixir, "fetch")).count("def fetch") == 2


def test_documentation_strings_count_as_comments() -> None:
    assert comments("python", samples()["python"].source) == [
        '"""Module words."""',
        '"""Class words."""',
        '"""Method words."""',
    ]
    assert comments("elixir", samples()["elixir"].source) == ['"""\n  Module words.\n  """', '"Fetch words."']


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "x = 1  # words\n"),
        ("javascript", "/** words */\nf();\n"),
        ("go", "package a\n// words\n"),
        ("rust", "/* words */ fn f() {}\n"),
        ("haskell", "module A where\n-- | words\nf = 1\n"),
        ("lua", "--[[ words ]]\nx = 1\n"),
        ("kotlin", "/** words */\nfun f() {}\n"),
        ("swift", "/// words\nfunc f() {}\n"),
    ],
)
def test_comments_are_found(language: str, source: str) -> None:
    (comment,) = comments(language, source)
    assert "words" in comment


def test_a_file_with_syntax_errors_still_defines() -> None:
    assert only("python", "def broken(:\n\ndef fine():\n    return 1\n", "fine").kind == "function"


@pytest.mark.parametrize("language", PARSED)
def test_parsing_twice_gives_the_same(language: str) -> None:
    source = samples()[language].source
    assert read(language, source) == read(language, source)
