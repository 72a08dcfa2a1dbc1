"""A language's grammar, loaded when the first file needs it, and the two parsers that run it.

tree-sitter is the reference. The kernel's parser takes the same tables and makes the same trees in less than half the time. It
counts what it does: on a text that takes more steps or memory than any real one it gives up, in the middle of a grammar's own
code if need be, and the text is cut by lines. tree-sitter cannot be stopped so, and is used only where there is no kernel.

Query patterns are compiled into the form that the kernel matches. Of that language this is what the specifications use:
`(type field: (type) @name !field "text" (_) [a b] x? . x .)`, and `(#any-of? @name "text" …)`. A choice becomes several
patterns with one number, and so does what may be missing. Whatever else a query says is a ValueError: tree-sitter itself is
used then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.languages import NONE, UNKNOWN, Used, installed, load_capsule, version_key, version_of
from lurcher.languages.base import Captures, DefinitionRules
from lurcher.languages.definitions import KernelRules, kernel_rules
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.imports import Windows, find_imports, joint_query, query_of
from lurcher.languages.occurrences import find_occurrences, kernel_occurrences
from lurcher.runtime.kernel import native

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import tree_sitter
    from tree_sitter import Node


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


Matches = list[tuple[int, Captures]]


@dataclass(frozen=True, slots=True)
class TreeSitterReader:
    """Grammar and query are immutable, so threads share them."""

    name: str
    language: tree_sitter.Language
    query: tree_sitter.Query
    with_imports: bool
    """Whether patterns of imports follow those of the specification."""

    def parse(self, text: bytes) -> Node | None:
        from tree_sitter import Parser

        return Parser(self.language).parse(text).root_node

    def matches(self, root: Node) -> Matches:
        from tree_sitter import QueryCursor

        return QueryCursor(self.query).matches(root)

    def imports_in(self, root: Node, windows: Windows | None) -> list[Node]:
        return find_imports(root, self.name, windows)

    def occurrences(self, root: Node, text: bytes) -> bytes:
        rules = load_language(self.name).occurrences
        return b"" if rules is None else find_occurrences(root, text, rules)


@dataclass(frozen=True, slots=True)
class KernelReader:
    language: Any
    patterns: Any
    """The patterns of the specification, then those of imports if both are wanted."""
    imports: Any
    """Those of imports alone; nothing for languages without any."""
    choices: dict[int, tuple[str, frozenset[bytes]]]
    """By a pattern's number: a capture, and what its text may be."""
    with_imports: bool
    occurrence_rules: Any = None
    """Those of the kernel's; None for languages without any."""

    def parse(self, text: bytes) -> Node | None:
        root: Node | None = self.language.parse(text)
        return root

    def matches(self, root: Node) -> Matches:
        found: Matches = self.patterns.matches(root)
        if not self.choices:
            return found
        return [match for match in found if match[0] not in self.choices or self._is_chosen(*match)]

    def _is_chosen(self, number: int, captures: Captures) -> bool:
        name, texts = self.choices[number]
        return captures[name][0].text in texts

    def imports_in(self, root: Node, windows: Windows | None) -> list[Node]:
        if self.imports is None:
            return []
        matches = self.imports.matches(root) if windows is None else self.imports.within(root, windows)
        return [captures["import"][0] for _, captures in matches]

    def occurrences(self, root: Node, text: bytes) -> bytes:
        return b"" if self.occurrence_rules is None else self.occurrence_rules.encode(root, text)


Reader = TreeSitterReader | KernelReader


@dataclass(frozen=True, slots=True)
class Grammar:
    name: str
    capsule: object
    rules: DefinitionRules
    kernel_rules: KernelRules | None
    """What the kernel needs of the rules, where there is a kernel."""
    kernel: KernelReader | None
    fallback: str = ""
    """Why tree-sitter runs it although there is a kernel."""

    def prepared(self, text: bytes) -> bytes:
        """The text as a parser is to see it."""
        prepare = load_language(self.name).prepare
        return text if prepare is None else prepare(text)

    def parsed(self, text: bytes) -> tuple[Node, Reader] | None:
        """The root of a text's tree, and which parser made it; None if the kernel gives up.

        Without a kernel this may take for ever: see isolated.py.
        """
        if self.kernel is not None:
            root = self.kernel.parse(text)
            return None if root is None else (root, self.kernel)
        reader = tree_sitter_reader(self.name, self.capsule)
        assert reader is not None
        root = reader.parse(text)
        assert root is not None
        return root, reader


