"""Which language a file is written in, by name, extension and first bytes.

The names come from `table.py`, which is made of the language files: to detect a language, none of them is imported, except
where the first bytes have to decide between two languages with one extension.
"""

from __future__ import annotations

from functools import cache

from lurcher.languages.table import ROWS
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lurcher.languages.base import Language

TEXT = "text"
HEAD = 16_384
"""Bytes of a file that are read to detect its language: a header's licence and list of includes may be long, and C++ that is
taken for C is misread from beginning to end."""


class Entry(Record):
    """What `table.py` says of a language; the fields are those of `base.Language`."""

    __slots__ = (
        "name", "file", "extensions", "filenames", "prefixes", "aliases", "also", "interpreters", "grammar", "optional",
        "ecosystem", "sigil", "ast_grep", "markup", "script", "decides",
    )  # fmt: skip

    def __init__(
        self, name: str, file: str, extensions: tuple[str, ...], filenames: tuple[str, ...], prefixes: tuple[str, ...],
        aliases: tuple[str, ...], also: tuple[str, ...], interpreters: tuple[str, ...], grammar: tuple[str, str] | None,
        optional: bool, ecosystem: str, sigil: str, ast_grep: str, markup: bool, script: bool, decides: bool,
    ) -> None:  # fmt: skip
        self.name = name
        self.file = file
        """The module of `lurcher.languages` that describes it."""
        self.extensions, self.filenames, self.prefixes, self.aliases, self.also = extensions, filenames, prefixes, aliases, also
        self.interpreters, self.grammar, self.optional, self.ecosystem = interpreters, grammar, optional, ecosystem
        self.sigil, self.ast_grep, self.markup, self.script = sigil, ast_grep, markup, script
        self.decides = decides
        """Whether the language file has a function that looks at the first bytes."""


LANGUAGES: dict[str, Entry] = {row[0]: Entry(*row) for row in ROWS}

_BY_EXTENSION: dict[str, str] = {ext: lang.name for lang in LANGUAGES.values() for ext in lang.extensions}
_BY_FILENAME: dict[str, str] = {name: lang.name for lang in LANGUAGES.values() for name in lang.filenames}
_BY_PREFIX: tuple[tuple[str, str], ...] = tuple((pre, lang.name) for lang in LANGUAGES.values() for pre in lang.prefixes)
_BY_ALIAS: dict[str, str] = {alias: lang.name for lang in LANGUAGES.values() for alias in lang.aliases}
_BY_INTERPRETER: dict[str, str] = {name: lang.name for lang in LANGUAGES.values() for name in lang.interpreters}


@cache
def load_language(name: str) -> Language:
    """All that is known of a language, from its file."""
    from importlib import import_module

    languages: tuple[Language, ...] = import_module(f"lurcher.languages.{LANGUAGES[name].file}").LANGUAGES
    return next(language for language in languages if language.name == name)


def detect(path: str, head: bytes) -> str:
    """The language of the file at `path`, whose first bytes are `head`; "text" if it is unknown."""
    filename = path[path.rfind("/") + 1 :]
    found = _BY_FILENAME.get(filename)
    if found is not None:
        return found
    dot = filename.rfind(".")
    if dot >= 0:
        extension = filename[dot + 1 :]
        found = _BY_EXTENSION.get(extension) or _BY_EXTENSION.get(extension.lower())
        if found is not None:
            if head and LANGUAGES[found].decides:
                decide = load_language(found).decide
                return found if decide is None else decide(extension, head)
            return found
    for prefix, name in _BY_PREFIX:
        if filename.startswith(prefix):
            return name
    return _by_shebang(head) if head.startswith(b"#!") else TEXT


def resolve(name: str) -> str | None:
    """The language that a user means by its name, an alias or a file extension; None when unknown."""
    key = name.strip().lower()
    if key in LANGUAGES:
        return key
    return _BY_ALIAS.get(key) or _BY_EXTENSION.get(key.removeprefix("."))


def ecosystem_of(language: str) -> str:
    """The ecosystem in which a language's imports are resolved, and which they never leave; empty for other languages."""
    known = LANGUAGES.get(language)
    return "" if known is None else known.ecosystem


def languages_of(ecosystem: str) -> list[str]:
    """The languages of an ecosystem."""
    return [language.name for language in LANGUAGES.values() if language.ecosystem == ecosystem]


def _by_shebang(head: bytes) -> str:
    """`#!/usr/bin/env -S python3 -u` names python."""
    line = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace")
    for word in line.split():
        program = word[word.rfind("/") + 1 :]
        if program == "env" or program.startswith("-") or "=" in program:
            continue
        found = _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(program.rstrip("0123456789."))
        return found or TEXT
    return TEXT
