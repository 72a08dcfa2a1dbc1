"""Ruby: modules and classes, methods, constants, and attributes declared with attr_*."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, TYPES, Found, Spec, no_underscore

_PATTERNS = (
    ("module", "(module name: (_) @name) @def"),
    ("class", "(class name: (_) @name) @def"),
    ("function", "(method name: (_) @name) @def"),
    ("function", "(singleton_method name: (_) @name) @def"),
    ("constant", "(assignment left: [(constant) (scope_resolution)] @name right: (_) @value) @def"),
    (
        "field",
        """(call method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name)
            (#any-of? @_macro "attr_reader" "attr_writer" "attr_accessor")) @def""",
    ),
    (
        "function",
        """(call method: (identifier) @_macro arguments: (argument_list . (simple_symbol) @name)
            (#eq? @_macro "define_method")) @def""",
    ),
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