def definition_rules(language: str) -> DefinitionRules:
    """What a language that has a grammar calls a definition."""
    rules = load_language(language).definitions
    assert rules is not None
    return rules


@cache
def grammar_of(language: str) -> Grammar | None:
    """The grammar of a language; None if it cannot be loaded, or has unknown node types."""
    entry = LANGUAGES.get(language)
    if entry is None or entry.grammar is None:
        return None
    module, function = entry.grammar
    installed(module)  # a copy, so that later changes do not matter
    try:
        capsule = load_capsule(module, function)
    except (ImportError, AttributeError):
        return None
    rules = definition_rules(language)
    for_kernel = None if native() is None else kernel_rules(rules)
    kernel, fallback = _kernel_reader(language, capsule)
    # compiling a query with tree-sitter is slow, so that is done only if the kernel cannot be used.
    if kernel is None and tree_sitter_reader(language, capsule) is None:
        return None
    return Grammar(language, capsule, rules, for_kernel, kernel, fallback)


@cache
def tree_sitter_reader(language: str, capsule: object) -> TreeSitterReader | None:
    try:
        from tree_sitter import Language, Query

        loaded = Language(capsule)
        patterns = "\n".join(pattern for _, pattern in definition_rules(language).patterns)
        imports = joint_query(language)
        try:
            query = Query(loaded, f"{patterns}\n{imports}")
        except ValueError:  # it knows other imports
            query, imports = Query(loaded, patterns), ""
    except (ImportError, TypeError, ValueError):
        return None
    return TreeSitterReader(language, loaded, query, bool(imports))


def _kernel_reader(language: str, capsule: object) -> tuple[KernelReader | None, str]:
    """The kernel's reader, or None and the reason: another ABI or layout, or a pattern that only tree-sitter's queries know."""
    kernel = native()
    if kernel is None:
        return None, ""
    imports, alone = joint_query(language), query_of(language)
    rules = load_language(language).occurrences
    try:
        loaded = kernel.Language(capsule)
        asked = compile_patterns(loaded, [*(pattern for _, pattern in definition_rules(language).patterns), imports])
        asked_alone = compile_patterns(loaded, [alone])
        reader = KernelReader(
            loaded,
            kernel.Patterns(loaded, asked.names, asked.patterns),
            kernel.Patterns(loaded, asked_alone.names, asked_alone.patterns) if alone else None,
            asked.choices,
            bool(imports),
            None if rules is None else kernel_occurrences(loaded, rules),
        )
    except (TypeError, ValueError) as problem:
        return None, str(problem)
    return reader, ""


def used(language: str) -> Used | None:
    """The grammar that reads files of a language in this process; None if there is none."""
    known = LANGUAGES.get(language)
    if known is None or known.grammar is None:
        return None
    module = known.grammar[0]
    place = installed(module)
    loaded = grammar_of(language) is not None
    version = (version_of(place[0], module) if place is not None else UNKNOWN) if loaded else NONE
    return Used(module, version, *(place[1:] if place is not None else (0, 0)))


def describe_grammars(languages: Iterable[str]) -> dict[str, dict[str, str]]:
    """For `lurcher status` and `doctor`: the grammar of each language that can have one, and what reads its files.

    The reader is the kernel; tree-sitter without a kernel and for grammars that the kernel does not know; or lines, where there
    is no grammar that can be used. The reason says why the kernel cannot read a grammar.
    """
    found = {}
    for language in sorted(languages):
        grammar = used(language)
        if grammar is not None:
            loaded = grammar_of(language)
            reader = "lines" if loaded is None else "tree-sitter" if loaded.kernel is None else "kernel"
            found[language] = {"package": grammar.module.replace("_", "-"), "version": grammar.version, "reader": reader}
            if loaded is not None and loaded.fallback:
                found[language]["reason"] = loaded.fallback
    return found


def merged(known: Mapping[str, Used], languages: Iterable[str]) -> dict[str, Used]:
    """What is known of an index to which files of some languages come: of two grammars the older counts."""
    found = dict(known)
    for language in languages:
        now = used(language)
        if now is not None and (language not in known or version_key(now.version) < version_key(known[language].version)):
            found[language] = now
    return dict(sorted(found.items()))
