"""C#.

Definitions: types with their members; a namespace without braces reaches to the end of its file.

Imports: `using A.B;`, `using static A.B.C;`, `using X = A.B.C;`, and namespaces with the types they declare.

Resolution: `using A.B` means every file that declares something in the namespace; with a type, the files that declare it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    LONGEST,
    PACKAGE,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    declared,
    each,
    line_of,
    not_private,
)
from lurcher.languages.resolution import Target, Tree, folder_of, nearest, split

if TYPE_CHECKING:
    from tree_sitter import Node


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    """`int width, height;` declares two."""
    for declaration in node.named_children:
        if declaration.type == "variable_declaration":
            for declarator in declaration.named_children:
                if declarator.type == "variable_declarator":
                    for name in declarator.children_by_field_name("name"):
                        yield "field", name


_PATTERNS = (
    ("class", "[(class_declaration) (record_declaration)] @def"),
    ("interface", "(interface_declaration) @def"),
    ("struct", "(struct_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("type", "(delegate_declaration) @def"),
    ("module", "[(namespace_declaration) (file_scoped_namespace_declaration)] @def"),
    ("constructor", "(constructor_declaration) @def"),
    ("method", "(method_declaration) @def"),
    ("function", "(local_function_statement) @def"),
    ("field", "[(property_declaration) (event_declaration)] @def"),
    (each(_fields), "[(field_declaration) (event_field_declaration)] @def"),
    ("enumerator", "(enum_member_declaration) @def"),
    ("field", "(record_declaration (parameter_list (parameter name: (identifier) @name) @def))"),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == "module" and text[found.end - 1 : found.end] == b";":
        found.end = len(text)
        found.signature_end = found.name_end
    elif found.kind == "field" and b"const" in text[found.start : found.name_start].split():
        found.kind = "constant"
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment"}),
    exported=not_private,
    annotations=b"[",
    qualifiers=r"\.",
    refine=_refine,
)


_NAMES = ("identifier", "qualified_name", "alias_qualified_name", "generic_name")


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    around: list[tuple[int, str]] = []
    """End and full name of the namespaces around the current node."""
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        if node.type == "using_directive":
            entry = _using(node, text)
            if entry is not None:
                found.append(entry)
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        spec = cut(name, text)
        if around:
            spec = f"{around[-1][1]}.{spec}"
        if len(spec) > LONGEST:
            continue
        body = node.child_by_field_name("body")
        types = declared(body.named_children, text) if body is not None else whole()
        found.append(Import(spec, types, line_of(node), PACKAGE))
        if body is not None:
            around.append((node.end_byte, spec))
    return found


def _using(node: Node, text: bytes) -> Import | None:
    alias = node.child_by_field_name("name")
    kind = "using" if alias is None else "alias"
    spec = ""
    for child in node.children:
        if child.type == "static":
            kind = "static"
        elif child.type in _NAMES and (alias is None or child.start_byte != alias.start_byte):
            spec = cut(child, text)
    spec = spec.removeprefix("global::").partition("<")[0]
    return Import(spec, (), line_of(node), kind) if spec else None


_IMPORTS = ImportRules(
    words=(b"using", b"namespace"),
    query="(using_directive) @import (namespace_declaration) @import (file_scoped_namespace_declaration) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)


class CsharpResolver:
    def __init__(self, tree: Tree) -> None:
        files: dict[str, dict[str, None]] = {}
        types: dict[str, dict[str, None]] = {}
        for path in sorted(tree.paths_of("csharp")):
            for found in tree.imports[path]:
                if found.kind == PACKAGE and found.names:
                    files.setdefault(found.spec, {})[path] = None
                    for name in found.names:
                        types.setdefault(f"{found.spec}.{name}", {})[path] = None
        self._namespaces = {name: split(list(paths)) for name, paths in files.items()}
        self._types = {name: list(paths) for name, paths in types.items()}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "using":
            return self._namespaces.get(found.spec, ())
        key = (folder_of(path), found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._type(path, found.spec)
        return answer

    def _type(self, path: str, spec: str) -> tuple[Target, ...]:
        """A type, perhaps inside another; an alias may also stand for a namespace."""
        name = spec
        while name:
            if name in self._types:
                return nearest(path, self._types[name])
            if name in self._namespaces:
                return self._namespaces[name] if name == spec else ()
            name = name.rpartition(".")[0]
        return ()


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: class_declaration.name interface_declaration.name struct_declaration.name enum_declaration.name
    definition: record_declaration.name method_declaration.name constructor_declaration.name property_declaration.name
    definition: enum_member_declaration.name variable_declarator.name parameter.name type_parameter.name
    definition: foreach_statement.left local_function_statement.name delegate_declaration.name event_declaration.name
    definition: catch_declaration.name declaration_expression.name
    call: invocation_expression.function object_creation_expression.type
    member: member_access_expression.name member_binding_expression.name qualified_name.name
    write: assignment_expression.left
    type: variable_declaration.type property_declaration.type parameter.type method_declaration.returns
    type: method_declaration.type foreach_statement.type cast_expression.type as_expression.right is_expression.right
    type: type_argument_list type_parameter_constraint.type catch_declaration.type type_parameter_constraints_clause
    type: typeof_expression local_function_statement.type declaration_expression.type
    inheritance: base_list
    decorator: attribute.name
    import: using_directive
    label: namespace_declaration.name argument.name
    inside: generic_name nullable_type array_type parenthesized_expression primary_constructor_base_type
    """,
)


LANGUAGES = (
    Language(
        name="csharp",
        extensions=("cs", "csx"),
        aliases=("cs", "c#", "c-sharp"),
        grammar=("tree_sitter_c_sharp", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="csharp",
        resolver=CsharpResolver,
    ),
)
