"""JavaScript and TypeScript.

Definitions: declarations, functions bound to names, and the older ways to make methods.

Imports: `import`, `export … from`, `require(…)`, `import(…)`, `import x = require(…)`.

Resolution: relative files, `tsconfig.json` paths, packages of the tree by name, `#imports`.
"""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.languages.base import (
    COMMENT,
    WRAP,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    Patterns,
    cut,
    kept,
    line_of,
    literal,
)
from lurcher.languages.node_packages import Configurations, Packages
from lurcher.languages.resolution import Target, Tree, folder_of, joined
from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node


_FUNCTIONS = ("arrow_function", "function_expression", "generator_function")
_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_DECLARATIONS = "[(lexical_declaration {0}) (variable_declaration {0})]"
_ASSIGNED = "assignment"
"""A member that is assigned a function; the left side is its name."""

_SET = "setting"
"""A member that is assigned anything else at the top level."""

_BOUND = _DECLARATIONS.format(f"(variable_declarator name: (identifier) @name value: {_FUNCTION} @value)")
_BOUND_CLASS = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (class) @value)")
_VARIABLE = _DECLARATIONS.format("(variable_declarator name: (identifier) @name value: (_)? @value)")
_MEMBER = f"(object (pair key: (property_identifier) @name value: {_FUNCTION} @value) @def)"
_ASSIGNMENT = """(expression_statement (assignment_expression left: (member_expression) @name
    right: [(arrow_function) (function_expression) (generator_function) (class)] @value)) @def"""
_SETTING = """(program (expression_statement (assignment_expression left: (member_expression) @name right: (_) @value)) @def)"""


