"""Files are recognised by name, extension and first line; users may say js or .py."""

from __future__ import annotations

import pytest

from lurcher.languages.detect import LANGUAGES, detect, resolve

PARSED = [
    "python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp", "csharp", "ruby", "php", "bash",
    "kotlin", "scala", "swift", "elixir", "haskell", "lua", "zig", "dart", "terraform", "powershell", "sql", "objective-c",
    "ocaml", "ocaml-interface", "julia", "perl",
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("a.jsx", "javascript"),
        ("x.mts", "typescript"),
        ("x.tsx", "tsx"),
        ("deep/dir/Makefile", "makefile"),
        ("CMakeLists.txt", "cmake"),
        ("Dockerfile.dev", "dockerfile"),
        ("README.MD", "markdown"),
        ("analysis.R", "r"),
        ("Gemfile", "ruby"),
        ("notes", "text"),
        ("dir.py/notes", "text"),
        ("x.unknownext", "text"),
        ("", "text"),
    ],
)
def test_names_and_extensions_determine_the_language(path: str, language: str) -> None:
    assert detect(path, b"") == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/usr/bin/env -S node --flag\n", "javascript"),
        (b"#!/bin/sh -e\n", "bash"),
        (b"#!/usr/bin/python3.11\n", "python"),
        (b"#!/usr/bin/env FOO=1 ruby\n", "ruby"),
        (b"#!\n", "text"),
        (b"#!/opt/unheard-of\n", "text"),
        (b"\xff\xfe", "text"),
    ],
)
def test_a_shebang_determines_the_language_of_a_file_without_extension(head: bytes, language: str) -> None:
    assert detect("bin/tool", head) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"struct a { int b; };\n", "c"),
        (b"/* a class of its own,\n class Foo */\nint f(void);\n", "c"),
        (b"#pragma once\nnamespace a {\n", "cpp"),
        (b"template <typename T>\nstruct X;\n", "cpp"),
        (b"class Foo {\n};\n", "cpp"),
        (b"std::string name();\n", "cpp"),
        (b"#include <stdint.h>\n", "c"),
        (b"#include <cmath>\n", "cpp"),
        (b"// A licence of many lines.\n" * 100 + b"#include <stdint.h>\nnamespace a {\n", "cpp"),
    ],
)
def test_a_header_is_c_unless_it_clearly_is_cpp(head: bytes, language: str) -> None:
    assert detect("include/x.h", head) == language


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("js", "javascript"), ("ts", "typescript"), ("py", "python"), ("c++", "cpp"), ("cs", "csharp"), ("golang", "go"),
        ("sh", "bash"), (".rs", "rust"), ("Python", "python"), ("tsx", "tsx"), ("kt", "kotlin"), ("klingon", None), ("", None),
    ],
)  # fmt: skip
def test_a_user_may_say_a_name_an_alias_or_an_extension(said: str, meant: str | None) -> None:
    assert resolve(said) == meant


def test_exactly_the_promised_languages_have_grammars() -> None:
    assert sorted(name for name, language in LANGUAGES.items() if language.grammar) == sorted(PARSED)


def test_no_extension_or_alias_belongs_to_two_languages() -> None:
    for field in ("extensions", "filenames", "aliases", "interpreters"):
        owned = [entry for language in LANGUAGES.values() for entry in getattr(language, field)]
        assert len(owned) == len(set(owned)), field


def test_every_name_and_alias_resolves_to_its_language() -> None:
    for name, language in LANGUAGES.items():
        assert resolve(name) == name
        assert [resolve(alias) for alias in language.aliases if alias not in LANGUAGES] == [
            name for alias in language.aliases if alias not in LANGUAGES
        ]
