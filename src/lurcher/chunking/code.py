"""Reads a source file into chunks, definitions, comments and imports."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lurcher.chunking.compiled import Rules, read, rules_of
from lurcher.chunking.definitions import spec_for
from lurcher.chunking.definitions.extract import extract
from lurcher.chunking.definitions.spec import Captures, Spec
from lurcher.chunking.languages import LANGUAGES
from lurcher.chunking.lines import chunk_lines
from lurcher.chunking.measure import Ruler
from lurcher.chunking.tiling import chunk_tree
from lurcher.imports.extract import asked_together, imports_among, imports_of
from lurcher.kernel import native
from lurcher.light import dataclass
from lurcher.types import ParsedFile

if TYPE_CHECKING:
    import tree_sitter

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

_ASCII_ONLY = frozenset({"bash"})
"""Grammars whose scanner asks the C library for the class of any code point as if it were a byte, which crashes now and then.

They are shown a letter for each byte of a wider character: the text keeps its shape and every offset, and names are cut from
the text itself."""
_LETTERS = bytes(byte if 0 < byte < 128 else ord("x") for byte in range(256))


@dataclass(frozen=True, slots=True)
class _Grammar:
    """A loaded grammar with its compiled query; both are immutable, so threads share them."""

    language: tree_sitter.Language
    query: tree_sitter.Query
    spec: Spec
    with_imports: bool
    """Whether patterns of imports follow those of the specification."""
    rules: Rules | None
    """What the kernel needs of the specification, where there is a kernel."""


def parse(text: bytes, language: str, target: int = TARGET) -> ParsedFile:
    """Cut `text` (UTF-8) into chunks of about `target` characters and find what it defines and imports.

    Without a grammar, or where it cannot cope with the text, the text is cut by lines and defines nothing.
    """
    grammar = _grammar(language) if text else None
    seen = text.translate(_LETTERS) if language in _ASCII_ONLY else text
    root = _tree(seen, grammar) if grammar is not None else None
    if grammar is None or root is None:
        return ParsedFile(language, chunk_lines(text, target), (), ())
    matches, nodes = _matches(root, grammar)
    imports = imports_of(root, seen, language) if nodes is None else imports_among(nodes, root, seen, language)
    if grammar.rules is None:
        ruler = Ruler(text)
        definitions, comments = extract(matches, grammar.spec, ruler)
        chunks, ranges = chunk_tree(root, ruler, target, grammar.spec, comments, definitions), tuple(comments.ranges)
    else:
        chunks, definitions, ranges = read(root, matches, text, target, grammar.spec, grammar.rules)
    return ParsedFile(language, chunks, definitions, ranges, imports)


def _matches(root: tree_sitter.Node, grammar: _Grammar) -> tuple[list[tuple[int, Captures]], list[tree_sitter.Node] | None]:
    """What the specification's patterns match, and the nodes that are imports; None where those were not asked for."""
    from tree_sitter import QueryCursor

    matches = QueryCursor(grammar.query).matches(root)
    if not grammar.with_imports:
        return matches, None
    end = len(grammar.spec.patterns)
    nodes = [captures["import"][0] for index, captures in matches if index >= end]
    return [match for match in matches if match[0] < end] if nodes else matches, nodes


def load(language: str) -> None:
    """Load a language's grammar before it is needed, if there is one."""
    _grammar(language)


def _tree(text: bytes, grammar: _Grammar) -> tree_sitter.Node | None:
    """The root of the syntax tree; None for text that would cost quadratic time: data, minified code, the wrong language."""
    from tree_sitter import Parser

    parser = Parser(grammar.language)
    if len(text) > _UNCHECKED:
        if len(text) > _LONGEST_LINES * text.count(b"\n"):
            return None
        probe = parser.parse(text[: text.rfind(b"\n", 0, _PROBE) + 1]).root_node
        if _errors(probe) > _PROBE_ERRORS:
            return None
    root = parser.parse(text).root_node
    return None if root.is_error and root.child_count > _UNRECOVERED else root


def _errors(root: tree_sitter.Node) -> int:
    """How many tokens of a tree the parser could not place, by a walk: a query for them takes longer to compile."""
    count = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.has_error:
            count += 1 + node.child_count if node.is_error else 0
            stack.extend(node.children)
    return count


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
        patterns = "\n".join(pattern for _, pattern in spec.patterns)
        imports = asked_together(language)
        try:
            query = Query(loaded, f"{patterns}\n{imports}")
        except ValueError:  # it knows other imports
            query, imports = Query(loaded, patterns), ""
    except (ImportError, AttributeError, ValueError):
        return None
    return _Grammar(loaded, query, spec, bool(imports), None if native() is None else rules_of(spec))
