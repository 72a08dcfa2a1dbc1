"""Reads a source file into chunks, definitions and comments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lurcher.chunking.definitions import spec_for
from lurcher.chunking.definitions.extract import extract
from lurcher.chunking.definitions.spec import Spec
from lurcher.chunking.languages import LANGUAGES
from lurcher.chunking.lines import chunk_lines
from lurcher.chunking.measure import Ruler
from lurcher.chunking.tiling import chunk_tree
from lurcher.types import ParsedFile

if TYPE_CHECKING:
    import tree_sitter

TARGET = 1500


@dataclass(frozen=True, slots=True)
class _Grammar:
    """A loaded grammar with its compiled query; both are immutable, so threads share them."""

    language: tree_sitter.Language
    query: tree_sitter.Query
    spec: Spec


def parse(text: bytes, language: str, target: int = TARGET) -> ParsedFile:
    """Cut `text` (UTF-8) into chunks of about `target` characters and find what it defines.

    Without a grammar, or where it fails, the text is cut by lines and defines nothing.
    """
    grammar = _grammar(language) if text else None
    if grammar is None:
        return ParsedFile(language, chunk_lines(text, target), (), ())
    from tree_sitter import Parser, QueryCursor

    root = Parser(grammar.language).parse(text).root_node
    ruler = Ruler(text)
    definitions, comments = extract(QueryCursor(grammar.query).matches(root), grammar.spec, ruler)
    chunks = chunk_tree(root, ruler, target, grammar.spec, comments, definitions)
    return ParsedFile(language, chunks, definitions, tuple(comments.ranges))


@cache
def _grammar(language: str) -> _Grammar | None:
    """The grammar of a language, loaded when the first file needs it; None where there is none to load."""
    entry = LANGUAGES.get(language)
    if entry is None or entry.grammar is None:
        return None
    module, function = entry.grammar
    try:
        from tree_sitter import Language, Query

        loaded = Language(getattr(import_module(module), function)())
        spec = spec_for(language)
        query = Query(loaded, "\n".join(pattern for _, pattern in spec.patterns))
    except (ImportError, AttributeError, ValueError):
        return None
    return _Grammar(loaded, query, spec)
