"""Flat patterns with readers find what nested patterns would, in the order of preference, and compile in no time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from tree_sitter import Language, Parser, Query, QueryCursor

from lurcher.chunking import code
from lurcher.chunking.code import parse
from lurcher.chunking.lines import LineIndex
from lurcher.languages import load_capsule
from lurcher.languages.base import COMMENT, Captures, DefinitionRules, MatchReader, each, members, names
from lurcher.languages.definitions import extract
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.grammar import definition_rules

PARSED = [name for name, language in LANGUAGES.items() if language.grammar]


def grammar(language: str) -> Language:
    entry = LANGUAGES[language].grammar
    assert entry is not None
    module, function = entry
    return Language(load_capsule(module, function))


def found(source: str, *patterns: tuple[str | MatchReader, str]) -> list[str]:
    """What patterns find in Python code: kinds and qualified names of definitions, and comments."""
    text = source.encode()
    query = Query(grammar("python"), "\n".join(pattern for _, pattern in patterns))
    tree = Parser(grammar("python")).parse(text)
    definitions, comments = extract(
        QueryCursor(query).matches(tree.root_node), DefinitionRules(patterns=patterns, leads=frozenset()), LineIndex(text)
    )
    return [f"{entry.kind} {entry.qualified}" for entry in definitions] + [
        f"comment {text[start:end].decode()}" for start, end in comments.ranges
    ]


def test_a_name_that_is_not_captured_is_the_field_of_that_name() -> None:
    assert found("class A: pass\ndef f(): pass\n", ("class", "(class_definition) @def")) == ["class A"]
    assert found("f(lambda: 1)\n", ("function", "(lambda) @def")) == []


def test_a_reader_gives_any_number_of_definitions_and_comments() -> None:
    def arguments(captures: Captures) -> Iterator[tuple[str, Captures]]:
        for argument in captures["def"][0].named_children:
            yield (
                ("number", {"def": [argument], "name": [argument]})
                if argument.type == "integer"
                else (
                    COMMENT,
                    {"def": [argument]},
                )
            )

    pattern = (arguments, "(argument_list) @def")
    assert found("f(1, a, 2)\ng()\n", pattern) == ["number 1", "number 2", "comment a"]


def test_what_a_reader_gives_first_is_preferred_but_an_earlier_pattern_more() -> None:
    def twice(captures: Captures) -> Iterator[tuple[str, Captures]]:
        yield "second", captures
        yield "third", captures

    assert found("def f(): pass\n", (twice, "(function_definition) @def")) == ["second f"]
    patterns = ("first", "(function_definition name: (identifier) @name) @def"), (twice, "(function_definition) @def")
    assert found("def f(): pass\n", *patterns) == ["first f"]


def test_what_a_reader_gives_first_contains_what_lies_in_both() -> None:
    def bases_first(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        for field in ("superclasses", "name"):
            yield "class", {"def": [node], "name": [node.child_by_field_name(field)]}

    patterns = (bases_first, "(class_definition) @def"), ("function", "(function_definition) @def")
    assert found("class A(B):\n    def f(self): pass\n", *patterns) == ["class (B)", "class A", "method (B).f"]


def test_each_and_members_define_every_name_that_is_found() -> None:
    source = "import a, b.c, d as e\ndef f():\n    import g\n"
    imported = names("module", "name", "dotted_name")
    assert found(source, (each(imported), "(import_statement) @def")) == ["module a", "module b.c", "module g"]
    assert found(source, (members({"import_statement": imported}), "(module) @in")) == ["module a", "module b.c"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# first\n'''words'''\n'''more'''\n", ["# first", "'''words'''"]),
        ("class A:\n    # first\n    'words'\n    def f(self): 'more'\n", ["# first", "'words'", "'more'"]),
        ("def f(:\n    pass\ndef g():\n", []),
        ("x = 1\n'''no words'''\n", []),
        ("def f():\n    'no' + 'words'\n", []),
        ("def f():\n    'no', 'words'\n", []),
        ("if x:\n    'no words'\n", []),
    ],
)
def test_a_documentation_string_is_the_first_statement(source: str, expected: list[str]) -> None:
    assert [source[start:end] for start, end in parse(source.encode(), "python").comments] == expected


@pytest.mark.parametrize("source", ["def f(): pass\n", "def f(:\n) ) x ]\n" * 9, "a b c d e\n" * 50, "x = [\n"])
def test_tokens_out_of_place_are_counted(source: str) -> None:
    root = Parser(grammar("python")).parse(source.encode()).root_node
    errors = QueryCursor(Query(grammar("python"), "(ERROR) @error")).captures(root).get("error", [])
    assert bool(errors) == root.has_error
    assert code._count_errors(root) == sum(1 + error.child_count for error in errors)


def least_time(action: Callable[[], object]) -> float:
    """Processor time of the fastest of three runs."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        action()
        times.append(time.process_time() - begun)
    return min(times)


def test_queries_compile_about_as_fast_as_the_simplest_ones() -> None:
    """Measured against a query for errors, which costs what the grammar's size makes any query cost."""
    simplest, spent = 0.0, {}
    for name in PARSED:
        language = grammar(name)
        source = "\n".join(pattern for _, pattern in definition_rules(name).patterns)
        simplest += least_time(partial(Query, language, "(ERROR) @error"))
        spent[name] = least_time(partial(Query, language, source))
    assert sum(spent.values()) < 3 * simplest
    assert max(spent.values()) < simplest / 2, spent
