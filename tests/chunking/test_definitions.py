"""What each language defines, under which name, in which container and with which signature."""

from __future__ import annotations

import pytest
from snippets import SNIPPETS

from lurcher.chunking.code import parse
from lurcher.chunking.languages import LANGUAGES
from lurcher.types import Definition, ParsedFile

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
def test_the_language_finds_its_definitions(language: str) -> None:
    source, expected = SNIPPETS[language]
    found = [f"{'' if entry.exported else '-'}{entry.kind} {entry.qualified}" for entry in read(language, source).definitions]
    assert found == [line for line in expected.split("\n") if line]


@pytest.mark.parametrize("language", PARSED)
def test_definitions_are_ordered_distinct_and_on_their_lines(language: str) -> None:
    source, _ = SNIPPETS[language]
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


@pytest.mark.parametrize(
    ("language", "name", "signature"),
    [
        ("python", "_hidden", "async def _hidden(self, a: int = 1) -> str"),
        ("python", "Outer", "class Outer(Base)"),
        ("javascript", "use", "app.use = function use(fn)"),
        ("javascript", "arrow", "const arrow = async (a) =>"),
        ("javascript", "Shape", "export default class Shape extends Base"),
        ("typescript", "Store", "export abstract class Store"),
        ("typescript", "read", "read(n: number): T"),
        ("go", "Insert", "func (t *Tree[K]) Insert(key K) bool"),
        ("go", "Tree", "type Tree[K any] struct"),
        ("rust", "Shape", "pub struct Shape<'a>"),
        ("rust", "new", "pub fn new() -> Self"),
        ("java", "area", "public <R> List<R> area(int a) throws IOException"),
        ("java", "Marker", "@interface Marker"),
        ("c", "matrix", "char **matrix(void)"),
        ("c", "MAX", "#define MAX(a, b)"),
        ("cpp", "Box", "template <typename T> struct Box"),
        ("csharp", "Run", "public async Task<int> Run<T>(int a) where T : class"),
        ("csharp", "Name", "public string Name"),
        ("ruby", "Flat", "module Geo::Flat"),
        ("ruby", "make", "def self.make(x)"),
        ("php", "Shape", "final class Shape extends Base"),
        ("bash", "build", "build()"),
        ("kotlin", "hidden", 'private fun hidden(a: Map<String, Int> = mapOf("}" to 1)): Int'),
        ("kotlin", "second", "fun <T> List<T>?.second()"),
        ("scala", "norm", "def norm: Int"),
        ("swift", "make", "static func make<T>(a: T) -> Int where T: P"),
        ("elixir", "Conn", "defmodule Plug.Conn"),
        ("elixir", "build", "defmacro build(x)"),
        ("haskell", "area", "area :: Int -> Int"),
        ("lua", "close", "M.close = function(x)"),
        ("zig", "init", "pub fn init(a: u32) Shape"),
    ],
)
def test_a_signature_is_the_definition_up_to_its_body(language: str, name: str, signature: str) -> None:
    assert only(language, SNIPPETS[language][0], name).signature == signature


def test_a_signature_skips_comments_and_is_cut_at_200_characters() -> None:
    assert only("python", "def f(a,  # first\n      b):\n    pass\n", "f").signature == "def f(a, b)"
    long = only("python", f"def f({', '.join(f'argument{i}' for i in range(60))}): pass\n", "f").signature
    assert 190 < len(long) <= 200


def test_a_span_includes_decorators_and_attributes_but_not_the_comment_before() -> None:
    python = "# words\n@a\n@b(1)\ndef f(): pass\n"
    assert span(python, only("python", python, "f")) == "@a\n@b(1)\ndef f(): pass"
    rust = SNIPPETS["rust"][0]
    assert span(rust, only("rust", rust, "Shape")).startswith("#[derive(Debug)]\n// between\n#[serde")
    java = SNIPPETS["java"][0]
    assert span(java, only("java", java, "area")).startswith("@Override")


def test_a_definition_does_not_run_on_into_the_next_ones_comment() -> None:
    scala = SNIPPETS["scala"][0]
    assert span(scala, only("scala", scala, "add")) == "def add() =\n    1"


def test_the_equations_of_one_function_are_one_definition() -> None:
    haskell = SNIPPETS["haskell"][0]
    area = span(haskell, only("haskell", haskell, "area"))
    assert area.startswith("area :: Int")
    assert area.rstrip().endswith("where local = 1")
    elixir = SNIPPETS["elixir"][0]
    assert span(elixir, only("elixir", elixir, "fetch")).count("def fetch") == 2


def test_documentation_strings_count_as_comments() -> None:
    assert comments("python", SNIPPETS["python"][0]) == [
        '"""Module words."""',
        '"""Class words."""',
        '"""Method words."""',
    ]
    assert comments("elixir", SNIPPETS["elixir"][0]) == ['"""\n  Module words.\n  """', '"Fetch words."']


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
    source, _ = SNIPPETS[language]
    assert read(language, source) == read(language, source)
