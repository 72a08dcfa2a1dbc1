r"""PHP.

Definitions: types with their members, functions, constants; a namespace without braces reaches to the end of its file.

Imports: `use A\B`, `use A\{B, C}`, `use function`, `include` and `require` of a literal, and namespaces with their names.

Resolution: classes by the PSR-4 and PSR-0 maps of `composer.json`, else by what files declare; includes from the file's folder.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    PACKAGE,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    declared,
    line_of,
    literal,
    not_private,
)
from lurcher.languages.resolution import Target, Tree, at, folder_of, joined, nearest, strings

if TYPE_CHECKING:
    from tree_sitter import Node


_PATTERNS = (
    ("class", "(class_declaration) @def"),
    ("interface", "(interface_declaration) @def"),
    ("trait", "(trait_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("module", "(namespace_definition) @def"),
    ("function", "(function_definition) @def"),
    ("method", "(method_declaration) @def"),
    ("constant", "(const_declaration (const_element . (name) @name)) @def"),
    ("field", "(property_declaration (property_element name: (variable_name (name) @name))) @def"),
    ("field", "(property_promotion_parameter name: (variable_name (name) @name)) @def"),
    ("enumerator", "(enum_case) @def"),
    (
        "constant",
        """(function_call_expression function: (name) @_function (#any-of? @_function "define")
            arguments: (arguments . (argument (string (string_content) @name)))) @def""",
    ),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    if found.kind == "module" and b"{" not in text[found.name_end : found.end]:
        found.end = len(text)
        found.signature_end = found.name_end
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "attribute_list"}),
    exported=not_private,
    constructors=frozenset({"__construct"}),
    annotations=b"#",
    qualifiers=r"\\",
    refine=_refine,
)


_NAMES = ("name", "qualified_name", "namespace_name")
_STRINGS = ("string", "encapsed_string")
_HERE = ("__DIR__", "dirname(__FILE__)")


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    whole = cache(lambda: declared(root.named_children, text))
    for node in nodes:
        if node.type == "namespace_use_declaration":
            found += _uses(node, text)
        elif node.type == "namespace_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            names = declared(body.named_children, text) if body is not None else whole()
            found.append(Import(cut(name, text) if name is not None else "", names, line_of(node), PACKAGE))
        else:
            found += _included(node, text)
    return found


def _uses(node: Node, text: bytes) -> list[Import]:
    base, kind = "", "use"
    clauses: list[Node] = []
    for child in node.children:
        if child.type in ("function", "const"):
            kind = child.type
        elif child.type == "namespace_name":
            base = cut(child, text).strip("\\") + "\\"
        elif child.type == "namespace_use_clause":
            clauses.append(child)
        elif child.type == "namespace_use_group":
            clauses += [part for part in child.named_children if part.type == "namespace_use_clause"]
    found = []
    for clause in clauses:
        name = next((child for child in clause.named_children if child.type in _NAMES), None)
        if name is None:
            continue
        own = clause.child_by_field_name("type")
        spec = base + cut(name, text).strip("\\")
        found.append(Import(spec, (spec.rpartition("\\")[2],), line_of(clause), own.type if own is not None else kind))
    return found


def _included(node: Node, text: bytes) -> list[Import]:
    """`require 'a.php'`, `require __DIR__ . '/a.php'`; anything else is known only when it runs."""
    value = node.named_children[0] if node.named_children else None
    for _ in range(5):
        if value is None or value.type != "parenthesized_expression":
            break
        value = value.named_children[0] if value.named_children else None
    if value is None:
        return []
    kind = "include"
    if value.type == "binary_expression":
        left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
        if left is None or right is None or left.end_byte - left.start_byte > 40 or cut(left, text) not in _HERE:
            return []
        kind, value = "here", right
    spec = literal(value, text) if value.type in _STRINGS else None
    return [] if spec is None else [Import(spec, (), line_of(node), kind)]


_IMPORTS = ImportRules(
    words=(b"use", b"namespace", b"require", b"require_once", b"include", b"include_once"),
    query=(
        "(namespace_use_declaration) @import (namespace_definition) @import (require_expression) @import "
        "(require_once_expression) @import (include_expression) @import (include_once_expression) @import"
    ),
    read=_read_imports,
    line_comments=(b"//", b"#", b"*"),
)


class PhpResolver:
    def __init__(self, tree: Tree) -> None:
        self._paths = frozenset(tree.paths_of("php"))
        self._names: dict[str, list[str]] = {}
        """Full name to the files that declare it."""
        for path in sorted(self._paths):
            for found in tree.imports[path]:
                if found.kind == PACKAGE:
                    for name in found.names:
                        self._names.setdefault(f"{found.spec}\\{name}".lstrip("\\").lower(), []).append(path)
        self._prefixes: list[tuple[str, str, bool]] = []
        """Prefix of names, folder, and whether the prefix is part of the path (PSR-0); longest prefix first."""
        for path in tree.configurations("composer.json"):
            self._read(tree, path)
        self._prefixes.sort(key=lambda entry: (-len(entry[0]), entry))
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found.spec, found.kind)
        return answer

    def _resolve(self, path: str, folder: str, spec: str, kind: str) -> tuple[Target, ...]:
        if kind in ("include", "here"):
            relative = spec.lstrip("/") if kind == "here" else spec
            places = [joined(folder, relative), joined("", relative)] if kind == "include" else [joined(folder, relative)]
            return next(((Target(place, 1.0),) for place in places if place in self._paths), ())
        if kind == "use":
            for prefix, root, keep in self._prefixes:
                if spec.startswith(prefix):
                    name = (spec if keep else spec[len(prefix) :]).replace("\\", "/")
                    place = joined(root, f"{name}.php")
                    if place in self._paths and place is not None:
                        return (Target(place, 1.0),)
        return nearest(path, self._names.get(spec.lower(), ()))

    def _read(self, tree: Tree, path: str) -> None:
        settings = tree.json(path)
        home = folder_of(path)
        for section in ("autoload", "autoload-dev"):
            for standard in ("psr-4", "psr-0"):
                prefixes = at(settings, section, standard)
                for prefix, folders in prefixes.items() if isinstance(prefixes, dict) else ():
                    for folder in strings(folders):
                        place = joined(home, folder)
                        if place is not None:
                            self._prefixes.append((prefix, place, standard == "psr-0"))


_OCCURRENCES = OccurrenceRules(
    names="name",
    places="""
    definition: class_declaration.name interface_declaration.name trait_declaration.name enum_declaration.name
    definition: method_declaration.name function_definition.name const_element simple_parameter.name
    definition: property_promotion_parameter.name property_element.name catch_clause.name variadic_parameter.name enum_case.name
    call: function_call_expression.function member_call_expression.name nullsafe_member_call_expression.name
    call: scoped_call_expression.name object_creation_expression
    member: member_access_expression.name nullsafe_member_access_expression.name class_constant_access_expression
    write: assignment_expression.left augmented_assignment_expression.left
    type: named_type
    inheritance: base_clause class_interface_clause use_declaration
    import: namespace_use_clause namespace_use_declaration namespace_use_group
    label: namespace_definition.name argument.name
    decorator: attribute
    value: subscript_expression
    inside: variable_name qualified_name namespace_name
    """,
)


LANGUAGES = (
    Language(
        name="php",
        extensions=("php", "phtml", "php5", "php7", "phps"),
        interpreters=("php",),
        grammar=("tree_sitter_php", "language_php"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="php",
        resolver=PhpResolver,
    ),
)
