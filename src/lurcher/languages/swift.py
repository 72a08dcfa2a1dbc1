"""Swift.

Definitions: one node type is used for class, struct, enum, actor and extension; the keyword distinguishes them.

Imports: `import Module`, `import struct Module.Name`.

Resolution: a module is a target, `Sources/<Target>` unless `Package.swift` says otherwise; an import means all its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    SCOPE,
    DefinitionRules,
    Finder,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    each,
    line_of,
    members,
    names,
    not_private,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest, split

if TYPE_CHECKING:
    from tree_sitter import Node


_KEYWORDS = {"class": "class", "actor": "class", "struct": "struct", "enum": "enum", "extension": SCOPE}


def _type(node: Node) -> Iterator[tuple[str, Node]]:
    """What a class declaration declares; an extension's name is a type of any form."""
    keyword, name = node.child_by_field_name("declaration_kind"), node.child_by_field_name("name")
    kind = _KEYWORDS.get(keyword.type) if keyword is not None else None
    if kind is not None and name is not None and (kind is SCOPE or name.type == "type_identifier"):
        yield kind, name


def _function(kind: str) -> Finder:
    """Finds a function's name unless it is an operator."""

    def find(node: Node) -> list[tuple[str, Node]]:
        name = node.child_by_field_name("name")
        return [(kind, name)] if name is not None and name.type == "simple_identifier" else []

    return find


def _property(kind: str) -> Finder:
    """Finds the names that a property's patterns bind."""

    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for pattern in node.children_by_field_name("name"):
            name = pattern.child_by_field_name("bound_identifier")
            if name is not None and name.type == "simple_identifier":
                yield kind, name

    return find


_PATTERNS = (
    (each(_type), "(class_declaration) @def"),
    ("interface", "(protocol_declaration) @def"),
    ("type", "(typealias_declaration) @def"),
    (each(_function("function")), "(function_declaration) @def"),
    (each(_function("method")), "(protocol_function_declaration) @def"),
    ("constructor", '(init_declaration "init" @name) @def'),
    (each(_property("field")), "(class_body (property_declaration) @def)"),
    (each(_property("field")), "(enum_class_body (property_declaration) @def)"),
    (each(names("enumerator", "name", "simple_identifier")), "(enum_entry) @def"),
    (each(_property("field")), "(protocol_property_declaration) @def"),
    (members({"property_declaration": _property("variable")}), "(source_file) @in"),
    (COMMENT, "[(comment) (multiline_comment)] @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`extension Array<Int>?` extends Array; back-ticks quote a name."""
    found.name = found.name.strip("`")
    if found.kind == SCOPE:
        found.name = found.name.split("<", 1)[0].strip(" ?![]")
    return found


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "multiline_comment"}),
    exported=not_private,
    annotations=b"@",
    qualifiers=r"\.",
    refine=_refine,
)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        spec = next((cut(child, text) for child in node.named_children if child.type == "identifier"), "")
        module, _, name = spec.partition(".")
        if module:
            found.append(Import(module, (name.rpartition(".")[2],) if name else (), line_of(node), "import"))
    return found


_IMPORTS = ImportRules(
    words=(b"import",), query="(import_declaration) @import", read=_read_imports, line_comments=(b"//", b"*")
)

_MOST_NODES = 50_000
_TARGETS = frozenset({"target", "executableTarget", "testTarget", "macro", "plugin", "systemLibrary"})


def _package_targets(text: bytes) -> list[tuple[str, str | None]]:
    """Names and, where given, paths of the targets that a `Package.swift` declares."""
    try:
        import tree_sitter_swift
        from tree_sitter import Language, Parser
    except ImportError:
        return []
    stack = [Parser(Language(tree_sitter_swift.language())).parse(text).root_node]
    found: list[tuple[int, str, str | None]] = []
    for _ in range(_MOST_NODES):
        if not stack:
            break
        node = stack.pop()
        stack += node.named_children
        if node.type != "call_expression" or len(node.named_children) < 2:
            continue
        function, suffix = node.named_children[0], node.named_children[1]
        if cut(function, text).rpartition(".")[2] not in _TARGETS or not suffix.named_children:
            continue
        given: dict[str, str] = {}
        for argument in suffix.named_children[0].named_children:
            name, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
            if name is not None and value is not None and value.type == "line_string_literal":
                given.setdefault(cut(name, text), text[value.start_byte + 1 : value.end_byte - 1].decode("utf-8", "replace"))
        if "name" in given:
            found.append((node.start_byte, given["name"], given.get("path")))
    return [(name, path) for _, name, path in sorted(found, key=lambda entry: entry[0])]


_SOURCES = ("Sources", "Source", "src", "srcs", "Tests", "Plugins")


class SwiftResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = [path for path in sorted(tree.paths_of("swift")) if not path.endswith("Package.swift")]
        self._folders = {folder for path in self._files for folder in _above(path)}
        self._homes: dict[str, list[str]] = {}
        """Module to the folders of its files."""
        for path in tree.configurations("Package.swift"):
            home = folder_of(path)
            for name, declared in _package_targets((tree.text(path) or "").encode("utf-8", "replace")):
                places = [declared] if declared is not None else [f"{source}/{name}" for source in _SOURCES]
                found = [place for entry in places if (place := joined(home, entry)) in self._folders and place is not None]
                self._homes.setdefault(name, []).extend(found[:1])
        if not self._homes:
            for folder in sorted(self._folders):
                name = folder.rpartition("/")[2]
                if name and not any(folder.startswith(f"{known}/") for known in self._homes.get(name, ())):
                    self._homes.setdefault(name, []).append(folder)
        self._members: dict[str, tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        homes = self._homes.get(found.spec)
        if not homes:
            return ()
        home = homes[0] if len(homes) == 1 else nearest(path, [f"{entry}/_" for entry in homes])[0].path[:-2]
        members = self._members.get(home)
        if members is None:
            inside = f"{home}/" if home else ""
            members = self._members[home] = split([file for file in self._files if file.startswith(inside)])
        return members


def _above(path: str) -> list[str]:
    folders = [""]
    while path := folder_of(path):
        folders.append(path)
    return folders


_OCCURRENCES = OccurrenceRules(
    names="simple_identifier type_identifier=type",
    places="""
    definition: class_declaration.name protocol_declaration.name function_declaration.name
    definition: protocol_function_declaration.name pattern.bound_identifier parameter.name enum_entry.name type_parameter
    definition: guard_statement.bound_identifier if_statement.bound_identifier typealias_declaration.name lambda_parameter.name
    call: call_expression constructor_expression.constructed_type
    member: navigation_suffix.suffix
    write: assignment.target
    inheritance: inheritance_specifier
    decorator: attribute
    import: import_declaration
    label: value_argument_label parameter.external_name
    typed: user_type
    inside: navigation_expression.suffix directly_assignable_expression identifier
    """,
)


LANGUAGES = (
    Language(
        name="swift",
        extensions=("swift",),
        interpreters=("swift",),
        grammar=("tree_sitter_swift", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="swift",
        resolver=SwiftResolver,
    ),
)
