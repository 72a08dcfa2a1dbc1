"""Haskell: types, classes, instances and top-level functions; a signature and its equations are one definition."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, SCOPE, Found, Spec

_FUNCTION = """[(signature name: (_) @name) (function name: (_) @name) (bind name: (_) @name)
    (function (infix operator: (_) @name))] @def"""

_PATTERNS = (
    ("type", "[(data_type name: (_) @name) (newtype name: (_) @name) (type_synonym name: (_) @name)] @def"),
    ("type", "[(type_family name: (_) @name) (data_family name: (_) @name)] @def"),
    ("class", "(class name: (_) @name declarations: (_)? @body) @def"),
    (SCOPE, "(instance name: (_) @name) @def"),
    ("constructor", "(data_constructor constructor: (_ name: (constructor) @name)) @def"),
    ("constructor", "(newtype_constructor name: (constructor) @name) @def"),
    ("constructor", "(gadt_constructor name: (constructor) @name) @def"),
    ("function", f"(declarations {_FUNCTION})"),
    ("function", f"(class_declarations {_FUNCTION})"),
    ("function", f"(instance_declarations {_FUNCTION})"),
    ("function", "(foreign_import signature: (signature name: (_) @name)) @def"),
    (COMMENT, "[(comment) (haddock)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`(<+>)` and `` `op` `` are named <+> and op."""
    if found.name[:1] in "(`":
        found.name = found.name.strip("()` ")
    return found


SPECS = {
    "haskell": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "haddock", "signature", "pragma"}),
        divided=frozenset({"imports"}),
        refine=_refine,
        merge_equations=True,
    )
}
