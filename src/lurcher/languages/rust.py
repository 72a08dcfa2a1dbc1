"""Rust.

Definitions: impl blocks are containers, attributes belong to the item that follows, `pub` exports.

Imports: `mod x;`, `use a::{b, c::d}` (one import per leaf), `extern crate`.

Paths are written relative to the file's own module: `super::x` inside an inline module becomes `self::x`.

Resolution: modules as files, crates of the tree by name. `Cargo.toml` has the crates, their root files, and the names they
give their dependencies.

A path leads to the file of the deepest module on it; what is left of the path is an item in there. Modules are found by
where their files are, as by the compiler, even without a visible declaration, because macros often hide it.
"""

from __future__ import annotations

from lurcher.languages.base import (
    ATTRIBUTE,
    COMMENT,
    LONGEST,
    OPEN_SCOPE,
    SCOPE,
    DefinitionRules,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    cut,
    line_of,
    literal,
)
from lurcher.languages.resolution import Target, Tree, at, folder_of, joined, nearest
from lurcher.runtime.stdlib import NamedTuple, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node


_PATTERNS = (
    ("function", "[(function_item) (function_signature_item)] @def"),
    ("struct", "(struct_item) @def"),
    ("struct", "(union_item) @def"),
    ("enum", "(enum_item) @def"),
    ("trait", "(trait_item) @def"),
    ("type", "[(type_item) (associated_type)] @def"),
    ("module", "(mod_item name: (_) @name body: (_) @body) @def"),
    ("constant", "(const_item name: (identifier) @name) @def"),
    ("variable", "(static_item name: (identifier) @name) @def"),
    ("field", "(field_declaration) @def"),
    ("enumerator", "(enum_variant) @def"),
    ("macro", "(macro_definition) @def"),
    (OPEN_SCOPE, "(impl_item trait: (_) type: (_) @name) @def"),
    (SCOPE, "(impl_item !trait type: (_) @name) @def"),
    (ATTRIBUTE, "(attribute_item) @def"),
    (COMMENT, "[(line_comment) (block_comment)] @def"),
)

_SELF_TYPE = pattern(r"^(?:[&*(\[]|'\w+|mut\b|const\b|dyn\b|\s)*([\w:]+)")


def _refine(found: Found, text: bytes) -> Found | None:
    """`impl<'a> Read for &'a mut io::Cursor<T>` implements Cursor."""
    if found.kind in (SCOPE, OPEN_SCOPE):
        match = _SELF_TYPE.match(found.name)
        found.name = match.group(1).rstrip(":").rsplit("::", 1)[-1] if match else ""
    elif found.kind == "macro":
        brace = text.find(b"{", found.name_end, found.end)
        found.signature_end = brace if brace >= 0 else found.signature_end
    return found if found.name != "_" else None


def _exported(found: Found, modifiers: bytes, parent_kind: str) -> bool:
    if parent_kind in (OPEN_SCOPE, "trait", "enumerator"):
        return True
    if found.kind in ("macro", "enumerator"):
        return True
    return modifiers.startswith(b"pub")


_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"line_comment", "block_comment", "attribute_item"}),
    exported=_exported,
    refine=_refine,
)


_MOST_LEAVES = 2_000


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    inline: list[tuple[int, str]] = []
    """End and name of the inline modules around the current node."""
    for node in nodes:
        start = node.start_byte
        while inline and inline[-1][0] <= start:
            inline.pop()
        kind = node.type
        if kind == "use_declaration":
            around = [name for _, name in inline]
            line = line_of(node)
            found += [Import(_from_file(path, around), names, line, "use") for path, names in _leaves(node, text)]
            continue
        name = node.child_by_field_name("name")
        if name is None:
            continue
        plain = cut(name, text).removeprefix("r#")
        if kind == "extern_crate_declaration":
            if plain != "self":
                found.append(Import(plain, (), line_of(node), "crate"))
        elif node.child_by_field_name("body") is not None:
            inline.append((node.end_byte, plain))
        else:
            around = [outer for _, outer in inline]
            path = _path_attribute(node, text)
            spec = "/".join([*around, plain if path is None else path])
            found.append(Import(spec, (plain,), line_of(node), "mod" if path is None else "mod-path"))
    return found


