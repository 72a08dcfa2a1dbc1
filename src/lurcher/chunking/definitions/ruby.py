"""Ruby: modules and classes, methods, constants, and attributes declared with attr_*."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.chunking.definitions.spec import COMMENT, TYPES, Captures, Found, Spec, no_underscore

_ATTRIBUTES = (b"attr_reader", b"attr_writer", b"attr_accessor")


def _constant(captures: Captures) -> Iterator[tuple[str, Captures]]:
    assignment = captures["def"][0]
    name = assignment.child_by_field_name("left")
    if name is not None and name.type in ("constant", "scope_resolution"):
        value = assignment.child_by_field_name("right")
        if value is not None:
            yield "constant", {**captures, "name": [name], "value": [value]}


def _symbol(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A symbol among the arguments of a method that defines what they name."""
    arguments, symbol = captures["in"][0], captures["name"]
    call = arguments.parent
    method = call.child_by_field_name("method") if call is not None else None
    if call is None or method is None or method.type != "identifier":
        return
    if method.text in _ATTRIBUTES:
        yield "field", {"def": [call], "name": symbol}
    elif method.text == b"define_method" and arguments.named_child(0) == symbol[0]:
        yield "function", {"def": [call], "name": symbol}


_PATTERNS = (
    ("module", "(module) @def"),
    ("class", "(class) @def"),
    ("function", "[(method) (singleton_method)] @def"),
    (_constant, "(assignment) @def"),
    (_symbol, "(argument_list (simple_symbol) @name) @in"),
    (COMMENT, "(comment) @def"),
)

_CLASS_MAKERS = (b"Struct.new", b"Class.new", b"Data.define")


def _refine(found: Found, text: bytes) -> Found | None:
    """`Point = Struct.new(:x)` defines a class; `attr_reader :name` a field without its colon."""
    found.name = found.name.removeprefix(":")
    if found.kind == "constant" and text.startswith(_CLASS_MAKERS, found.value_start):
        found.kind = "class"
    return found


SPECS = {
    "ruby": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment"}),
        exported=no_underscore,
        methods_in=TYPES | {"module"},
        constructors=frozenset({"initialize"}),
        qualifiers="::",
        refine=_refine,
    )
}
