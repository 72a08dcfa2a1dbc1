"""Python: classes, functions, what modules and class bodies assign; docstrings count as comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.chunking.definitions.reading import first
from lurcher.chunking.definitions.spec import COMMENT, WRAP, Captures, Reader, Spec, no_underscore

if TYPE_CHECKING:
    from tree_sitter import Node


def _documentation(body: Node) -> list[tuple[str, Captures]]:
    """The string that is the first statement of a body, as a comment."""
    statement = first(body)
    if statement is not None and statement.type == "comment":
        statement = next((entry for entry in body.named_children if entry.type != "comment"), None)
    if statement is not None and statement.type == "expression_statement" and statement.named_child_count == 1:
        string = statement.named_child(0)
        if string is not None and string.type == "string":
            return [(COMMENT, {"def": [string]})]
    return []


def _documented(kind: str) -> Reader:
    """Reads a definition together with its documentation."""

    def read(captures: Captures) -> list[tuple[str, Captures]]:
        body = captures["def"][0].child_by_field_name("body")
        if body is None:
            return [(kind, captures)]
        captures["body"] = [body]
        return [(kind, captures), *_documentation(body)]

    return read


def _module(captures: Captures) -> list[tuple[str, Captures]]:
    return _documentation(captures["in"][0])


def _assigned(kind: str) -> Reader:
    """Reads `name = …`, `name: type`, `a, b = …` and `a = b = …`; a name in capitals is a constant."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        value: Node | None = captures["value"][0]
        while value is not None and value.type == "assignment":
            left = value.child_by_field_name("left")
            several = left is not None and left.type == "pattern_list"
            for name in left.named_children if left is not None and several else [left]:
                if name is not None and name.type == "identifier":
                    text = name.text or b""
                    constant = len(text) > 1 and text.isupper()
                    yield "constant" if constant else kind, {"def": captures["def"], "name": [name]}
            value = value.child_by_field_name("right")

    return read


_ASSIGNMENT = "(expression_statement (assignment) @value) @def"

_PATTERNS = (
    (_documented("class"), "(class_definition) @def"),
    (_documented("function"), "(function_definition) @def"),
    ("type", "(type_alias_statement left: (type (identifier) @name)) @def"),
    (_assigned("variable"), f"(module {_ASSIGNMENT})"),
    (_assigned("field"), f"(class_definition body: (block {_ASSIGNMENT}))"),
    (_assigned("variable"), f"(module (if_statement (block {_ASSIGNMENT})))"),
    (_assigned("variable"), f"(module (if_statement (else_clause (block {_ASSIGNMENT}))))"),
    (_assigned("variable"), f"(module (try_statement (block {_ASSIGNMENT})))"),
    (_assigned("variable"), f"(module (try_statement (except_clause (block {_ASSIGNMENT}))))"),
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
