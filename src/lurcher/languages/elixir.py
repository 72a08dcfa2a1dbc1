"""Elixir: everything is a call, so the macro's name decides; @doc strings count as comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import COMMENT, SCOPE, Captures, DefinitionRules, Found, Language, OccurrenceRules, child, first

if TYPE_CHECKING:
    from tree_sitter import Node


_BLOCKS = {"defmodule": "module", "defprotocol": "interface", "defimpl": SCOPE}
_HEADS = dict.fromkeys(("def", "defp", "defdelegate"), "function") | dict.fromkeys(
    ("defmacro", "defmacrop", "defguard", "defguardp"), "macro"
)
_ATTRIBUTES = dict.fromkeys(("type", "typep", "opaque"), "type") | dict.fromkeys(("callback", "macrocallback"), "function")
_DOCUMENTATION = ("doc", "moduledoc", "typedoc", "shortdoc")
_RECORDS = ("defstruct", "defexception")
_MACROS = " ".join(f'"{name}"' for name in (*_BLOCKS, *_HEADS, *_ATTRIBUTES, *_DOCUMENTATION, *_RECORDS))
_RESERVED = frozenset({
    *_ATTRIBUTES, *_DOCUMENTATION, "spec", "impl", "behaviour", "deprecated", "since", "derive", "enforce_keys",
    "optional_callbacks", "on_load", "on_definition", "before_compile", "after_compile", "after_verify", "compile", "dialyzer",
    "external_resource", "vsn", "nifs", "tag", "moduletag", "describetag", "fallback_to_any", "undefined_impl_description",
})  # fmt: skip
"""Attributes that say something to the compiler or to a tool; others are a module's constants."""


def _call(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """Reads a call to a macro that defines, or what an attribute such as `@type` holds."""
    call = captures["def"][0]
    macro = (captures["_macro"][0].text or b"").decode()
    arguments = child(call, "arguments")
    if arguments is None:
        return
    if macro in _BLOCKS:
        name, block = first(arguments), child(call, "do_block")
        if name is not None and name.type == "alias" and block is not None:
            yield _BLOCKS[macro], {"def": [call], "name": [name], "body": [block]}
    elif macro in _RECORDS:
        yield from _fields(arguments)
    elif macro in _HEADS:
        name = _head(first(arguments))
        if name is not None:
            yield _HEADS[macro], {"def": [call], "name": [name]}
    elif (attribute := call.parent) is not None and attribute.type == "unary_operator":
        for argument in arguments.named_children:
            if macro in _DOCUMENTATION:
                if argument.type in ("string", "sigil"):
                    yield COMMENT, {"def": [argument]}
            elif argument.type == "binary_operator" and (name := _called(argument.child_by_field_name("left"))) is not None:
                yield _ATTRIBUTES[macro], {"def": [attribute], "name": [name]}


def _constant(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`@timeout 5_000`."""
    call, operator = captures["call"][0], captures["def"][0].child_by_field_name("operator")
    name = call.child_by_field_name("target")
    if operator is None or operator.type != "@" or name is None or name.type != "identifier":
        return
    if (name.text or b"").decode() not in _RESERVED and child(call, "arguments") is not None:
        yield "constant", {"def": captures["def"], "name": [name]}


def _fields(arguments: Node) -> Iterator[tuple[str, Captures]]:
    """`[:name, size: 0]` and `name: "", size: 0`."""
    for argument in arguments.named_children:
        entries = argument.named_children if argument.type == "list" else [argument]
        for entry in entries:
            if entry.type == "atom":
                yield "field", {"def": [entry], "name": [entry]}
            for pair in entry.named_children if entry.type == "keywords" else ():
                key = pair.child_by_field_name("key")
                if key is not None and key.type == "keyword":
                    yield "field", {"def": [pair], "name": [key]}


def _head(node: Node | None) -> Node | None:
    """The name in `area(x)`, `area` and `area(x) when x > 0`."""
    if node is not None and node.type == "binary_operator":
        operator = node.child_by_field_name("operator")
        node = node.child_by_field_name("left") if operator is not None and operator.type == "when" else None
    return _called(node)


def _called(node: Node | None) -> Node | None:
    """The name in `area(x)` and `area`."""
    if node is not None and node.type == "call":
        node = node.child_by_field_name("target")
    return node if node is not None and node.type == "identifier" else None


_PATTERNS = (
    (_call, f"(call target: (identifier) @_macro (#any-of? @_macro {_MACROS})) @def"),
    (_constant, "(unary_operator operand: (call) @call) @def"),
    (COMMENT, "(comment) @def"),
)

_PRIVATE = (b"defp ", b"defp(", b"defmacrop", b"defguardp", b"@typep")


def _refine(found: Found, text: bytes) -> Found | None:
    """A block's `do` ends the signature, wherever the grammar hangs it; fields are named without their colons."""
    if found.kind == "field":
        found.name = found.name.strip(": ")
    if found.kind in ("function", "macro"):
        block = text.find(b" do\n", found.name_end, found.end)
        if block >= 0:
            found.signature_end = min(found.signature_end, block)
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return found.kind != "constant" and not modifiers.startswith(_PRIVATE)


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "unary_operator"}),
    exported=_exported,
    methods_in=frozenset(),
    qualifiers=r"\.",
    refine=_refine,
    merge_equations=True,
)


_OCCURRENCES = OccurrenceRules(
    names="identifier alias",
    places="""
    call: call.target
    member: dot.right
    """,
)


LANGUAGES = (
    Language(
        name="elixir",
        extensions=("ex", "exs"),
        filenames=("mix.lock",),
        aliases=("ex",),
        interpreters=("elixir",),
        grammar=("tree_sitter_elixir", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
    ),
)