def _leaves(node: Node, text: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """Path and name of each leaf of a use tree, by a stack: trees may be nested as deep as they like."""
    argument = node.child_by_field_name("argument")
    leaves: list[tuple[str, tuple[str, ...]]] = []
    stack = [("", argument)] if argument is not None else []
    while stack and len(leaves) < _MOST_LEAVES:
        prefix, part = stack.pop()
        kind = part.type
        if len(prefix) > LONGEST:
            continue
        if kind in ("scoped_use_list", "use_list"):
            path = part.child_by_field_name("path") if kind == "scoped_use_list" else None
            entries = part.child_by_field_name("list") if kind == "scoped_use_list" else part
            inner = _joined(prefix, cut(path, text)) if path is not None else prefix
            if entries is not None:
                stack += [(inner, child) for child in reversed(entries.named_children)]
            continue
        if kind == "use_as_clause":
            original = part.child_by_field_name("path")
            if original is not None:
                stack.append((prefix, original))
            continue
        if kind == "use_wildcard":
            base = part.named_children[0] if part.named_children else None
            leaves.append((_joined(prefix, cut(base, text)) if base is not None else prefix, ("*",)))
        elif kind == "self" and prefix:
            leaves.append((prefix, (prefix.rpartition("::")[2],)))
        elif kind in ("identifier", "scoped_identifier", "crate", "super", "self"):
            path_text = _joined(prefix, cut(part, text))
            leaves.append((path_text, (path_text.rpartition("::")[2],)))
    return [(path.replace("r#", ""), names) for path, names in leaves if path]


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix else path


def _from_file(path: str, around: list[str]) -> str:
    """The path as it would read outside of the inline modules around it."""
    if not around or not path.startswith(("self", "super")):
        return path
    parts = path.split("::")
    scope = list(around)
    if parts[0] == "self":
        parts.pop(0)
    while parts and parts[0] == "super" and scope:
        scope.pop()
        parts.pop(0)
    if parts and parts[0] == "super":
        return "::".join(parts)
    return "::".join(["self", *scope, *parts])


def _path_attribute(node: Node, text: bytes) -> str | None:
    """`#[path = "…"]` among the attributes before a module."""
    before = node.prev_named_sibling
    for _ in range(20):
        if before is None or before.type not in ("attribute_item", "line_comment", "block_comment"):
            return None
        attribute = before.named_children[0] if before.named_children else None
        if attribute is not None and attribute.type == "attribute" and attribute.named_children:
            value = attribute.child_by_field_name("value")
            if value is not None and cut(attribute.named_children[0], text) == "path":
                return literal(value, text)
        before = before.prev_named_sibling
    return None


_IMPORTS = ImportRules(
    words=(b"use", b"mod", b"extern"),
    query="(use_declaration) @import (mod_item) @import (extern_crate_declaration) @import",
    read=_read_imports,
    line_comments=(b"//", b"*"),
)


_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")


class _Crate(NamedTuple):
    """One package: what roots it has, and what it calls others."""

    name: str
    """As in paths, with underscores."""
    library: str | None
    roots: frozenset[str]
    """Declared root files."""
    old_paths: bool
    """Whether paths begin at the crate's root without saying so, as in the edition of 2015."""
    renamed: dict[str, str]


def _read_crates(tree: Tree) -> dict[str, _Crate]:
    """Folder to the crate in it."""
    found: dict[str, _Crate] = {}
    for path in tree.configurations("Cargo.toml"):
        settings = tree.toml(path)
        name = at(settings, "package", "name")
        if isinstance(name, str):
            found[folder_of(path)] = _crate(tree, folder_of(path), name, settings)
    return found


def _crate(tree: Tree, home: str, package: str, settings: dict[str, Any]) -> _Crate:
    roots = set()
    for kind in ("lib", "bin", "test", "bench", "example"):
        tables = settings.get(kind)
        for table in [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else ():
            path = at(table, "path")
            place = joined(home, path) if isinstance(path, str) else None
            if place is not None and place in tree:
                roots.add(place)
    declared = at(settings, "lib", "path")
    library = joined(home, declared) if isinstance(declared, str) else joined(home, "src/lib.rs")
    name = at(settings, "lib", "name")
    renamed = {}
    for table_name in _TABLES:
        table = settings.get(table_name)
        for alias, value in table.items() if isinstance(table, dict) else ():
            original = at(value, "package")
            if isinstance(original, str):
                renamed[alias.replace("-", "_")] = original.replace("-", "_")
    return _Crate(
        name=(name if isinstance(name, str) else package).replace("-", "_"),
        library=library if library is not None and library in tree else None,
        roots=frozenset(roots),
        old_paths=at(settings, "package", "edition") in (None, "2015"),
        renamed=renamed,
    )


_ROOTS = frozenset({"lib.rs", "main.rs", "build.rs"})
_TARGETS = frozenset({"tests", "benches", "examples", "bin"})
"""Folders each of whose files is the root of a crate."""
_DEEPEST = 64


class RustResolver:
    def __init__(self, tree: Tree) -> None:
        self._files = frozenset(tree.paths_of("rust"))
        self._crates = _read_crates(tree)
        self._by_name: dict[str, list[str]] = {}
        for crate in self._crates.values():
            if crate.library is not None:
                self._by_name.setdefault(crate.name, []).append(crate.library)
        self._out_of_place: frozenset[str] = frozenset()
        """Files that an attribute makes modules."""
        self._declared_roots = frozenset(root for crate in self._crates.values() for root in crate.roots)
        self._placed: dict[tuple[str, str], str] = {}
        """Declaring file and name of a module to its file, where an attribute places it."""
        self._parents: dict[str, str] = {}
        """Module to the file that declares it."""
        declared = [
            (path, found) for path in sorted(self._files) for found in tree.imports[path] if found.kind.startswith("mod")
        ]
        for path, found in declared:
            if found.kind == "mod-path" and (target := self._by_attribute(path, found.spec)) is not None:
                self._placed[path, found.names[0]] = target
                self._parents.setdefault(target, path)
        self._out_of_place = frozenset(self._parents)
        for path, found in declared:
            if found.kind == "mod" and (target := self._module(f"{self._folder(path)}/{found.spec}".lstrip("/"))) is not None:
                self._parents.setdefault(target, path)
        self._crate_of: dict[str, _Crate | None] = {}
        self._root_of: dict[str, str] = {}
        self._children: dict[tuple[str, str], str | None] = {}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        key = (path, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, found)
        return answer

    def _resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        if found.kind == "mod":
            return _exactly(self._module(f"{self._folder(path)}/{found.spec}".lstrip("/")))
        if found.kind == "mod-path":
            return _exactly(self._by_attribute(path, found.spec))
        if found.kind == "crate":
            return self._crate(path, found.spec)
        return self._path(path, found.spec.split("::"))

    def _path(self, path: str, parts: list[str]) -> tuple[Target, ...]:
        first, rest = parts[0], parts[1:]
        if first == "crate":
            return _exactly(self._deepest(self._root(path), rest))
        if first in ("self", "super"):
            base: str | None = path
            rest = parts[1:] if first == "self" else parts
            while base is not None and rest and rest[0] == "super":
                base, rest = self._parent(base), rest[1:]
            return _exactly(self._deepest(base, rest)) if base is not None else ()
        if first == "":
            named = self._crate(path, rest[0]) if rest else ()
            return tuple(Target(self._deepest(file, rest[1:]), sure) for file, sure, _ in named)
        child = self._child(path, first)
        if child is not None:
            return _exactly(self._deepest(child, rest))
        named = self._crate(path, first)
        if named:
            return tuple(Target(self._deepest(file, rest), sure) for file, sure, _ in named)
        own = self._own_crate(path)
        if own is not None and own.old_paths and (child := self._child(self._root(path), first)) is not None:
            return _exactly(self._deepest(child, rest))
        return ()

    def _deepest(self, file: str, parts: list[str]) -> str:
        for part in parts:
            child = self._child(file, part)
            if child is None:
                break
            file = child
        return file

    def _crate(self, path: str, name: str) -> tuple[Target, ...]:
        """Root of a library by the name that the importing crate has for it."""
        own = self._own_crate(path)
        if own is not None:
            name = own.renamed.get(name, name)
            if own.name == name and own.library is not None:
                return _exactly(own.library)
        return nearest(path, self._by_name.get(name, ()))

    def _own_crate(self, path: str) -> _Crate | None:
        folder = folder_of(path)
        if folder not in self._crate_of:
            above = folder
            while above and above not in self._crates:
                above = folder_of(above)
            self._crate_of[folder] = self._crates.get(above)
        return self._crate_of[folder]

    def _child(self, file: str, name: str) -> str | None:
        key = (file, name)
        if key not in self._children:
            self._children[key] = self._placed.get(key) or self._module(f"{self._folder(file)}/{name}".lstrip("/"))
        return self._children[key]

    def _module(self, place: str) -> str | None:
        return next((path for path in (f"{place}.rs", f"{place}/mod.rs") if path in self._files), None)

    def _by_attribute(self, path: str, spec: str) -> str | None:
        """`#[path]` counts from the file's folder, inside an inline module from the folder of that module."""
        for folder in (folder_of(path), self._folder(path)):
            place = joined(folder, spec)
            if place is not None and place in self._files:
                return place
        return None

    def _folder(self, file: str) -> str:
        """The folder of a file's modules."""
        folder = folder_of(file)
        name = file[len(folder) + 1 :] if folder else file
        if name == "mod.rs" or file in self._out_of_place or self._is_root(file, folder, name):
            return folder
        return f"{folder}/{name[:-3]}" if folder else name[:-3]

    def _is_root(self, file: str, folder: str, name: str) -> bool:
        return name in _ROOTS or file in self._declared_roots or folder.rpartition("/")[2] in _TARGETS

    def _parent(self, file: str) -> str | None:
        declared = self._parents.get(file)
        if declared is not None:
            return declared
        folder = folder_of(file)
        name = file[len(folder) + 1 :] if folder else file
        if self._is_root(file, folder, name):
            return None
        return self._owner(folder_of(folder) if name == "mod.rs" else folder)

    def _owner(self, folder: str) -> str | None:
        """The file whose modules are in a folder."""
        above = f"{folder}/" if folder else ""
        own = (f"{above}mod.rs", f"{folder}.rs", f"{above}lib.rs", f"{above}main.rs")
        found = next((path for path in own if path in self._files), None)
        if found is None:
            found = next((root for root in sorted(self._declared_roots) if folder_of(root) == folder), None)
        return found

    def _root(self, file: str) -> str:
        """The root of the crate that a file is in."""
        root = self._root_of.get(file)
        if root is None:
            root, seen = file, {file}
            for _ in range(_DEEPEST):
                above = self._parent(root)
                if above is None or above in seen:
                    break
                root = above
                seen.add(root)
            self._root_of[file] = root
        return root


def _exactly(path: str | None) -> tuple[Target, ...]:
    return (Target(path, 1.0),) if path is not None else ()


_OCCURRENCES = OccurrenceRules(
    names="identifier field_identifier shorthand_field_identifier type_identifier=type",
    places="""
    definition: function_item.name function_signature_item.name struct_item.name enum_item.name union_item.name
    definition: trait_item.name type_item.name associated_type.name const_item.name static_item.name mod_item.name
    definition: macro_definition.name enum_variant.name field_declaration.name parameter.pattern let_declaration.pattern
    definition: closure_parameters for_expression.pattern type_parameter.name match_pattern let_condition.pattern
    call: call_expression.function macro_invocation.macro
    member: field_expression.field scoped_identifier.name scoped_type_identifier.name
    write: assignment_expression.left compound_assignment_expr.left
    import: use_declaration extern_crate_declaration use_as_clause
    inheritance: impl_item.trait trait_item.bounds
    type: type_arguments
    decorator: attribute
    label: field_initializer.field lifetime
    read: tuple_struct_pattern.type struct_pattern.type
    inside: trait_bounds generic_type.type generic_function.function use_list scoped_use_list reference_type tuple_pattern
    inside: tuple_struct_pattern ref_pattern mut_pattern slice_pattern captured_pattern parenthesized_expression
    """,
)


LANGUAGES = (
    Language(
        name="rust",
        extensions=("rs",),
        aliases=("rs",),
        interpreters=("rust-script",),
        grammar=("tree_sitter_rust", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="rust",
        resolver=RustResolver,
    ),
)
