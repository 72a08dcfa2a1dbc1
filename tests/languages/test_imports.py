"""What each language's imports are read as, also out of code that is broken, hostile or huge."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.chunking.code import parse
from lurcher.languages import python
from lurcher.languages.detect import LANGUAGES
from tests.languages.samples import samples
from tests.languages.trees import brief, found, parser

CASES = [
    (language, text, expected)
    for language, sample in samples().items()
    for text, expected in sample.imports
    if LANGUAGES[language].grammar is not None
]


@pytest.mark.parametrize(("language", "text", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_imports_are_read_as_written(language: str, text: str, expected: list[tuple[str, tuple[str, ...], str]]) -> None:
    assert brief(text, language) == expected


def test_every_language_has_a_case() -> None:
    expected = {name for name, known in LANGUAGES.items() if known.ecosystem and not known.script}
    assert {language for language, _, _ in CASES} == expected


def test_lines_are_those_of_the_statement() -> None:
    assert [entry.line for entry in found("\n\nimport a\n\nfrom b import (\n c)\n", "python")] == [3, 5]
    assert [entry.line for entry in found('package p\nimport (\n "a"\n\n "b"\n)', "go")] == [3, 5]


def test_a_language_without_imports_has_none() -> None:
    assert found("import x", "bash") == []
    assert found("", "python") == []


def test_code_around_an_error_is_still_read() -> None:
    assert ("a", (), "import") in brief("import a\ndef f(:\n  )))\nimport b\n", "python")
    assert ("./a", (), "import") in brief("import './a'\nclass {{{ ((\n", "typescript")
    assert brief("from a import", "python") in ([], [("a", (), "from")])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_damaged_code_never_raises(case: tuple[str, str, object], data: st.DataObject) -> None:
    language, text, _ = case
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    middle = data.draw(st.text("{}()\"'\\;\n\0 é#use import:", max_size=12))
    for entry in found(text[:begin] + middle + text[end:], language):
        assert entry.line >= 1
        assert entry.spec or entry.kind == "package"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["import a\n", "x = 1\n" * 90, "def f():\n    from b import c\n", "# import no\n"]), max_size=120)
)
def test_imports_are_found_whatever_lies_between_them(parts: list[str]) -> None:
    expected = [part.split()[-1] for part in parts if "import" in part and "no" not in part]
    assert [(entry.names or (entry.spec,))[0] for entry in found("".join(parts), "python")] == expected


def test_a_file_of_nothing_but_imports_takes_no_longer_than_it_should() -> None:
    text = "".join(f'#include "a{number}.h"\n{"int x;" * 80}\n' for number in range(5_000)).encode()
    begun = time.process_time()
    root = parser("c").parse(text).root_node
    parsed = time.process_time()
    from lurcher.languages.imports import imports_of

    assert len(imports_of(root, text, "c")) == 5_000
    assert time.process_time() - parsed < 2 * (parsed - begun) + 0.1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("rust", "use " + "a::{" * 5_000 + "b" + "}" * 5_000 + ";"),
        ("javascript", "f(" * 5_000 + "require('./x')" + ")" * 5_000),
        ("php", "<?php require " + "(" * 5_000 + "'x'" + ")" * 5_000 + ";"),
        ("python", "import " + "a." * 50_000 + "b"),
        ("csharp", "namespace A {" * 3_000 + "}" * 3_000),
    ],
    ids=["rust", "javascript", "php", "python", "csharp"],
)
def test_deep_nesting_ends_and_does_not_overflow(language: str, text: str) -> None:
    begun = time.process_time()
    assert len(found(text, language)) <= 20_000
    assert time.process_time() - begun < 20


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("php", "<?php\n" + "namespace a;\n" * 20_000),
        ("java", "package a;\n" * 20_000),
        ("csharp", "namespace a;\n" * 20_000),
        ("scala", "package a\n" * 20_000),
        ("kotlin", "package a\n" * 20_000),
    ],
)
def test_packages_by_the_thousand_take_no_longer_than_they_should(language: str, text: str) -> None:
    began = time.process_time()
    parsed = parse(text.encode(), language)
    assert time.process_time() - began < 30  # a second or two on a machine with nothing else to do
    assert all(len(entry.spec) <= 1000 for entry in parsed.imports)


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_imports_found_with_definitions_equal_those_found_alone(language: str, text: str, expected: object) -> None:
    for source in (text, text + "\n" + text, "x" * 500 + "\n" + text, text.replace("\n", "\r\n")):
        assert list(parse(source.encode(), language).imports) == found(source, language)


WORDS = st.sampled_from([
    "a", "b_1", "_", "a.b", ".", "..", ".a", "as", "*", "(", ")", ",", "import", "from", "class", "\n", "\\\n", "#\n", "é", "1",
])  # fmt: skip
SOUND = ["import a", "from .a import b, c", "from x import (y,\n z,)"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=7), max_size=4), st.sampled_from(SOUND))
def test_what_is_read_off_the_text_is_what_the_tree_says(lines: list[list[str]], sound: str) -> None:
    text = "\n".join([sound, *(" ".join(["from" if i % 2 else "import", *words]) for i, words in enumerate(lines)), sound])
    quick = found(text, "python")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python, "_USUAL", re.compile(rb"(?!)"))
        assert quick == found(text, "python")
