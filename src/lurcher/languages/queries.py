"""Compiles tree-sitter query patterns into the form that the kernel matches.

Of that language this is what the specifications use: `(type field: (type) @name !field "text" (_) [a b] x? . x .)`, and
`(#any-of? @name "text" …)`. A choice becomes several patterns with one number, and so does what may be missing. Whatever else a
query says is a ValueError: tree-sitter itself is used then.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any, NamedTuple

_TOKEN = re.compile(r'\s*(?:;[^\n]*\n\s*)*([()\[\].?!]|@[\w.-]+|[\w.-]+:|"(?:[^"\\]|\\.)*"|[\w-]+|$|\S)')
_FIRST, _LAST = 1, 2

Steps = tuple[tuple[int, int, int, int, int, int, tuple[int, ...]], ...]


class Compiled(NamedTuple):
    names: tuple[str, ...]
    """Of captures."""
    patterns: tuple[tuple[int, Steps], ...]
    """The number of the text that each comes from, and its steps."""
    choices: dict[int, tuple[str, frozenset[bytes]]]
    """By number: a capture, and what its text may be."""


class _Tree(NamedTuple):
    """One way to read one node of a pattern."""

    kind: str
    """A name, a quoted text, or _ for any named node."""
    field: str = ""
    capture: str = ""
    missing: tuple[str, ...] = ()
    children: tuple[_Tree, ...] = ()
    place: int = 0


class _Text:
    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if token]
        self._at = 0
        self.choice: tuple[str, frozenset[bytes]] | None = None

    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def is_condition(self) -> bool:
        return self._tokens[self._at : self._at + 2] == ["(", "#"]

    def take(self, wanted: str = "") -> str:
        token = self.next()
        if not token or (wanted and token != wanted):
            raise ValueError(f"{wanted or 'more'} expected, not {token or 'the end'}")
        self._at += 1
        return token


def compile_patterns(language: Any, texts: list[str]) -> Compiled:
    """The patterns in some texts, for a language of the kernel's."""
    names: dict[str, int] = {}
    patterns = []
    choices = {}
    for number, text in enumerate(texts):
        source = _Text(text)
        while source.next():
            patterns += [(number, _steps(tree, language, names)) for tree in _node(source)]
        if source.choice is not None:
            choices[number] = source.choice
    return Compiled(tuple(names), tuple(patterns), choices)


def _node(source: _Text) -> list[_Tree]:
    """All ways to read the node that comes next, with its role and its capture."""
    field = source.take()[:-1] if source.next().endswith(":") and source.next() != ":" else ""
    token = source.take()
    if token == "(":
        trees = _inside(source)
    elif token == "[":
        trees = []
        while source.next() != "]":
            trees += _node(source)
        source.take("]")
    elif token.startswith('"'):
        trees = [_Tree(token)]
    else:
        raise ValueError(f"{token} is not known here")
    optional = source.next() == "?"
    if optional:
        source.take()
    if source.next().startswith("@"):
        capture = source.take()[1:]
        if any(tree.capture for tree in trees):
            raise ValueError("two captures of one node")
        trees = [tree._replace(capture=capture) for tree in trees]
    if field:
        trees = [tree._replace(field=field) for tree in trees]
    if optional:
        if len(trees) != 1 or trees[0].kind != "_" or trees[0].children or not field:
            raise ValueError("only any node of a field may be missing")
        trees.append(_Tree("", field=field))
    return trees


def _inside(source: _Text) -> list[_Tree]:
    """All ways to read a node after its opening parenthesis."""
    kind = source.take()
    if not re.fullmatch(r"\w+", kind):
        raise ValueError(f"{kind} is no type of node")
    missing: list[str] = []
    children: list[list[_Tree]] = []
    first = False
    while source.next() != ")":
        if source.next() == ".":
            source.take()
            if source.next() == ")":
                if not children:
                    raise ValueError("nothing comes last")
                children[-1] = [tree._replace(place=tree.place | _LAST) for tree in children[-1]]
            first = True
        elif source.is_condition():
            _condition(source)
        elif source.next() == "!":
            source.take()
            missing.append(source.take())
        else:
            found = _node(source)
            children.append([tree._replace(place=tree.place | _FIRST) for tree in found] if first else found)
            first = False
    source.take(")")
    trees = []
    for ways in product(*children):
        absent = tuple(way.field for way in ways if not way.kind)
        trees.append(_Tree(kind, missing=(*missing, *absent), children=tuple(way for way in ways if way.kind)))
    return trees


def _condition(source: _Text) -> None:
    for token in ("(", "#", "any-of", "?"):
        source.take(token)
    capture = source.take()[1:]
    texts = set()
    while source.next() != ")":
        texts.add(source.take()[1:-1].encode())
    source.take(")")
    if source.choice is not None:
        raise ValueError("two conditions")
    source.choice = (capture, frozenset(texts))


def _steps(tree: _Tree, language: Any, names: dict[str, int]) -> Steps:
    steps: list[tuple[int, int, int, int, int, int, tuple[int, ...]]] = []

    def add(tree: _Tree, parent: int, before: int) -> int:
        if tree.kind == "_":
            symbol = -1
        else:
            quoted = tree.kind.startswith('"')
            symbol = language.symbol(tree.kind[1:-1] if quoted else tree.kind, not quoted)
        own = len(steps)
        steps.append(
            (
                symbol,
                language.field(tree.field) if tree.field else 0,
                parent,
                before,
                tree.place,
                names.setdefault(tree.capture, len(names)) if tree.capture else -1,
                tuple(language.field(field) for field in tree.missing),
            )
        )
        previous = -1
        for child in tree.children:
            previous = add(child, own, previous)
        return own

    add(tree, -1, -1)
    return tuple(steps)
