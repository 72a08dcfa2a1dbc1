"""Java, and the resolver of imports that Java, Kotlin and Scala share.

Definitions: types, their methods and fields, the constants of enums and the components of records.

Imports: `import a.b.C;`, `import a.b.*;`, `import static a.b.C.d;`, and the package with the types of the file.

Resolution: names in packages, by what files declare. A name leads to the files that declare it in its package, or bear it where
none does; a wildcard to all files of the package, which share the confidence. The languages see each other.
"""

from __future__ import annotations

from functools import cache

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
    not_private,
)
from lurcher.languages.resolution import Target, Tree, folder_of, nearest, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node


_LANGUAGES = ("java", "kotlin", "scala")
_UNREAD = 0.5
_MOST_UNREAD = 8
_Asked = tuple[str, tuple[str, ...], tuple[str, ...]]
"""What is imported, the imported names, and the enclosing packages."""


class JvmResolver:
    def __init__(self, tree: Tree) -> None:
        self._files: dict[str, list[str]] = {}
        """Package to its files."""
        self._names: dict[str, list[str]] = {}
        """Package and name, joined by a dot, to the files that declare it."""
        self._stems: dict[str, list[str]] = {}
        """The same by file name, for what the grammar could not read; Kotlin's functions are in a class that is named so."""
        self._scopes: dict[str, tuple[str, ...]] = {}
        """Scala file to the packages in which its imports may begin, innermost first."""
        for path in sorted(tree.paths_of(*_LANGUAGES)):
            stem = path[path.rfind("/") + 1 :].partition(".")[0]
            scopes = []
            for found in tree.imports[path]:
                if found.kind == PACKAGE:
                    scopes.append(found.spec)
                    _add(self._files, found.spec, path)
                    for name in found.names:
                        _add(self._names, f"{found.spec}.{name}", path)
                    for name in (stem, f"{stem}Kt") if path.endswith(".kt") else (stem,):
                        _add(self._stems, f"{found.spec}.{name}", path)
            if path.endswith((".scala", ".sc")):
                self._scopes[path] = tuple(dict.fromkeys(_outwards(scopes)))
        self._beginnings: dict[str, str] = {}
        """Results of `_beginning`: most imports are external and occur many times."""
        self._packages: dict[str, tuple[Target, ...]] = {}
        self._near = False
        """Whether the current result depends on the folder of the importer."""
        self._answers: dict[tuple[str, _Asked], tuple[Target, ...]] = {}
        self._anywhere: dict[_Asked, tuple[Target, ...]] = {}
        """Answers that are the same for all folders."""

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        scopes = self._scopes.get(path, ())
        wanted = (found.spec, found.names, scopes)
        if wanted in self._anywhere:
            return self._anywhere[wanted]
        key = (folder_of(path), wanted)
        answer = self._answers.get(key)
        if answer is None:
            self._near = False
            answer = self._absolute(path, found.spec.removeprefix("_root_."), found)
            for scope in scopes:
                if answer:
                    break
                answer = self._absolute(path, f"{scope}.{found.spec}", found)
            if self._near:
                self._answers[key] = answer
            else:
                self._anywhere[wanted] = answer
        return answer

    def _absolute(self, path: str, spec: str, found: Import) -> tuple[Target, ...]:
        """The longest beginning of `spec` that something declares, in a package that is known."""
        if found.names == ("*",) and spec in self._files and found.kind != "static":
            package = self._packages.get(spec)
            if package is None:
                package = self._packages[spec] = split(self._files[spec])
            return package
        name = self._beginnings.get(spec)
        if name is None:
            name = self._beginnings[spec] = self._beginning(spec)
        if not name:
            return ()
        declaring = self._names.get(name) or self._stems.get(name)
        if declaring is None:
            return self._unread(path, spec, name)
        self._near |= len(declaring) > 1
        return nearest(path, declaring)

    def _beginning(self, spec: str) -> str:
        while spec and spec not in self._names and spec not in self._stems and spec not in self._files:
            spec = spec.rpartition(".")[0]
        return spec

    def _unread(self, path: str, spec: str, package: str) -> tuple[Target, ...]:
        """A name that nobody declares may be in a file that could not be read to its end."""
        unread = self._names.get(f"{package}.*", []) if spec != package else []
        self._near |= len(unread) > 1
        return nearest(path, unread, _UNREAD) if len(unread) <= _MOST_UNREAD else ()


def _add(index: dict[str, list[str]], key: str, path: str) -> None:
    entries = index.setdefault(key, [])
    if not entries or entries[-1] != path:
        entries.append(path)


def _outwards(scopes: list[str]) -> list[str]:
    """Packages from the innermost to the outermost."""
    found = []
    for scope in reversed(scopes):
        while scope:
            found.append(scope)
            scope = scope.rpartition(".")[0]
    return found


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


_OCCURRENCES = OccurrenceRules(
    names="identifier type_identifier=type",
    places="""
    definition: class_declaration.name interface_declaration.name enum_declaration.name record_declaration.name
    definition: annotation_type_declaration.name method_declaration.name constructor_declaration.name enum_constant.name
    definition: compact_constructor_declaration.name annotation_type_element_declaration.name variable_declarator.name
    definition: formal_parameter.name catch_formal_parameter.name resource.name enhanced_for_statement.name
    definition: lambda_expression.parameters inferred_parameters type_parameter
    call: method_invocation.name object_creation_expression.type
    member: field_access.field scoped_type_identifier method_reference
    write: assignment_expression.left update_expression
    decorator: annotation.name marker_annotation.name
    import: import_declaration
    inheritance: superclass super_interfaces extends_interfaces
    type: type_arguments
    label: element_value_pair.key package_declaration
    value: array_access.array
    inside: generic_type scoped_identifier type_list parenthesized_expression array_type
    """,
)


LANGUAGES = (
    Language(
        name="java",
        extensions=("java",),
        grammar=("tree_sitter_java", "language"),
        sigil="$",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="jvm",
        resolver=JvmResolver,
    ),
)
