"""Kotlin.

Definitions: classes, objects and their members; an extension belongs to the type it extends.

Imports: `import a.b.C`, `import a.b.*`, and the package with what the file declares at its top level.

The grammar gives up on some files half-way; `*` among the declared names says that there may be more.

Resolution: see java.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    PACKAGE,
    TYPES,
    DefinitionRules,
    Finder,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    flat,
    kept,
    line_of,
    members,
    not_private,
)
from lurcher.languages.java import JvmResolver

if TYPE_CHECKING:
    from tree_sitter import Node


def _property(kind: str) -> Finder:
    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for declaration in node.named_children:
            if declaration.type == "variable_declaration":
                for name in declaration.named_children:
                    if name.type == "identifier":
                        yield kind, name

    return find


_PATTERNS = (
    ("interface", '(class_declaration "interface" name: (_) @name) @def'),
    ("class", '(class_declaration "class" name: (_) @name) @def'),
    ("module", "(object_declaration) @def"),
    ("module", "(companion_object) @def"),
    ("type", "(type_alias type: (identifier) @name) @def"),
    (
        "function",
        """(function_declaration [(user_type) (nullable_type) (parenthesized_type)] @owner . "."
            . name: (_) @name) @def""",
    ),
    ("function", "(function_declaration) @def"),
    ("constructor", '(secondary_constructor "constructor" @name) @def'),
    (members({"property_declaration": _property("field")}), "[(class_body) (enum_class_body)] @in"),
    ("field", '(class_parameter ["val" "var"] . (identifier) @name) @def'),
    ("enumerator", "(enum_entry (identifier) @name) @def"),
    (members({"property_declaration": _property("variable")}), "(source_file) @in"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)

_TYPE_NAME = re.compile(r"[A-Za-z_][\w.]*")


def _refine(found: Found, text: bytes) -> Found | None:
    """Reduce `List<T>?` to List, recognise enums and constants by their modifiers, end signatures where bodies begin."""
    if found.owner:
        match = _TYPE_NAME.search(found.owner)
        found.owner = match.group() if match else ""
    modifiers = text[found.start : found.name_start].split()
    if found.kind == "class" and b"enum" in modifiers:
        found.kind = "enum"
    elif found.kind in ("field", "variable") and b"const" in modifiers:
        found.kind = "constant"
    elif found.kind in ("function", "constructor"):
        found.signature_end = _body_start(text, found.name_end, found.end)
    return found


def _body_start(text: bytes, position: int, end: int) -> int:
    """The first `{` or `=` outside the parentheses of the parameter list, whose defaults hold both."""
    depth = 0
    for index in range(position, min(end, position + 800)):
        byte = text[index]
        if byte in b"([":
            depth += 1
        elif byte in b")]":
            depth -= 1
        elif depth == 0 and byte in b"{=":
            return index
    return end


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"line_comment", "block_comment"}),
    exported=not_private,
    methods_in=TYPES | {"module"},
    annotations=b"@",
    qualifiers=r"\.",
    refine=_refine,
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: _declared(root, text))
    for node in nodes:
        spec = next((cut(child, text) for child in node.named_children if child.type == "qualified_identifier"), "")
        spec = spec.replace("`", "")
        if not spec:
            continue
        line = line_of(node)
        if node.type == "package_header":
            found.append(Import(spec, whole(), line, PACKAGE))
        elif any(child.type == "*" for child in node.children):
            found.append(Import(spec, ("*",), line, "import"))
        else:
            found.append(Import(spec, (spec.rpartition(".")[2],), line, "import"))
    return found


_KEYWORDS = frozenset({"class", "interface", "object", "fun"})
"""Loose tokens before a name, where the grammar did not find a declaration."""


def _declared(root: Node, text: bytes) -> tuple[str, ...]:
    names = []
    keyword = False
    for node in flat(root.children):
        if keyword and node.type == "identifier":
            names.append(cut(node, text))
        keyword = node.type in _KEYWORDS
        name = node.child_by_field_name("type" if node.type == "type_alias" else "name")
        if name is None and node.type == "property_declaration":
            variable = next((child for child in node.named_children if child.type == "variable_declaration"), None)
            name = variable.named_children[0] if variable is not None and variable.named_children else None
        if name is not None:
            names.append(cut(name, text).replace("`", ""))
    return (*kept(names), "*") if root.has_error else kept(names)


_IMPORTS = ImportRules(
    words=(b"import", b"package"),
    query="(import) @import (package_header) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: class_declaration.name object_declaration.name function_declaration.name variable_declaration parameter
    definition: class_parameter type_parameter enum_entry type_alias.type
    call: call_expression
    member: navigation_expression
    write: assignment.left
    inheritance: delegation_specifier
    decorator: annotation
    import: import
    label: package_header
    typed: user_type
    inside: constructor_invocation qualified_identifier
    """,
)


LANGUAGES = (
    Language(
        name="kotlin",
        extensions=("kt", "kts"),
        aliases=("kt",),
        interpreters=("kotlin",),
        grammar=("tree_sitter_kotlin", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="jvm",
        resolver=JvmResolver,
    ),
)
