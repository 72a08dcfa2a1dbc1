"""Elixir: everything is a call, so the macro's name decides; @doc strings count as comments."""

from __future__ import annotations

from lurcher.chunking.definitions.spec import COMMENT, SCOPE, Found, Spec


def _macro(shape: str, *names: str) -> str:
    """A call to one of the named macros, captured as a definition."""
    quoted = " ".join(f'"{name}"' for name in names)
    return f"(call target: (identifier) @_macro {shape} (#any-of? @_macro {quoted})) @def"


def _attribute(arguments: str, *names: str) -> str:
    """A module attribute of one of the given names."""
    quoted = " ".join(f'"{name}"' for name in names)
    return f"(unary_operator operand: (call target: (identifier) @_name {arguments}) (#any-of? @_name {quoted}))"


_HEAD = """(arguments . [(call target: (identifier) @name) (identifier) @name
    (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")])"""
_TYPE_HEAD = "(arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)]))"
_NAMED_BLOCK = "(arguments . (alias) @name) (do_block) @body"

_PATTERNS = (
    ("module", _macro(_NAMED_BLOCK, "defmodule")),
    ("interface", _macro(_NAMED_BLOCK, "defprotocol")),
    (SCOPE, _macro(_NAMED_BLOCK, "defimpl")),
    ("function", _macro(_HEAD, "def", "defp", "defdelegate")),
    ("macro", _macro(_HEAD, "defmacro", "defmacrop", "defguard", "defguardp")),
    ("type", _attribute(_TYPE_HEAD, "type", "typep", "opaque") + " @def"),
    ("function", _attribute(_TYPE_HEAD, "callback", "macrocallback") + " @def"),
    (COMMENT, "(comment) @def"),
    (COMMENT, _attribute("(arguments [(string) (sigil)] @def)", "doc", "moduledoc", "typedoc", "shortdoc")),
)

_PRIVATE = (b"defp ", b"defp(", b"defmacrop", b"defguardp", b"@typep")


def _refine(found: Found, text: bytes) -> Found | None:
    """A block's `do` ends the signature, wherever the grammar hangs it."""
    if found.kind in ("function", "macro"):
        block = text.find(b" do\n", found.name_end, found.end)
        if block >= 0:
            found.signature_end = min(found.signature_end, block)
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return not modifiers.startswith(_PRIVATE)


SPECS = {
    "elixir": Spec(
        patterns=_PATTERNS,
        leads=frozenset({"comment", "unary_operator"}),
        exported=_exported,
        methods_in=frozenset(),
        qualifiers=r"\.",
        refine=_refine,
        merge_equations=True,
    )
}
