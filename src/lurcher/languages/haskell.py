"""Haskell: types, classes, instances and top-level functions; a signature and its equations are one definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    SCOPE,
    Captures,
    DefinitionRules,
    Found,
    Language,
    OccurrenceRules,
    each,
    first,
    members,
    names,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _named(node: Node) -> Iterator[tuple[str, Node]]:
    """The function that a signature or an equation is part of; `x <+> y = …` defines its operator."""
    found = node.children_by_field_name("name")
    if not found and node.type == "function":
        head = first(node)
        found = head.children_by_field_name("operator") if head is not None and head.type == "infix" else []
    for name in found:
        yield "function", name


def _constructor(node: Node) -> Iterator[tuple[str, Node]]:
    for constructor in node.children_by_field_name("constructor"):
        yield from names("constructor", "name", "constructor")(constructor)


def _foreign(node: Node) -> Iterator[tuple[str, Node]]:
    for signature in node.children_by_field_name("signature"):
        if signature.type == "signature":
            yield from _named(signature)


def _class(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A class ends its signature where its declarations begin."""
    declarations = captures["def"][0].child_by_field_name("declarations")
    yield "class", captures if declarations is None else {**captures, "body": [declarations]}


_PATTERNS = (
    ("type", "[(data_type) (newtype) (type_synonym) (type_family) (data_family)] @def"),
    (_class, "(class) @def"),
    (SCOPE, "(instance) @def"),
    (each(_constructor), "(data_constructor) @def"),
    (each(names("constructor", "name", "constructor")), "[(newtype_constructor) (gadt_constructor)] @def"),
    (
        members({"signature": _named, "function": _named, "bind": _named}),
        "[(declarations) (class_declarations) (instance_declarations)] @in",
    ),
    (each(names("field", "name", "field_name")), "(field) @def"),
    (each(_foreign), "(foreign_import) @def"),
    (COMMENT, "[(comment) (haddock)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`(<+>)` and `` `op` `` are named <+> and op."""
    if found.name[:1] in "(`":
        found.name = found.name.strip("()` ")
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "haddock", "signature", "pragma"}),
    divided=frozenset({"imports"}),
    refine=_refine,
    merge_equations=True,
)


_OCCURRENCES = OccurrenceRules(
    names="variable constructor name=type",
    places="""
    definition: function.name signature.name data_type.name newtype.name class.name record.name bind.name field_name
    definition: patterns type_params.bind data_constructor.constructor
    call: apply.function infix_id
    member: qualified.id
    inheritance: instance.name
    import: import_name
    inside: prefix.name
    """,
)


LANGUAGES = (
    Language(
        name="haskell",
        extensions=("hs", "hsc"),
        aliases=("hs",),
        interpreters=("runhaskell", "stack"),
        grammar=("tree_sitter_haskell", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
    ),
)
