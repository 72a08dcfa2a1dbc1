"""Ruby: modules and classes, methods, constants, attributes declared with attr_*, and the fields of records."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.chunking.definitions.spec import COMMENT, TYPES, Captures, Found, Spec, no_underscore

_RECORDS = ((b"Struct", b"new"), (b"Data", b"define"))
_ATTRIBUTES = (b"attr_reader", b"attr_writer", b"attr_accessor")


def _symbols(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The symbols among the arguments of a method that defines what they name."""
    arguments = captures["in"][0]
    call = arguments.parent
    method = call.child_by_field_name("method") if call is not None else None
    if call is None or method is None or method.type != "identifier":
        return
    macro = method.text
    if macro in (b"new", b"define"):
        receiver = call.child_by_field_name("receiver")
        if receiver is not None and (receiver.text, macro) in _RECORDS:
            for symbol in arguments.named_children:
                if symbol.type == "simple_symbol":
                    yield "field", {"def": [symbol], "name": [symbol]}
    elif macro in _ATTRIBUTES or macro == b"define_method":
        kind, limit = ("field", None) if macro in _ATTRIBUTES else ("function", 1)
        for symbol in arguments.named_children[:limit]:
            if symbol.type == "simple_symbol":
                yield kind, {"def": [call], "name": [symbol]}


def _several(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`A, B = 1, 2` defines two constants."""
    names = captures["in"][0]
    if names.parent is not None and names.parent.type == "assignment":
        for name in names.named_children:
            if name.type == "constant":
                yield "constant", {"def": [names.parent], "name": [name]}


_PATTERNS = (
    ("module", "(module) @def"),
    ("class", "(class) @def"),
    ("function", "[(method) (singleton_method)] @def"),
    ("constant", "(assignment left: [(constant) (scope_resolution)] @name right: (_) @value) @def"),
    (_several, "(left_assignment_list) @in"),
    (_symbols, "(argument_list (simple_symbol)) @in"),
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
