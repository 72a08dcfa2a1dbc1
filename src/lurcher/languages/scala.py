"""Scala.

Definitions: classes, traits, objects and their members; an extension's methods belong to the type it extends.

Imports: `import a.b.{C, D => E, _}` (one import per name), and packages, clause within clause, with what they declare.

Resolution: see java.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    LONGEST,
    PACKAGE,
    SCOPE,
    TYPES,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    each,
    kept,
    line_of,
    members,
    names,
    not_private,
)
from lurcher.languages.java import JvmResolver

if TYPE_CHECKING:
    from tree_sitter import Node


_FIELD = names("field", "pattern", "identifier")
_DECLARED_FIELD = names("field", "name", "identifier")
_VARIABLE = names("variable", "pattern", "identifier")


def _extended(node: Node) -> Iterator[tuple[str, Node]]:
    """The types of an extension's parameters."""
    for parameters in node.children_by_field_name("parameters"):
        for parameter in parameters.named_children:
            if parameter.type == "parameter":
                for extended in parameter.children_by_field_name("type"):
                    yield SCOPE, extended


def _parameter(node: Node) -> Iterator[tuple[str, Node]]:
    """A parameter of a class is a field with `val` or `var`, and always if it is a case class."""
    around = node.parent.parent if node.parent is not None else None
    if any(entry.type in ("val", "var") for entry in node.children) or (
        around is not None and around.type == "class_definition" and any(entry.type == "case" for entry in around.children)
    ):
        yield from _DECLARED_FIELD(node)


_PATTERNS = (
    ("class", "(class_definition) @def"),
    ("trait", "(trait_definition) @def"),
    ("module", "[(object_definition) (package_object)] @def"),
    ("enum", "(enum_definition) @def"),
    ("type", "(type_definition) @def"),
    ("variable", "(given_definition) @def"),
    ("function", "[(function_definition) (function_declaration)] @def"),
    (
        members(
            {
                "val_definition": _FIELD,
                "var_definition": _FIELD,
                "val_declaration": _DECLARED_FIELD,
                "var_declaration": _DECLARED_FIELD,
            }
        ),
        "(template_body) @in",
    ),
    (members({"val_definition": _VARIABLE, "var_definition": _VARIABLE}), "(compilation_unit) @in"),
    (each(_parameter), "(class_parameter) @def"),
    ("enumerator", "[(simple_enum_case) (full_enum_case)] @def"),
    (each(_extended), "(extension_definition) @def"),
    (COMMENT, "[(comment) (block_comment)] @def"),
)

_TYPE_NAME = re.compile(r"\w+")


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == SCOPE:
        match = _TYPE_NAME.search(found.name)
        found.name = match.group() if match else ""
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "block_comment"}),
    exported=not_private,
    methods_in=TYPES | {"module"},
    constructors=frozenset({"this"}),
    annotations=b"@",
    refine=_refine,
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    open_clauses: list[tuple[int, str]] = []
    """End and full name of the packages around the current node; a clause without a body reaches to the end."""
    whole = cache(lambda: _declared(root, text))
    for node in nodes:
        while open_clauses and open_clauses[-1][0] <= node.start_byte:
            open_clauses.pop()
        if node.type == "import_declaration":
            found += _imports(node, text)
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        spec = cut(name, text)
        if open_clauses:
            spec = f"{open_clauses[-1][1]}.{spec}"
        if len(spec) > LONGEST:
            continue
        body = node.child_by_field_name("body")
        found.append(Import(spec, whole() if body is None else _declared(body, text), line_of(node), PACKAGE))
        if node.type == "package_clause":
            open_clauses.append((node.end_byte if body is not None else len(text) + 1, spec))
    return found


def _imports(node: Node, text: bytes) -> list[Import]:
    """`import a.b, c.d._` has its paths one after the other, which only dots and commas separate."""
    line = line_of(node)
    found: list[Import] = []
    path: list[str] = []
    selected = False
    for child in node.children:
        kind = child.type
        if kind in ("identifier", "operator_identifier"):
            path.append(cut(child, text))
        elif kind == "namespace_wildcard":
            found.append(Import(".".join(path), ("*",), line, "import"))
            selected = True
        elif kind == "namespace_selectors":
            base = ".".join(path)
            for part in child.named_children:
                name = part.child_by_field_name("name") if part.type.endswith("renamed_identifier") else part
                if part.type == "namespace_wildcard":
                    found.append(Import(base, ("*",), line, "import"))
                elif name is not None and part.type != "comment":
                    plain = cut(name, text)
                    found.append(Import(f"{base}.{plain}", (plain,), line, "import"))
            selected = True
        elif kind == ",":
            if path and not selected:
                found.append(Import(".".join(path), (path[-1],), line, "import"))
            path, selected = [], False
    if path and not selected:
        found.append(Import(".".join(path), (path[-1],), line, "import"))
    return [entry for entry in found if entry.spec]


def _declared(parent: Node, text: bytes) -> tuple[str, ...]:
    names = []
    for node in parent.named_children:
        if node.type in ("package_clause", "package_object", "import_declaration"):
            continue
        name = node.child_by_field_name("name") or node.child_by_field_name("pattern")
        if name is not None and name.end_byte - name.start_byte < 200:
            names.append(cut(name, text))
    return kept(names)


_IMPORTS = ImportRules(
    words=(b"import", b"package"),
    query="(import_declaration) @import (package_clause) @import (package_object) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)


_OCCURRENCES = OccurrenceRules(
    names="identifier type_identifier=type",
    places="""
    definition: class_definition.name object_definition.name trait_definition.name enum_definition.name
    definition: function_definition.name function_declaration.name val_definition.pattern var_definition.pattern
    definition: val_declaration.name parameter.name class_parameter.name type_parameters.name lambda_expression.parameters
    definition: binding.name type_definition.name given_definition.name case_class_pattern.pattern typed_pattern.pattern
    call: call_expression.function instance_expression
    member: field_expression.field
    write: assignment_expression.left
    inheritance: extends_clause.type
    type: type_arguments
    import: import_declaration namespace_selectors arrow_renamed_identifier
    decorator: annotation.name
    label: package_clause.name
    inside: generic_type.type generic_function.function package_identifier
    """,
)


LANGUAGES = (
    Language(
        name="scala",
        extensions=("scala", "sc", "sbt"),
        interpreters=("scala",),
        grammar=("tree_sitter_scala", "language"),
        sigil="$",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="jvm",
        resolver=JvmResolver,
    ),
)
