"""Reads a source file into chunks, definitions, comments and imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.chunking.compiled import read
from lurcher.chunking.line_index import Ruler
from lurcher.chunking.lines import chunk_lines
from lurcher.chunking.tiling import chunk_tree
from lurcher.languages.definitions import extract
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.grammar import Grammar, Reader, grammar_of
from lurcher.languages.imports import imports_among, imports_of
from lurcher.runtime.light import replace
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.types import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node

TARGET = 1500

_UNCHECKED = 32_768
"""Bytes up to which any text is parsed: the worst that error recovery can do to it is bounded."""
_LONGEST_LINES = 2_048
"""Mean bytes in a line beyond which a text is data or minified code."""
_PROBE = 4_096
_PROBE_ERRORS = 800
"""Tokens the parser could not place in the first bytes of a text that is not in the language its name says.

Real files, cut off there in the middle of a comment, reach 600; arbitrary words start at 900."""
_UNRECOVERED = 8_192
"""Children of a tree without structure, over which a query takes quadratic time."""

def parse(text: bytes, language: str, target: int = TARGET) -> ParsedFile:
    """Cut `text` (UTF-8) into chunks of about `target` characters and find what it defines and imports.

    Without a grammar, or where it cannot cope with the text, the text is cut by lines and defines nothing.
    """
    known = LANGUAGES.get(language)
    if known is not None and known.script and text:
        from lurcher.chunking.scripts import parse_scripts

        return parse_scripts(text, load_language(language), target, parse)
    grammar = grammar_of(language) if text else None
    if grammar is None:
        missing = known is not None and known.grammar is not None and bool(text)
        return ParsedFile(language, chunk_lines(text, target), (), (), no_grammar=missing)
    try:
        if grammar.kernel is not None or not can_start_child():
            return parse_by(grammar, text, target)
        found: ParsedFile = call(f"{__name__}:parse_alone", text, language, target, grammar.kernel_rules is not None)
        return found
    except SandboxFailure:
        return ParsedFile(language, chunk_lines(text, target), (), (), gave_up=True)


def parse_alone(text: bytes, language: str, target: int, with_rules: bool) -> ParsedFile:
    """What `parse` does, by tree-sitter, in a process that may be stopped."""
    grammar = grammar_of(language)
    assert grammar is not None
    return parse_by(replace(grammar, kernel=None, kernel_rules=grammar.kernel_rules if with_rules else None), text, target)


def parse_by(grammar: Grammar, text: bytes, target: int) -> ParsedFile:
    """What `parse` does, by this grammar and in this process; GaveUp where the kernel does."""
    language = grammar.name
    seen = grammar.prepared(text)
    tree = tree_of(seen, grammar)
    if tree is None:
        return ParsedFile(language, chunk_lines(text, target), (), ())
    root, reader = tree
    matches = reader.matches(root)
    if reader.with_imports:
        end = len(grammar.rules.patterns)
        nodes = [captures["import"][0] for index, captures in matches if index >= end]
        imports = imports_among(nodes, root, seen, language)
        if nodes:
            matches = [match for match in matches if match[0] < end]
    else:
        imports = imports_of(root, seen, language, reader.imports_in)
    if grammar.kernel_rules is None:
        ruler = Ruler(text)
        definitions, comments = extract(matches, grammar.rules, ruler)
        chunks, ranges = chunk_tree(root, ruler, target, grammar.rules, comments, definitions), tuple(comments.ranges)
    else:
        chunks, definitions, ranges = read(root, matches, text, target, grammar.rules, grammar.kernel_rules)
    return ParsedFile(language, chunks, definitions, ranges, imports)


def load(language: str) -> None:
    """Load a language's grammar before it is needed, if there is one."""
    grammar_of(language)


def tree_of(text: bytes, grammar: Grammar) -> tuple[Node, Reader] | None:
    """The root of the syntax tree and who made it; None for text that would cost quadratic time: data, minified code, the wrong
    language. GaveUp where the kernel takes too many steps."""
    if len(text) > _UNCHECKED:
        if len(text) > _LONGEST_LINES * text.count(b"\n"):
            return None
        if _probed(grammar.parsed(text[: text.rfind(b"\n", 0, _PROBE) + 1])) > _PROBE_ERRORS:
            return None
    tree = grammar.parsed(text)
    if tree is None:
        raise SandboxFailure("it takes too many steps or too much memory")
    if tree[0].is_error and tree[0].child_count > _UNRECOVERED:
        return None
    return tree


def _probed(tree: tuple[Node, Reader] | None) -> int:
    return 0 if tree is None else _errors(tree[0])


def _errors(root: Node) -> int:
    """How many tokens of a tree the parser could not place, by a walk: a query for them takes longer to compile."""
    count = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.has_error:
            count += 1 + node.child_count if node.is_error else 0
            stack.extend(node.children)
    return count