def _field(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A field of a class; one whose value is a function is a method."""
    field = captures["def"][0]
    value = field.child_by_field_name("value")
    name = field.child_by_field_name("name") or field.child_by_field_name("property")
    if name is not None and value is not None and value.type in _FUNCTIONS:
        yield "method", {**captures, "name": [name], "value": [value]}
    elif name is not None:
        yield "field", {**captures, "name": [name]}


def _enumerators(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`Red` and `Green = 2`."""
    for member in captures["in"][0].named_children:
        if member.type == "enum_assignment":
            yield "enumerator", {"def": [member]}
        elif member.type in ("property_identifier", "string"):
            yield "enumerator", {"def": [member], "name": [member]}


_SHARED = (
    ("function", "[(function_declaration) (generator_function_declaration)] @def"),
    ("function", f"{_BOUND} @def"),
    ("class", f"{_BOUND_CLASS} @def"),
    ("method", "(method_definition) @def"),
    ("method", f"(variable_declarator value: {_MEMBER})"),
    ("method", f"(assignment_expression right: {_MEMBER})"),
    ("method", f"(export_statement value: {_MEMBER})"),
    (_ASSIGNED, _ASSIGNMENT),
    (_SET, _SETTING),
    ("variable", f"(program {_VARIABLE} @def)"),
    ("variable", f"(program (export_statement declaration: {_VARIABLE} @def))"),
    (WRAP, "(export_statement declaration: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
)

_JAVASCRIPT = (
    ("class", "(class_declaration) @def"),
    (_field, "(field_definition) @def"),
    *_SHARED,
)

_TYPESCRIPT = (
    ("class", "[(class_declaration) (abstract_class_declaration)] @def"),
    ("interface", "(interface_declaration) @def"),
    ("type", "(type_alias_declaration) @def"),
    ("enum", "(enum_declaration) @def"),
    ("module", "[(internal_module) (module)] @def"),
    ("function", "(function_signature) @def"),
    ("method", "[(method_signature) (abstract_method_signature)] @def"),
    (_field, "(public_field_definition) @def"),
    *_SHARED,
    ("field", "(interface_body (property_signature name: (property_identifier) @name) @def)"),
    ("field", "(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @def))"),
    ("field", '(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def'),
    (_enumerators, "(enum_body) @in"),
    (WRAP, "(ambient_declaration (_) @inner) @def"),
)

_MODULE = ("module", "exports", "prototype", "this")
"""Parts of a path that name nothing of their own."""
_PATH = pattern(r"[\w$]+(?:\.[#\w$]+)*\Z")
_FUNCTION_NAME = pattern(rb"(?:async\s+)?function\s*\*?\s*([\w$]+)")


def _refine(found: Found, text: bytes) -> Found | None:
    """Name what is assigned, unquote string names, and drop what only imports."""
    if found.kind == _ASSIGNED:
        return _read_assigned(found, text)
    if found.kind == _SET:
        return _set(found, text)
    if found.kind == "variable" and text.startswith((b"require(", b"import("), found.value_start):
        return None
    if found.name[:1] in "\"'`[":
        found.name = found.name.strip("\"'`[]")
        if found.kind != "module" and not _PATH.match(found.name):
            return None
    return found


def _read_assigned(found: Found, text: bytes) -> Found | None:
    """`exports.parse = function`, `Foo.prototype.bar = function`, `module.exports = function named()`."""
    if not _PATH.match(found.name):
        return None
    parts = [part for part in found.name.split(".") if part not in _MODULE]
    if not parts:
        match = _FUNCTION_NAME.match(text, found.value_start, found.end)
        if match is None:
            return None
        parts = [match.group(1).decode("utf-8", "replace")]
    is_class = text.startswith(b"class", found.value_start)
    found.owner, found.name = ".".join(parts[:-1]), parts[-1]
    found.kind = "class" if is_class else "method" if found.owner else "function"
    return found


def _set(found: Found, text: bytes) -> Found | None:
    """`exports.version = 1` is a variable, `Foo.limit = 1` a field of Foo."""
    if not _PATH.match(found.name) or text.startswith((b"require(", b"import("), found.value_start):
        return None
    parts = [part for part in found.name.split(".") if part not in _MODULE]
    if not parts:
        return None
    found.owner, found.name = ".".join(parts[:-1]), parts[-1]
    found.kind = "field" if found.owner else "variable"
    return found


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """Unless it is clearly private: the grammar does not tell what `export {…}` lists elsewhere."""
    if found.name.startswith(("_", "#")):
        return False
    if parent_kind in ("function", "method", "constructor"):
        return False
    return not modifiers.startswith((b"private", b"protected"))


_LEADS = frozenset({"comment", "decorator"})
_CONSTRUCTORS = frozenset({"constructor"})


def _definitions(patterns: Patterns) -> DefinitionRules:
    return DefinitionRules(
        patterns=patterns,
        leads=_LEADS,
        exported=_exported,
        constructors=_CONSTRUCTORS,
        annotations=b"@",
        qualifiers=r"\.",
        refine=_refine,
    )


_NAMED = frozenset({"import_specifier", "export_specifier"})
_PROMISE = frozenset({"then", "catch", "finally"})
"""Properties of `import(…)` itself, not of the module."""


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        entry = _call(node, text) if node.type == "call_expression" else _statement(node, text)
        if entry is not None:
            found.append(entry)
    return found


def _statement(node: Node, text: bytes) -> Import | None:
    kind = "import" if node.type == "import_statement" else "export"
    source = node.child_by_field_name("source")
    names: list[str] = []
    for child in node.named_children:
        if child.type == "import_require_clause":
            source = child.child_by_field_name("source")
            kind, names = "require", ["*"]
        elif child.type == "import_clause":
            for part in child.named_children:
                if part.type == "identifier":
                    names.append("default")
                elif part.type == "namespace_import":
                    names.append("*")
                else:
                    names += _specifiers(part, text)
        elif child.type == "export_clause":
            names += _specifiers(child, text)
    spec = literal(source, text)
    if spec is None:
        return None
    if kind == "export" and not names:
        names = ["*"]
    return Import(spec, kept(names), line_of(node), kind)


def _specifiers(clause: Node, text: bytes) -> list[str]:
    names = [child.child_by_field_name("name") for child in clause.named_children if child.type in _NAMED]
    return [cut(name, text).strip("'\"") for name in names if name is not None]


def _call(node: Node, text: bytes) -> Import | None:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    if function.type == "import":
        kind = "dynamic"
    elif function.end_byte - function.start_byte == 7 and text[function.start_byte : function.end_byte] == b"require":
        kind = "require"
    else:
        return None
    first = next((child for child in arguments.named_children if child.type != "comment"), None)
    if first is None or first.type not in ("string", "template_string"):
        return None
    spec = literal(first, text)
    return None if spec is None else Import(spec, _read_taken_names(node, text), line_of(node), kind)


def _read_taken_names(call: Node, text: bytes) -> tuple[str, ...]:
    """The names in `const {a, b: c} = require(…)` and `require(…).a`."""
    parent = call.parent
    if parent is not None and parent.type == "await_expression":
        parent = parent.parent
    if parent is None:
        return ()
    if parent.type == "member_expression":
        name = parent.child_by_field_name("property")
        taken = cut(name, text) if name is not None else ""
        return kept([taken]) if taken not in _PROMISE else ()
    pattern = parent.child_by_field_name("name") if parent.type == "variable_declarator" else None
    if pattern is None or pattern.type != "object_pattern":
        return ()
    names = []
    for part in pattern.named_children:
        key = part.child_by_field_name("key") if part.type == "pair_pattern" else part
        if key is not None and key.type in ("shorthand_property_identifier_pattern", "property_identifier"):
            names.append(cut(key, text))
    return kept(names)


_IMPORTS = ImportRules(
    words=(b"import", b"require"),
    before_quote=(b"from",),
    query=(
        "(import_statement) @import (export_statement source: (_)) @import "
        "(call_expression function: (identifier)) @import (call_expression function: (import)) @import"
    ),
    read=_read_imports,
    line_comments=(b"//", b"*"),
    common=True,
)


_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".d.ts", ".mts", ".cts", ".mjs", ".cjs")
_SUFFIXES_IN_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts")
_WRITTEN_FOR = {
    ".js": (".ts", ".tsx", ".js", ".jsx", ".d.ts"),
    ".jsx": (".tsx", ".jsx", ".d.ts"),
    ".mjs": (".mts", ".mjs", ".d.mts"),
    ".cjs": (".cts", ".cjs", ".d.cts"),
}
"""What a suffix may stand for: sources name the file that will be compiled from them. What runs comes before declarations."""
_CODE = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})


