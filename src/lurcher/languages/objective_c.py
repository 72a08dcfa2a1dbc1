"""Objective-C.

Definitions: those of C, and classes, protocols, categories with their methods and properties. A method is named by the first
part of its selector; the methods of a category belong to the class.

Imports: `#import` and `#include` as in C, and `@import Module;`.

Resolution: that of C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    SCOPE,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    MatchReader,
    OccurrenceRules,
    child,
    cut,
    extent,
    line_of,
)
from lurcher.languages.c import C_DEFINITIONS, CResolver, read_includes

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 20


def _type(kind: str) -> MatchReader:
    """Reads a class or protocol; what has a category defines nothing itself. Its signature ends with its first line."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        name = child(node, "identifier", "type_identifier")
        if name is None:
            return
        whole = SCOPE if node.child_by_field_name("category") is not None else kind
        line_end = node.start_byte + (node.text or b"").find(b"\n") if b"\n" in (node.text or b"") else node.end_byte
        brace = child(node, "instance_variables")
        end = min(line_end, brace.start_byte) if brace is not None else line_end
        yield whole, {"def": [node], "name": [name], "body": [extent(max(end, name.end_byte), node.end_byte)]}

    return read


def _method(captures: Captures) -> Iterator[tuple[str, Captures]]:
    node = captures["def"][0]
    name, body = child(node, "identifier"), child(node, "compound_statement")
    if name is not None:
        yield "method", {"def": [node], "name": [name], **({"body": [body]} if body is not None else {})}


def _declared(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The names of a property or an instance variable, which may be pointers."""
    declaration = child(captures["def"][0], "struct_declaration")
    for declarator in declaration.named_children if declaration is not None else ():
        if declarator.type != "struct_declarator":
            continue
        node: Node | None = declarator
        for _ in range(_DEEPEST):
            if node is None or node.type == "identifier":
                break
            node = child(node, "identifier", "pointer_declarator", "parenthesized_declarator", "function_declarator",
                         "block_pointer_declarator", "array_declarator")  # fmt: skip
        if node is not None and node.type == "identifier":
            yield "field", {**captures, "name": [node]}


_QUALIFIERS = re.compile(r"\b(?:const|_Nonnull|_Nullable|__nonnull|__nullable)\b")


def _refine(found: Found, text: bytes) -> Found | None:
    """`NSString * const kName` names kName."""
    if found.kind == "variable":
        found.name = _QUALIFIERS.sub("", found.name)
    return C_DEFINITIONS.refine(found, text) if C_DEFINITIONS.refine is not None else found


_MACRO = re.compile(
    rb"\bNS_(?:CLOSED_|ERROR_)?(?:ENUM|OPTIONS)[ \t]*\([^,()\n]{0,100},[ \t]*(?P<enum>\w+)[ \t]*\)"
    rb"|\b(?P<extern>FOUNDATION_EXPORT|FOUNDATION_EXTERN|UIKIT_EXTERN)\b"
    rb"|\b(?:NS_ASSUME_NONNULL_BEGIN|NS_ASSUME_NONNULL_END|NS_DESIGNATED_INITIALIZER|NS_UNAVAILABLE|NS_REQUIRES_SUPER"
    rb"|NS_REFINED_FOR_SWIFT|UI_APPEARANCE_SELECTOR|(?:NS_SWIFT_|NS_AVAILABLE|NS_CLASS_AVAILABLE|NS_ENUM_AVAILABLE|NS_DEPRECATED"
    rb"|API_AVAILABLE|API_UNAVAILABLE|API_DEPRECATED)\w*[ \t]*\([^()\n]{0,200}\))"
)


def _prepare(text: bytes) -> bytes:
    """Without the macros of Apple's frameworks, on which the grammar stumbles; `NS_ENUM(NSInteger, Color)` is `enum Color`."""
    return _MACRO.sub(_replaced, text)


def _replaced(match: re.Match[bytes]) -> bytes:
    size = match.end() - match.start()
    if match["extern"] is not None:
        return b"extern".ljust(size)
    if match["enum"] is None:
        return b" " * size
    before = match.start("enum") - match.start()
    return (b"enum".ljust(before) + match["enum"]).ljust(size)


_DEFINITIONS = DefinitionRules(
    patterns=(
        (_type("class"), "[(class_interface) (class_implementation)] @def"),
        (_type("interface"), "(protocol_declaration) @def"),
        (_method, "[(method_declaration) (method_definition)] @def"),
        (_declared, "[(property_declaration) (instance_variable)] @def"),
        *C_DEFINITIONS.patterns,
    ),
    leads=C_DEFINITIONS.leads,
    exported=C_DEFINITIONS.exported,
    contains_nothing=C_DEFINITIONS.contains_nothing,
    refine=_refine,
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = read_includes([node for node in nodes if node.type != "module_import"], text, root)
    for node in nodes:
        path = node.child_by_field_name("path") if node.type == "module_import" else None
        if path is not None:
            found.append(Import(cut(path, text), (), line_of(node), "import"))
    return sorted(found, key=lambda entry: entry.line)


_IMPORTS = ImportRules(
    words=(b"include", b"include_next", b"import"),
    query="(preproc_include) @import (preproc_call) @import (module_import) @import",
    read=_read_imports,
)

_CODE = re.compile(rb"(?m)^[ \t]*(?:#[ \t]*(?:import|include|define|pragma|if)|@\w+|//|/\*)|[;{][ \t]*$")
_MATLAB = re.compile(rb"(?m)\A\s*(?:%|function\b|classdef\b)")


def _decide(extension: str, head: bytes) -> str:
    """MATLAB has files named `.m` too; they begin with a comment, a function or a class."""
    return "matlab" if extension == "m" and _MATLAB.match(head) and not _CODE.match(head) else "objective-c"


_OCCURRENCES = OccurrenceRules(
    names="identifier field_identifier type_identifier=type",
    places="""
    definition: class_interface class_implementation method_declaration method_definition method_parameter struct_declarator
    definition: function_declarator.declarator init_declarator.declarator declaration.declarator
    definition: parameter_declaration.declarator
    call: call_expression.function message_expression.method
    member: field_expression.field
    write: assignment_expression.left
    inheritance: class_interface.superclass parameterized_arguments
    inside: pointer_declarator.declarator type_name
    """,
)


LANGUAGES = (
    Language(
        name="objective-c",
        extensions=("m", "mm"),
        decide=_decide,
        prepare=_prepare,
        aliases=("objc", "objectivec"),
        grammar=("tree_sitter_objc", "language"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="c",
        resolver=CResolver,
    ),
)
