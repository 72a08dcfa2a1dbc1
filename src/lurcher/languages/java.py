"""Java.

Definitions: types, their methods and fields, the constants of enums and the components of records.

Imports: `import a.b.C;`, `import a.b.*;`, `import static a.b.C.d;`, and the package with the types of the file.

Resolution: see jvm.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.languages.base import COMMENT, PACKAGE, DefinitionRules, Found, Import, ImportRules, Language, not_private
from lurcher.languages.jvm import JvmResolver
from lurcher.languages.nodes import cut, declared, line_of
from lurcher.runtime.light import cache

if TYPE_CHECKING:
    from tree_sitter import Node


_PATTERNS = (
    ("class", "[(class_declaration) (record_declaration)] @def"),
    ("interface", "[(interface_declaration) (annotation_type_declaration)] @def"),
    ("enum", "(enum_declaration) @def"),
    ("constructor", "(constructor_declaration) @def"),
    ("constructor", "(compact_constructor_declaration) @def"),
    ("method", "(method_declaration) @def"),
    ("method", "(annotation_type_element_declaration) @def"),
    ("field", "(field_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    ("constant", "(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @def"),
    ("enumerator", "(enum_constant) @def"),
    ("field", "(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @def))"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """A field in capitals is a constant."""
    if found.kind == "field" and len(found.name) > 1 and found.name.isupper():
        found.kind = "constant"
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"line_comment", "block_comment"}),
    exported=not_private,
    annotations=b"@",
    refine=_refine,
)


_NAMES = ("scoped_identifier", "identifier")


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        spec, static, star = "", False, False
        for child in node.children:
            kind = child.type
            if kind in _NAMES:
                spec = cut(child, text)
            elif kind == "static":
                static = True
            elif kind == "asterisk":
                star = True
        if not spec:
            continue
        line = line_of(node)
        if node.type == "package_declaration":
            found.append(Import(spec, whole(), line, PACKAGE))
        elif star:
            found.append(Import(spec, ("*",), line, "static" if static else "import"))
        elif static:
            owner, _, member = spec.rpartition(".")
            found.append(Import(owner, (member,), line, "static"))
        else:
            found.append(Import(spec, (spec.rpartition(".")[2],), line, "import"))
    return found


_IMPORTS = ImportRules(
    words=(b"import", b"package"),
    query="(import_declaration) @import (package_declaration) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)


LANGUAGES = (
    Language(
        name="java",
        extensions=("java",),
        grammar=("tree_sitter_java", "language"),
        sigil="$",
        definitions=_DEFINITIONS,
        imports=_IMPORTS,
        ecosystem="jvm",
        resolver=JvmResolver,
    ),
)
