"""How a language describes its definitions: tree-sitter patterns with a kind each, and the rules queries cannot say.

A pattern captures `@def` (the whole definition) and `@name`, which is the definition's field of that name where it is not
captured; optionally `@owner` (the type that a definition outside its type belongs to), `@body` (where the signature ends)
or `@value` (a function or type literal whose body ends it).

Patterns are as flat as they can be: one node, with a field or a child only where that is cheap or keeps much else from
matching. To compile a query tree-sitter follows every nested pattern through the states of the parser, which in a large
grammar takes up to a fifth of a second for a single one; flat patterns cost nothing. What a flat pattern cannot say is left
to a reader, which looks at the nodes around the match and gives what a nested pattern would have captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lurcher.runtime.light import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = dict[str, list["Node"]]
"""The nodes of a match by the names of their captures."""
Reader = Callable[[Captures], Iterable[tuple[str, Captures]]]
"""Makes any number of definitions and comments, each a kind and its captures, of the match of a flat pattern."""
Patterns = tuple[tuple[str | Reader, str], ...]
"""Each with its kind or its reader."""

COMMENT = "comment"
"""`@def` is a comment or a documentation string."""
ATTRIBUTE = "attribute"
"""`@def` is a sibling that belongs to the definition it precedes."""
WRAP = "wrap"
"""`@def` is a wrapper (decorators, export, template) around the definition captured as `@inner`."""
SCOPE = "scope"
"""`@def` defines nothing itself but contains definitions of `@name`: an impl block, an extension."""
OPEN_SCOPE = "open scope"
"""A scope whose members are visible whatever their modifiers: the implementation of a trait."""

TYPES = frozenset({"class", "struct", "enum", "interface", "trait", "type", SCOPE, OPEN_SCOPE})
"""Kinds in which a function is a method."""


@dataclass(slots=True)
class Found:
    """A definition while it is being gathered."""

    kind: str
    name: str
    owner: str
    start: int
    end: int
    signature_start: int
    signature_end: int
    name_start: int
    name_end: int
    value_start: int
    """Where the captured value begins; the end of the name where none was captured."""


def always(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return True


def no_underscore(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """A leading underscore hides, except in names such as `__init__` that the language itself calls."""
    name = found.name
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def not_private(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """The rule of most class-based languages: visible unless the modifiers say otherwise."""
    words = modifiers.split()
    return not any(word in (b"private", b"fileprivate") or word.startswith(b"private[") for word in words)


@dataclass(frozen=True, slots=True)
class Spec:
    """Everything the extractor needs to know about one language."""

    patterns: Patterns
    """In order of preference: of two patterns that find one name in one place the earlier wins, and of what one reader finds
    there the first."""
    leads: frozenset[str]
    """Node types that stay with the node they precede: comments, attributes, decorators."""
    exported: Callable[[Found, bytes, str], bool] = always
    """Whether a definition is visible outside, from the bytes between its start and its name and its parent's kind."""
    methods_in: frozenset[str] = TYPES
    """Kinds of parents in which a function is called a method."""
    constructors: frozenset[str] = frozenset()
    """Method names that construct."""
    constructor_is_class: bool = False
    """Whether a method that bears its class's name constructs."""
    qualifiers: str | None = None
    """What separates the parts of a qualified name, as a regular expression; None where names have no parts."""
    divided: frozenset[str] = frozenset()
    """Node types that chunking always divides, because their grammar hangs a neighbour's comment in them."""
    contains_nothing: frozenset[str] = frozenset()
    """Kinds that are not containers of what lies in them."""
    annotations: bytes = b""
    """First bytes of annotations that lie inside a definition's node; its signature begins after them."""
    signature_at_wrapper: bool = True
    """Whether the signature includes the wrapper's own text (`export`, `template <…>`), as decorators do not."""
    refine: Callable[[Found, bytes], Found | None] | None = None
    """A last look at each definition: change it, or drop it by returning None."""
    merge_equations: bool = False
    """Whether successive definitions of one name in one container are parts of one definition."""
