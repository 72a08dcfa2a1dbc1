"""Finds the imports of a file in its syntax tree.

A query over the whole tree takes a third of the time of parsing it. One is run anyway, for definitions: where imports have
patterns of their own, these are part of that query (`joint_query`). Elsewhere an import looks like any call; but it has a
keyword, which a text search finds at once: the query runs over the places around the keywords only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from lurcher.languages import load_capsule
from lurcher.languages.base import LONGEST, PACKAGE, Import, ImportRules
from lurcher.languages.detect import LANGUAGES, load_language

if TYPE_CHECKING:
    import tree_sitter
    from tree_sitter import Node

Windows = list[tuple[int, int]]
"""Ranges of bytes, in order."""
Find = Callable[["Node", Windows | None], "list[Node]"]
"""The nodes of a tree that look like imports, in some windows or in all of it."""

_GAP = 400
"""Keywords at most this many bytes apart share one query."""
_WINDOWS = 48
"""Up to this many places are queried one by one, each visiting all siblings before it. With more, the tree is queried once."""
_MOST = 20_000
"""Imports kept of one file; real ones have a few hundred at most."""

_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")


def import_rules(language: str) -> ImportRules | None:
    """How a language writes its imports; None for languages without rules."""
    return load_language(language).imports if language in LANGUAGES else None


def joint_query(language: str) -> str:
    """Patterns for the query that finds definitions; nothing where imports are found faster on their own."""
    rules = import_rules(language)
    return "" if rules is None or rules.common else rules.query


def query_of(language: str) -> str:
    """The patterns of imports; nothing for languages without rules."""
    rules = import_rules(language)
    return "" if rules is None else rules.query


def imports_of(root: Node, text: bytes, language: str, find: Find | None = None) -> tuple[Import, ...]:
    """What the file imports, in order of appearance; nothing for languages without rules.

    `find` queries the tree; without it, the tree is one of tree-sitter's.
    """
    rules = import_rules(language)
    if rules is None:
        return ()
    windows = _windows(text, rules)
    if not windows:
        return ()
    limits = None if len(windows) > _WINDOWS else windows
    nodes = find_imports(root, language, limits) if find is None else find(root, limits)
    return imports_among(nodes, root, text, language)


def find_imports(root: Node, language: str, windows: Windows | None) -> list[Node]:
    """The nodes of tree-sitter's tree that look like imports, in some windows or in all of it."""
    query = _query(language)
    if query is None:
        return []
    from tree_sitter import QueryCursor

    if windows is None:
        return QueryCursor(query).captures(root).get("import", [])
    nodes: list[Node] = []
    for start, end in windows:
        cursor = QueryCursor(query)
        cursor.set_byte_range(start, end)
        nodes += cursor.captures(root).get("import", [])
    return nodes


def imports_among(nodes: list[Node], root: Node, text: bytes, language: str) -> tuple[Import, ...]:
    """The imports that captured nodes are, in order of appearance."""
    rules = import_rules(language)
    if rules is None or not nodes:
        return ()
    places = {(node.start_byte, -node.end_byte): node for node in nodes}
    found = rules.read([places[place] for place in sorted(places)], text, root)
    return tuple(entry for entry in found[:_MOST] if len(entry.spec) <= LONGEST and (entry.spec or entry.kind == PACKAGE))


def _windows(text: bytes, rules: ImportRules) -> Windows:
    """Byte ranges around the keywords of `text`, in order; a keyword is a whole word outside of line comments."""
    places: list[int] = []
    last = len(text)
    for word in rules.words:
        size = len(word)
        at = text.find(word)
        while at >= 0:
            end = at + size
            if (end == last or text[end] not in _WORD) and (at == 0 or text[at - 1] not in _WORD):
                places.append(at)
            at = text.find(word, end)
    for word in rules.before_quote:
        at = text.find(word)
        while at >= 0:
            end = at + len(word)
            if text[end : end + 40].lstrip()[:1] in (b'"', b"'"):
                places.append(at)
            at = text.find(word, end)
    places.sort()
    windows: Windows = []
    begin, reached = 0, -_GAP
    for at in places:
        if at - reached >= _GAP:
            if _in_comment(text, at, rules.line_comments):
                continue
            if reached >= 0:
                windows.append((begin, reached + 1))
            begin = at
        reached = at
    if reached >= 0:
        windows.append((begin, reached + 1))
    return windows


def _in_comment(text: bytes, at: int, marks: tuple[bytes, ...]) -> bool:
    """Whether the line begins as a comment does; the tree would say so too, but slower."""
    begin = text.rfind(b"\n", max(0, at - 200), at) + 1
    return begin > 0 and text[begin:at].lstrip().startswith(marks) if marks else False


@cache
def _query(language: str) -> tree_sitter.Query | None:
    """The compiled query; None where the grammar is missing or knows other nodes."""
    entry = LANGUAGES.get(language)
    rules = import_rules(language)
    if entry is None or entry.grammar is None or rules is None:
        return None
    try:
        from tree_sitter import Language, Query

        query: tree_sitter.Query = Query(Language(load_capsule(*entry.grammar)), rules.query)
    except (ImportError, AttributeError, ValueError):
        return None
    return query