class EcmascriptResolver:
    def __init__(self, tree: Tree) -> None:
        self._code = frozenset(tree.paths_of(*_CODE))
        self._packages = Packages(tree, self.file)
        self._configurations = Configurations(tree)
        self._answers: dict[tuple[str, str, bool], tuple[Target, ...]] = {}
        self._files: dict[tuple[str, bool], str | None] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        script = path.endswith(("js", "jsx"))
        key = (folder_of(path), found.spec, script)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(key[0], found.spec, script)
        return answer

    def _resolve(self, folder: str, spec: str, script: bool) -> tuple[Target, ...]:
        spec = spec.partition("?")[0]
        if spec.startswith(".") and (spec in (".", "..") or spec.startswith(("./", "../"))):
            return self._exactly(joined(folder, spec), script)
        if not spec or spec.startswith("/") or ":" in spec:
            return ()
        for place in self._configurations.places(folder, spec):
            answer = self._exactly(place, script)
            if answer:
                return answer
        return self._packages.resolve(folder, spec)

    def _exactly(self, place: str | None, script: bool) -> tuple[Target, ...]:
        file = self.file(place, script) if place is not None else None
        return (Target(file, 1.0),) if file is not None else ()

    def file(self, place: str, script: bool = False) -> str | None:
        """The file that a path without or with a suffix stands for, or the index of a folder."""
        key = (place, script)
        if key not in self._files:
            self._files[key] = self._module(place, script) or self._folder(place, script)
        return self._files[key]

    def _module(self, place: str, script: bool) -> str | None:
        dot = place.rfind(".")
        written = place[dot:] if dot > place.rfind("/") else ""
        if script and place in self._code:
            return place
        for suffix in _WRITTEN_FOR.get(written, ()):
            if (candidate := place[:dot] + suffix) in self._code:
                return candidate
        if place in self._code:
            return place
        for suffix in _SUFFIXES_IN_SCRIPTS if script else _SUFFIXES:
            if (candidate := place + suffix) in self._code:
                return candidate
        return None

    def _folder(self, place: str, script: bool) -> str | None:
        """`package.json` of the folder decides, else its `index`."""
        main = self._packages.main(place)
        if main is not None:
            return main
        index = f"{place}/index" if place else "index"
        return self._module(index, script)


