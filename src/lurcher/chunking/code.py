"""Reads a source file into chunks, definitions, comments and imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.chunking.lines import LineIndex, chunk_lines, cut_lines
from lurcher.chunking.tiling import chunk_tree
from lurcher.languages.base import Captures, DefinitionRules
from lurcher.languages.definitions import KernelRules, Range, extract
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.grammar import Grammar, Reader, grammar_of
from lurcher.languages.imports import imports_among, imports_of
from lurcher.runtime.kernel import native
from lurcher.runtime.light import replace
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.types import Definition, ParsedFile, Span

if TYPE_CHECKING:
    from tree_sitter import Node

TARGET = 1500

_MIN_PROBED = 32_768
"""Up to this many bytes any text is parsed: the cost of error recovery is bounded."""
_MAX_MEAN_LINE = 2_048
"""Mean bytes of a line above which a text is data or minified code."""
_PROBE_BYTES = 4_096
_MAX_PROBE_ERRORS = 800
"""With more misplaced tokens in its first bytes, a text is not in the language of its name.

Real files, cut off in the middle of a comment, reach 600; arbitrary words start at 900."""
_MAX_FLAT_CHILDREN = 8_192
"""A root that is an error with more children is not used: queries over it take quadratic time."""

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
            return parse_with(grammar, text, target)
        found: ParsedFile = call(f"{__name__}:parse_in_process", text, language, target, grammar.kernel_rules is not None)
        return found
    except SandboxFailure:
        return ParsedFile(language, chunk_lines(text, target), (), (), gave_up=True)


def parse_in_process(text: bytes, language: str, target: int, with_rules: bool) -> ParsedFile:
    """Does the work of `parse` with tree-sitter, in a child process that may be stopped."""
    grammar = grammar_of(language)
    assert grammar is not None
    return parse_with(replace(grammar, kernel=None, kernel_rules=grammar.kernel_rules if with_rules else None), text, target)


def parse_with(grammar: Grammar, text: bytes, target: int) -> ParsedFile:
    """Does the work of `parse` with this grammar, in this process; raises GaveUp where the kernel does."""
    language = grammar.name
    seen = grammar.prepared(text)
    tree = parse_tree(seen, grammar)
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
        ruler = LineIndex(text)
        definitions, comments = extract(matches, grammar.rules, ruler)
        chunks, ranges = chunk_tree(root, ruler, target, grammar.rules, comments, definitions), tuple(comments.ranges)
    else:
        chunks, definitions, ranges = read_with_kernel(root, matches, text, target, grammar.rules, grammar.kernel_rules)
    return ParsedFile(language, chunks, definitions, ranges, imports)


def read_with_kernel(
    root: Node, matches: list[tuple[int, Captures]], text: bytes, target: int, rules: DefinitionRules, for_kernel: KernelRules
) -> tuple[tuple[Span, ...], tuple[Definition, ...], tuple[Range, ...]]:
    """The chunks of a text that is not empty, its definitions in order of position, and its comments, by the kernel.

    `languages/definitions.py` and `tiling.py` do the same in Python.
    """
    kernel = native()
    assert kernel is not None
    ruler = kernel.Ruler(text)
    definitions, comments = kernel.extract(matches, for_kernel[0], ruler, for_kernel[1])
    small = ruler.size(0, len(text)) <= target
    cuts = [0] if small else kernel.cuts(root, ruler, target, rules.leads, rules.divided, definitions, cut_lines)
    return ruler.spans(cuts, Span), definitions, comments


def load_grammar(language: str) -> None:
    """Load a language's grammar before it is needed, if there is one."""
    grammar_of(language)


def parse_tree(text: bytes, grammar: Grammar) -> tuple[Node, Reader] | None:
    """The root of the syntax tree and its reader; None for text that would take quadratic time: data, minified code, the wrong
    language. Raises GaveUp where the kernel takes too many steps."""
    if len(text) > _MIN_PROBED:
        if len(text) > _MAX_MEAN_LINE * text.count(b"\n"):
            return None
        if _count_probe_errors(grammar.parsed(text[: text.rfind(b"\n", 0, _PROBE_BYTES) + 1])) > _MAX_PROBE_ERRORS:
            return None
    tree = grammar.parsed(text)
    if tree is None:
        raise SandboxFailure("it takes too many steps or too much memory")
    if tree[0].is_error and tree[0].child_count > _MAX_FLAT_CHILDREN:
        return None
    return tree


def _count_probe_errors(tree: tuple[Node, Reader] | None) -> int:
    return 0 if tree is None else _count_errors(tree[0])


def _count_errors(root: Node) -> int:
    """How many tokens of a tree the parser could not place. A walk, because a query would take longer to compile."""
    count = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.has_error:
            count += 1 + node.child_count if node.is_error else 0
            stack.extend(node.children)
    return count
