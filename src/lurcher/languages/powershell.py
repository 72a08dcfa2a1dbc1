"""PowerShell.

Definitions: functions, filters and workflows, classes with their members, enumerations, and variables of the script.

Imports: `using module`, `Import-Module` and dot-sourcing (`. ./lib.ps1`) of a literal.

Resolution: paths from the file's folder, which `$PSScriptRoot` stands for; modules by the name of their file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    MatchReader,
    OccurrenceRules,
    child,
    cut,
    extent,
    line_of,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 20


def _named(kind: str, *types: str) -> MatchReader:
    """Reads a node whose name is its first child of one of these types."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        node = captures["def"][0]
        name = child(node, *types)
        if name is not None:
            brace = next((entry for entry in node.children if entry.type == "{"), None)
            yield kind, {"def": [node], "name": [name], **({"body": [brace]} if brace is not None else {})}

    return read


def _assigned(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`$name = …`: the variable is at the bottom of a chain of expressions."""
    node: Node | None = captures["value"][0].named_child(0)
    for _ in range(_DEEPEST):
        if node is None:
            return
        if node.type == "variable":
            # Without its sign and, in `$script:count`, its scope.
            start = node.start_byte + 1 + (node.text or b"").rfind(b":")
            start += 0 if b":" in (node.text or b"") else 1
            yield "variable", {"def": captures["def"], "name": [extent(start, node.end_byte)]}
            return
        node = node.named_child(0) if node.named_child_count == 1 else None


def _property(captures: Captures) -> Iterator[tuple[str, Captures]]:
    name = child(captures["def"][0], "variable")
    if name is not None:
        yield "field", {**captures, "name": [extent(name.start_byte + 1, name.end_byte)]}


_PATTERNS = (
    (_named("function", "function_name"), "(function_statement) @def"),
    (_named("class", "simple_name"), "(class_statement) @def"),
    (_named("method", "simple_name"), "(class_method_definition) @def"),
    (_property, "(class_property_definition) @def"),
    (_named("enum", "simple_name"), "(enum_statement) @def"),
    (_named("enumerator", "simple_name"), "(enum_member) @def"),
    (_assigned, "(program (statement_list (pipeline (assignment_expression) @value) @def))"),
    (COMMENT, "(comment) @def"),
)


def _refine(found: Found, text: bytes) -> Found | None:
    """`function global:Get-Thing` is named Get-Thing; a signature ends where the body begins."""
    found.name = found.name.rpartition(":")[2]
    return found if found.name not in ("_", "null") else None


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    return b"hidden" not in modifiers.split()


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment"}),
    exported=_exported,
    constructor_is_class=True,
    refine=_refine,
)

_HERE = ("$PSScriptRoot/", "$PSScriptRoot\\", "${PSScriptRoot}/", "${PSScriptRoot}\\")


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        name = node.child_by_field_name("command_name")
        if name is None or node.end_byte - node.start_byte > 4_000:
            continue
        operator = child(node, "command_invokation_operator")
        if operator is not None:
            if cut(operator, text) == ".":
                found.append(Import(_path(cut(name, text)), (), line_of(node), "include"))
            continue
        word = cut(name, text).lower()
        elements = node.child_by_field_name("command_elements")
        if word not in ("using", "import-module", "ipmo") or elements is None:
            continue
        given = [cut(entry, text) for entry in elements.named_children if entry.type != "command_argument_sep"]
        if word == "using":
            given = given[1:] if given and given[0].lower() == "module" else []
        given = [entry for entry in given if not entry.startswith("-")]
        if given:
            found.append(Import(_path(given[0]), (), line_of(node), "import"))
    return [entry for entry in found if entry.spec and "$" not in entry.spec]


def _path(written: str) -> str:
    written = written.strip("'\"")
    for here in _HERE:
        if written.startswith(here):
            written = f"./{written[len(here) :]}"
    return written.replace("\\", "/")


_IMPORTS = ImportRules(
    words=(b"using", b"Using", b"Import-Module", b"import-module", b"ipmo", b"ps1", b"psm1", b"psd1"),
    query="(command) @import",
    read=_read_imports,
    line_comments=(b"#",),
    common=True,
)


class PowershellResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = {path.lower(): path for path in tree.paths_of("powershell")}
        self._modules: dict[str, list[str]] = {}
        """Name of a module to its files; manifests only where there is nothing else."""
        for suffix in (".psm1", ".psd1"):
            named: dict[str, list[str]] = {}
            for path in sorted(self._files.values()):
                name = path[path.rfind("/") + 1 :].lower()
                if name.endswith(suffix):
                    named.setdefault(name.removesuffix(suffix), []).append(path)
            self._modules = named | self._modules

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        place = joined(folder_of(path), found.spec)
        exact = None if place is None else self._files.get(place.lower())
        if exact is not None:
            return (Target(exact, 1.0),)
        if "/" in found.spec or found.kind == "include":
            return ()
        return nearest(path, self._modules.get(found.spec.lower().removesuffix(".psm1").removesuffix(".psd1"), ()))


_OCCURRENCES = OccurrenceRules(
    names="variable function_name command_name simple_name type_identifier=type",
    places="""
    definition: function_statement script_parameter class_statement class_property_definition class_method_definition
    definition: class_method_parameter
    call: command.command_name invokation_expression
    inside: member_name
    """,
)


LANGUAGES = (
    Language(
        name="powershell",
        extensions=("ps1", "psm1", "psd1"),
        aliases=("ps1", "pwsh"),
        interpreters=("pwsh",),
        grammar=("tree_sitter_powershell", "language"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="powershell",
        resolver=PowershellResolver,
    ),
)
