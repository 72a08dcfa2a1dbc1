"""Python: classes, functions, module-level names; docstrings count as comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.spec import COMMENT, WRAP, Captures, Reader, Spec, no_underscore

if TYPE_CHECKING:
    from tree_sitter import Node


def _documentation(body: Node) -> Iterator[tuple[str, Captures]]:
    """The string that is the first statement of a body, as a comment."""
    for statement in body.named_children:
        if statement.type != "comment":
            if statement.type == "expression_statement" and statement.named_child_count == 1:
                string = statement.named_children[0]
                if string.type == "string":
                    yield COMMENT, {"def": [string]}
            return


def _documented(kind: str) -> Reader:
    """Reads a definition together with its documentation."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        yield kind, captures
        body = captures["def"][0].child_by_field_name("body")
        if body is not None:
            yield from _documentation(body)

    return read


def _module(captures: Captures) -> Iterator[tuple[str, Captures]]:
    yield from _documentation(captures["in"][0])


_PATTERNS = (
    (_documented("class"), "(class_definition) @def"),
    (_documented("function"), "(function_definition) @def"),
    ("type", "(type_alias_statement left: (type (identifier) @name)) @def"),
    ("variable", "(module (expression_statement (assignment left: (identifier) @name)) @def)"),
    (WRAP, "(decorated_definition definition: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
    (_module, "(module) @in"),
)

SPECS = {
    "python": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "decorator"}),
        exported=no_underscore,
        constructors=frozenset({"__init__", "__new__"}),
        signature_at_wrapper=False,
    )
}
