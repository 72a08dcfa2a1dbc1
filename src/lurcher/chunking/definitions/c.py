"""C and C++: functions and their prototypes, types, macros; `Foo::bar` outside its class belongs to Foo."""

from __future__ import annotations

import re

from lurcher.chunking.definitions.spec import COMMENT, WRAP, Found, Spec

_FUNCTION = "(function_declarator declarator: {0})"
_CALLABLE = (
    "["
    + " ".join(
        (
            _FUNCTION,
            f"(pointer_declarator declarator: {_FUNCTION})",
            f"(pointer_declarator declarator: (pointer_declarator declarator: {_FUNCTION}))",
        )
    )
    + "{1}]"
)
_C_NAME = "[(identifier) (field_identifier)] @name"
_CPP_NAME = """[(identifier) (field_identifier) (qualified_identifier) (operator_name) (destructor_name)
    (template_function)] @name"""
_C_CALLABLE = _CALLABLE.format(_C_NAME, "")
_CPP_CALLABLE = _CALLABLE.format(_CPP_NAME, f" (reference_declarator (function_declarator declarator: {_CPP_NAME}))")
_TYPEDEF_NAME = """[(type_identifier) @name (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator:
        (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))]"""
_VARIABLE = """[(init_declarator) (identifier) (array_declarator)
    (pointer_declarator [(identifier) (array_declarator)])] @name"""
_ANONYMOUS = "(type_definition type: ({0} !name body: (_) @body) declarator: (type_identifier) @name) @def"
_FILE_LEVEL = ("translation_unit", "preproc_ifdef", "preproc_if", "preproc_else", "declaration_list")


def _shared(callable_: str, levels: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What both languages define; `callable_` finds a function's name, `levels` are the nodes of file-level items."""
    return (
        ("function", f"(function_definition declarator: {callable_}) @def"),
        *(("function", f"({level} (declaration declarator: {callable_}) @def)") for level in levels),
        ("struct", "(struct_specifier name: (_) @name body: (_) @body) @def"),
        ("struct", "(union_specifier name: (_) @name body: (_) @body) @def"),
        ("enum", "(enum_specifier name: (_) @name body: (_) @body) @def"),
        ("struct", _ANONYMOUS.format("struct_specifier")),
        ("struct", _ANONYMOUS.format("union_specifier")),
        ("enum", _ANONYMOUS.format("enum_specifier")),
        ("type", f"(type_definition declarator: {_TYPEDEF_NAME}) @def"),
        ("macro", "(preproc_function_def name: (_) @name) @def"),
        ("constant", "(preproc_def name: (_) @name value: (_)) @def"),
        *(("variable", f"({level} (declaration declarator: {_VARIABLE}) @def)") for level in levels),
        (COMMENT, "(comment) @def"),
    )


_CPP = (
    ("class", "(class_specifier name: (_) @name body: (_) @body) @def"),
    ("class", "(function_definition type: [(class_specifier) (struct_specifier)] declarator: (identifier) @name) @def"),
    ("module", "(namespace_definition name: (_) @name) @def"),
    ("type", "[(alias_declaration name: (_) @name) (concept_definition name: (_) @name)] @def"),
    ("function", f"(field_declaration declarator: {_CPP_CALLABLE}) @def"),
    ("function", f"(field_declaration_list (declaration declarator: {_CPP_CALLABLE}) @def)"),
    ("function", f"(template_declaration (declaration declarator: {_CPP_CALLABLE}) @def)"),
    *_shared(_CPP_CALLABLE, _FILE_LEVEL),
    (
        WRAP,
        """(template_declaration [(class_specifier) (struct_specifier) (union_specifier) (function_definition)
            (declaration) (alias_declaration) (concept_definition)] @inner) @def""",
    ),
)

_VARIABLE_NAME = re.compile(r"[*&\s]*([A-Za-z_]\w*)")
_OPERATOR = re.compile(r"\boperator\b\s*(.*)\Z", re.DOTALL)
_SCOPE = re.compile(r"[\w:\s]*")
_INNERMOST_ARGUMENTS = re.compile(r"<[^<>]*>")


def _refine(found: Found, text: bytes) -> Found | None:
    """Reduce declarators to names: `*table[3] = …` to table, `ns::Box<T>::get` to get of ns::Box."""
    if found.kind == "variable":
        match = _VARIABLE_NAME.match(found.name)
        found.name = match.group(1) if match else ""
    elif found.kind == "macro":
        found.signature_end = _macro_end(text, found)
    elif "<" in found.name or "operator" in found.name:
        _qualify(found)
    return found if _SCOPE.fullmatch(found.owner) else None


def _macro_end(text: bytes, found: Found) -> int:
    """A macro's signature is its parameter list."""
    closing = text.find(b")", found.name_end, found.end)
    return closing + 1 if closing >= 0 else found.end


def _qualify(found: Found) -> None:
    operator = _OPERATOR.search(found.name)
    scope = found.name[: operator.start()] if operator else found.name
    bare = _INNERMOST_ARGUMENTS.sub("", scope)
    while bare != scope:
        scope, bare = bare, _INNERMOST_ARGUMENTS.sub("", bare)
    if operator is None:
        found.name = scope if _SCOPE.fullmatch(scope.replace("~", "")) else ""
        return
    symbol = " ".join(operator.group(1).split())
    found.owner = scope.strip().removesuffix("::")
    found.name = f"operator {symbol}" if symbol[:1].isalpha() else f"operator{symbol}"


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    """`static` hides at file level; in a class it says something else."""
    return parent_kind in ("class", "struct") or b"static" not in modifiers.split()


_LEADS = frozenset({"comment"})
_TYPEDEF = frozenset({"type"})

SPECS = {
    "c": Spec(
        patterns=_shared(_C_CALLABLE, _FILE_LEVEL),
        leads=_LEADS,
        exported=_exported,
        contains_nothing=_TYPEDEF,
        refine=_refine,
    ),
    "cpp": Spec(
        patterns=_CPP,
        leads=_LEADS | {"access_specifier"},
        exported=_exported,
        qualifiers="::",
        constructor_is_class=True,
        contains_nothing=_TYPEDEF,
        refine=_refine,
    ),
}
