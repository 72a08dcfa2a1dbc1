"""Syntax colours from the parser: which characters of a text are comments, strings, numbers and keywords.

No language needs a table for that. The type of a node says whether it is a comment, a string or a number, and a keyword is a
leaf of the tree that has no name in the grammar and whose text is a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from lurcher.languages import load_capsule
from lurcher.languages.detect import LANGUAGES
from lurcher.runtime.kernel import native

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tree_sitter import Node

COMMENT, STRING, NUMBER, KEYWORD = "comment", "string", "number", "keyword"

MAX_LENGTH = 200_000
"""Longer texts are not coloured: nobody reads them in a terminal, and the parser would take longer than the search."""

_STRING_TYPE = re.compile(r"(?:^|_)(?:string|char|character|rune|heredoc|regex|regexp|sigil|charlist)(?:_|$)")
_INSERTED = re.compile(r"interpolat|substitution|expansion")
"""Code inside of a string."""
_WORD_NODES = frozenset("true false none null nil self this super boolean primitive_type predefined_type builtin_type".split())
"""Named leaves that readers take for keywords."""

Span = tuple[int, int, str]
"""The first character, the one behind the last, and the kind."""


def syntax_spans(text: str, language: str, start: int = 0, end: int | None = None) -> list[Span] | None:
    """The coloured parts of a text, or of its characters from `start` to `end`, in order and apart; None if no parser can tell.

    Without the kernel there is none: tree-sitter cannot be stopped on a text that is made to take for ever.
    """
    parser = _parser(language) if len(text) <= MAX_LENGTH else None
    if parser is None:
        return None
    data = text.encode("utf-8", "replace")
    root = parser.parse(data)
    if root is None:
        return None
    end = len(text) if end is None else end
    first, last = len(text[:start].encode("utf-8", "replace")), len(text[:end].encode("utf-8", "replace"))
    found = [(max(a, first) - first, min(b, last) - first, kind) for a, b, kind in _leaves(root, data, first, last)]
    shown = text[start:end]
    return [(a + start, b + start, kind) for a, b, kind in _in_characters(shown, found, last - first)]


@cache
def _parser(language: str) -> Any:
    """The kernel's parser alone, without the queries that indexing compiles; None where there is none."""
    entry, kernel = LANGUAGES.get(language), native()
    if entry is None or entry.grammar is None or kernel is None:
        return None
    try:
        return kernel.Language(load_capsule(*entry.grammar))
    except (ImportError, AttributeError, TypeError, ValueError):
        return None


def split_by_line(text: str, spans: Iterable[Span]) -> list[list[Span]]:
    """For each line of a text its own spans, with columns from 0."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found: list[list[Span]] = [[] for _ in lines]
    for start, end, kind in spans:
        number = bisect_left(starts, start + 1) - 1
        while number < len(lines) and starts[number] < end:
            first, last = max(start, starts[number]), min(end, starts[number] + len(lines[number]))
            if first < last:
                found[number].append((first - starts[number], last - starts[number], kind))
            number += 1
    return found


def _leaves(root: Node, data: bytes, first: int, last: int) -> list[Span]:
    """The coloured parts in bytes, in order: those that reach into the bytes from `first` to `last`."""
    found: list[Span] = []
    waiting: list[Node | Span] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            if item[0] < last and item[1] > first:
                found.append(item)
            continue
        if item.start_byte >= last or item.end_byte <= first:
            continue
        kind = item.type
        if "comment" in kind and item.is_named:
            found.append((item.start_byte, item.end_byte, COMMENT))
        elif item.is_named and _STRING_TYPE.search(kind) and not kind.endswith("type"):
            waiting += reversed(_pieces_of_string(item))
        elif item.child_count:
            waiting += reversed(item.children)
        else:
            name = _kind_of_leaf(item, data)
            if name:
                found.append((item.start_byte, item.end_byte, name))
    return found


def _pieces_of_string(node: Node) -> list[Node | Span]:
    """The text of a string, and the code inside of it."""
    pieces: list[Node | Span] = []
    at = node.start_byte
    for child in node.children:
        if child.is_named and _INSERTED.search(child.type):
            pieces += [(at, child.start_byte, STRING), child]
            at = child.end_byte
    return [*pieces, (at, node.end_byte, STRING)]


def _kind_of_leaf(node: Node, data: bytes) -> str:
    text = data[node.start_byte : node.end_byte]
    if node.is_named:
        if node.type in _WORD_NODES:
            return KEYWORD
        return NUMBER if text[:1].isdigit() or (text[:1] in b"-." and text[1:2].isdigit()) else ""
    return KEYWORD if text[:1].isalpha() and text.replace(b"_", b"").isalnum() else ""


def _in_characters(text: str, spans: list[Span], size: int) -> list[Span]:
    if size == len(text):
        return [span for span in spans if span[0] < span[1]]
    ends = list(accumulate(len(character.encode("utf-8", "replace")) for character in text))
    """Where each character ends, in bytes."""
    found = []
    for start, end, kind in spans:
        first, last = bisect_left(ends, start + 1), bisect_left(ends, end)
        if first <= last < len(ends):
            found.append((first, last + 1, kind))
    return found
