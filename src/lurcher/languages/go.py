"""Go.

Definitions: receivers are containers, a capital letter exports; a specification may declare several names.

Imports: `import "a/b"`, alone or in a list.

Resolution: an import names a package, which is a folder under a module; it means each file of the folder that is not a test.
"""

from __future__ import annotations

from lurcher.languages.base import (
    COMMENT,
    WRAP,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    each,
    line_of,
    literal,
    names,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, split
from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node


_PATTERNS = (
    ("function", "(function_declaration name: (identifier) @name) @def"),
    (
        "method",
        """(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
            name: (field_identifier) @name) @def""",
    ),
    ("method", "(interface_type (method_elem name: (field_identifier) @name) @def)"),
    ("struct", "(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def"),
    ("interface", "(type_spec name: (type_identifier) @name type: (interface_type)) @def"),
    ("type", "[(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)] @def"),
    # tree-sitter's queries find only the first of several nodes in some fields; readers find all.
    (each(names("field", "name", "field_identifier")), "(field_declaration) @def"),
    (each(names("constant", "name", "identifier")), "(source_file (const_declaration (const_spec) @def))"),
    (each(names("variable", "name", "identifier")), "(source_file (var_declaration (var_spec) @def))"),
    (each(names("variable", "name", "identifier")), "(source_file (var_declaration (var_spec_list (var_spec) @def)))"),
    (WRAP, "(type_declaration . [(type_spec) (type_alias)] @inner .) @def"),
    (WRAP, "(source_file (const_declaration . (const_spec) @inner .) @def)"),
    (WRAP, "(source_file (var_declaration . (var_spec) @inner .) @def)"),
    (COMMENT, "(comment) @def"),
)

_TYPE_NAME = pattern(r"\w+")


def _refine(found: Found, text: bytes) -> Found | None:
    """`*Tree[K]` belongs to Tree."""
    if found.owner:
        match = _TYPE_NAME.search(found.owner)
        found.owner = match.group() if match else ""
    return found if found.name != "_" else None


def _capital(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return found.name[:1].isupper()


_DEFINITIONS = DefinitionRules(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=_capital, refine=_refine)


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        for child in node.named_children:
            for spec in child.named_children if child.type == "import_spec_list" else (child,):
                path = literal(spec.child_by_field_name("path"), text) if spec.type == "import_spec" else None
                if path is None:
                    continue
                name = spec.child_by_field_name("name")
                names = ("*",) if name is not None and cut(name, text) == "." else ()
                found.append(Import(path, names, line_of(spec), "import"))
    return found


_IMPORTS = ImportRules(words=(b"import",), query="(import_declaration) @import", read=_read_imports, line_comments=(b"//",))


class GoResolver:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._modules: dict[str, list[str]] = {}
        """Path of a module to its folders; several only where a tree has copies."""
        for path in tree.configurations("go.mod"):
            self._read(path)
        self._vendors = tree.folders_called("vendor")
        self._packages: dict[str, tuple[Target, ...]] = {}
        self._answers: dict[tuple[str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        home = folder_of(path)
        key = (home if found.spec.startswith(".") else "", found.spec)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(home, found.spec)
        return answer

    def _resolve(self, home: str, spec: str) -> tuple[Target, ...]:
        if spec.startswith("."):
            folder = joined(home, spec)
            return self._package(folder) if folder is not None else ()
        prefix = spec
        while prefix:
            for module in self._modules.get(prefix, ()):
                inside = spec[len(prefix) + 1 :]
                package = self._package(f"{module}/{inside}".strip("/") if inside else module)
                if package:
                    return package
            prefix = prefix.rpartition("/")[0]
        for vendor in self._vendors:
            package = self._package(f"{vendor}/{spec}")
            if package:
                return package
        return ()

    def _package(self, folder: str) -> tuple[Target, ...]:
        package = self._packages.get(folder)
        if package is None:
            names = self._tree.folders.get(folder, ())
            members = [name for name in names if name.endswith(".go") and not name.endswith("_test.go")]
            package = self._packages[folder] = split([f"{folder}/{name}" if folder else name for name in members])
        return package

    def _read(self, path: str) -> None:
        """Module path and local replacements out of a `go.mod`."""
        folder = folder_of(path)
        block = ""
        for line in (self._tree.text(path) or "").splitlines():
            words = line.partition("//")[0].split()
            if not words:
                continue
            if words[0] == ")":
                block = ""
                continue
            if len(words) == 2 and words[1] == "(":
                block = words[0]
                continue
            verb, given = (block, words) if block else (words[0], words[1:])
            if verb == "module" and given:
                self._modules.setdefault(given[0].strip('"`'), []).append(folder)
            elif verb == "replace" and "=>" in given:
                arrow = given.index("=>")
                target = given[arrow + 1].strip('"`') if len(given) > arrow + 1 else ""
                place = joined(folder, target) if target.startswith(".") else None
                if place is not None and arrow:
                    self._modules.setdefault(given[0].strip('"`'), []).append(place)


_OCCURRENCES = OccurrenceRules(
    names="identifier field_identifier package_identifier type_identifier=type",
    places="""
    definition: function_declaration.name method_declaration.name type_spec.name type_alias.name const_spec.name var_spec.name
    definition: parameter_declaration.name variadic_parameter_declaration.name short_var_declaration.left range_clause.left
    definition: field_declaration.name method_elem.name type_parameter_declaration.name type_switch_statement.alias
    call: call_expression.function
    member: selector_expression.field qualified_type.name
    write: assignment_statement.left inc_statement dec_statement
    import: import_spec
    inheritance: interface_type
    type: type_arguments
    label: keyed_element.key package_clause
    value: index_expression.operand
    inside: expression_list parenthesized_expression generic_type.type pointer_type type_elem literal_element
    """,
)


LANGUAGES = (
    Language(
        name="go",
        extensions=("go",),
        aliases=("golang",),
        grammar=("tree_sitter_go", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="go",
        resolver=GoResolver,
    ),
)