_OCCURRENCES = OccurrenceRules(
    names="""identifier property_identifier private_property_identifier shorthand_property_identifier
    shorthand_property_identifier_pattern type_identifier=type""",
    places="""
    definition: class_declaration.name abstract_class_declaration.name class.name function_declaration.name
    definition: generator_function_declaration.name function_expression.name generator_function.name function_signature.name
    definition: method_definition.name method_signature.name abstract_method_signature.name public_field_definition.name
    definition: field_definition.property property_signature.name interface_declaration.name type_alias_declaration.name
    definition: enum_declaration.name enum_body.name enum_assignment.name internal_module.name module.name
    definition: type_parameter.name mapped_type_clause.name
    call: call_expression.function new_expression.constructor jsx_opening_element.name jsx_self_closing_element.name
    member: member_expression.property nested_type_identifier.name
    decorator: decorator
    inheritance: extends_clause.value extends_type_clause implements_clause class_heritage
    type: type_query
    import: import_clause import_specifier namespace_import export_specifier import_require_clause import_alias namespace_export
    definition: variable_declarator.name required_parameter.pattern optional_parameter.pattern formal_parameters
    definition: arrow_function.parameter for_in_statement.left catch_clause.parameter index_signature.name
    write: assignment_expression.left augmented_assignment_expression.left update_expression.argument
    label: pair.key pair_pattern.key jsx_attribute jsx_closing_element.name
    value: subscript_expression.object
    argument: type_arguments
    inside: generic_type nested_identifier.property rest_pattern object_pattern pair_pattern.value array_pattern
    inside: assignment_pattern.left object_assignment_pattern.left non_null_expression parenthesized_expression
    """,
)


LANGUAGES = (
    Language(
        name="javascript",
        extensions=("js", "jsx", "mjs", "cjs", "es6"),
        filenames=("Jakefile",),
        aliases=("js", "jsx", "node", "ecmascript"),
        interpreters=("node", "nodejs", "bun"),
        grammar=("tree_sitter_javascript", "language"),
        sigil="$",
        definitions=_definitions(_JAVASCRIPT),
        imports=_IMPORTS,
        occurrences=_OCCURRENCES,
        ecosystem="ecmascript",
        resolver=EcmascriptResolver,
    ),
    Language(
        name="typescript",
        extensions=("ts", "mts", "cts"),
        aliases=("ts",),
        interpreters=("deno", "ts-node", "tsx"),
        grammar=("tree_sitter_typescript", "language_typescript"),
        sigil="$",
        definitions=_definitions(_TYPESCRIPT),
        imports=_IMPORTS,
        occurrences=_OCCURRENCES,
        ecosystem="ecmascript",
        resolver=EcmascriptResolver,
    ),
    Language(
        name="tsx",
        extensions=("tsx",),
        grammar=("tree_sitter_typescript", "language_tsx"),
        sigil="$",
        definitions=_definitions(_TYPESCRIPT),
        imports=_IMPORTS,
        occurrences=_OCCURRENCES,
        ecosystem="ecmascript",
        resolver=EcmascriptResolver,
    ),
)
