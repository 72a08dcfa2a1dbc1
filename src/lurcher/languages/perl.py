"""Perl.

Definitions: packages, subroutines, classes and methods, `our` variables, `use constant`, the attributes of Moose and Moo. A
package without a block reaches to the next one. POD counts as a comment.

Imports: `use` and `require` of a module, `use parent` and `use base`, but not pragmas.

Resolution: `A::B` is a file `A/B.pm` in any folder; the nearest of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lurcher.languages.base import (
    COMMENT,
    Captures,
    DefinitionRules,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    child,
    cut,
    extent,
    kept,
    line_of,
    literal,
    no_underscore,
)
from lurcher.languages.resolution import Target, Tree, folder_of, joined, nearest

if TYPE_CHECKING:
    from tree_sitter import Node


def _packages(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The packages and classes among the statements of a file or block, each to where the next one begins."""
    around = captures["in"][0]
    statements = [node for node in around.named_children if node.type in ("package_statement", "class_statement")]
    for number, node in enumerate(statements, 1):
        name, block = node.child_by_field_name("name"), child(node, "block")
        if name is None:
            continue
        kind = "module" if node.type == "package_statement" else "class"
        if block is not None:
            yield kind, {"def": [node], "name": [name], "body": [block]}
            continue
        end = statements[number].start_byte if number < len(statements) else around.end_byte
        yield kind, {"def": [extent(node.start_byte, end)], "name": [name], "body": [extent(name.end_byte, end)]}


def _ours(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`our $x`, `our ($a, @b)`."""
    node = captures["def"][0]
    if not node.child_count or node.children[0].type != "our":
        return
    outer = node.parent
    whole = outer if outer is not None and outer.type == "assignment_expression" else node
    for variable in (*node.children_by_field_name("variable"), *node.children_by_field_name("variables")):
        name = child(variable, "varname")
        if name is not None:
            yield "variable", {"def": [whole], "name": [name]}


def _constants(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`use constant LIMIT => 10`, `use constant { A => 1, B => 2 }`."""
    node = captures["def"][0]
    module = node.child_by_field_name("module")
    if module is None or module.text != b"constant":
        return
    several = child(node, "anonymous_hash_expression")
    values = child(several, "list_expression") if several is not None else child(node, "list_expression")
    keys = values.named_children if values is not None else []
    for key in keys[::2] if several is not None else keys[:1]:
        if key.type == "autoquoted_bareword":
            yield "constant", {"def": [node], "name": [key]}


def _attribute(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """`has name => (is => 'ro')`."""
    node = captures["def"][0]
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.text != b"has":
        return
    name = arguments.named_child(0) if arguments.type == "list_expression" else arguments
    if name is not None and name.type == "autoquoted_bareword":
        yield "field", {"def": [node], "name": [name]}


_PATTERNS = (
    (_packages, "[(source_file) (block)] @in"),
    ("function", "(subroutine_declaration_statement) @def"),
    ("method", "(method_declaration_statement) @def"),
    (_ours, "(variable_declaration) @def"),
    (_constants, "(use_statement) @def"),
    (_attribute, "(ambiguous_function_call_expression) @def"),
    (COMMENT, "[(comment) (pod)] @def"),
)

_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "pod"}),
    exported=no_underscore,
    constructors=frozenset({"new", "BUILD"}),
    qualifiers="::",
    contains_nothing=frozenset({"constant", "variable", "field"}),
)

_PARENTS = ("parent", "base")


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found = []
    for node in nodes:
        line = line_of(node)
        if node.type == "require_expression":
            given = node.named_child(0)
            if given is not None and given.type == "bareword":
                found.append(Import(cut(given, text), (), line, "require"))
            elif given is not None and (path := literal(given, text)) is not None:
                found.append(Import(path, (), line, "load"))
            continue
        module = node.child_by_field_name("module")
        if module is None:
            continue
        name = cut(module, text)
        if name in _PARENTS:
            found += [Import(parent, (), line, "use") for parent in _words(node, text) if not parent.startswith("-")]
        elif not name.islower() or "::" in name:
            found.append(Import(name, kept(_words(node, text)), line, "use"))
    return found


def _words(node: Node, text: bytes) -> list[str]:
    """The words of `qw(a b)` and `'a', 'b'`."""
    found = []
    stack = list(reversed(node.named_children))
    while stack:
        part = stack.pop()
        if part.type == "list_expression":
            stack += reversed(part.named_children)
        elif part.type in ("quoted_word_list", "string_literal"):
            content = part.child_by_field_name("content")
            if content is not None and content.end_byte - content.start_byte < 10_000:
                found += text[content.start_byte : content.end_byte].decode("utf-8", "replace").split()
    return found


_IMPORTS = ImportRules(
    words=(b"use", b"require"),
    query="(use_statement) @import (require_expression) @import",
    read=_read_imports,
    line_comments=(b"#",),
)


class PerlResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = frozenset(tree.paths_of("perl"))
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._files):
            self._by_name.setdefault(path[path.rfind("/") + 1 :], []).append(path)

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "load":
            here = joined(folder_of(path), found.spec)
            if here in self._files:
                return (Target(here, 1.0),)
            wanted = found.spec.removeprefix("./")
        else:
            wanted = found.spec.replace("::", "/") + ".pm"
        named = self._by_name.get(wanted[wanted.rfind("/") + 1 :], ())
        return nearest(path, [entry for entry in named if entry == wanted or entry.endswith(f"/{wanted}")])


_OCCURRENCES = OccurrenceRules(
    names="varname function method bareword package",
    places="""
    definition: subroutine_declaration_statement.name variable_declaration package_statement.name
    call: function_call_expression.function ambiguous_function_call_expression.function method_call_expression.method
    write: assignment_expression.left
    import: use_statement.module
    label: hash_element_expression.key
    inside: scalar array hash
    """,
)


LANGUAGES = (
    Language(
        name="perl",
        extensions=("pl", "pm", "pod", "psgi"),
        filenames=("cpanfile",),
        aliases=("pl",),
        interpreters=("perl",),
        grammar=("tree_sitter_perl", "language"),
        optional=True,
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="perl",
        resolver=PerlResolver,
    ),
)
