"""Python.

Definitions: classes, functions, what modules and class bodies assign; docstrings count as comments.

Imports: `import a.b as c`, `from ..a import b, c`.

Resolution: modules and packages under source roots, which are customary or which the project's configuration names.

An edge leads to the module that a statement names, not to the packages around it that Python runs on the way. For
`from a import b` that is `a/b.py` where `b` is a module, unless `a/__init__.py` binds the name itself; else it is `a`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lurcher.languages.base import (
    COMMENT,
    LONGEST,
    WRAP,
    Captures,
    DefinitionRules,
    Import,
    ImportRules,
    Language,
    MatchReader,
    OccurrenceRules,
    cut,
    first,
    kept,
    line_of,
    no_underscore,
)
from lurcher.languages.resolution import Target, Tree, at, folder_of, joined, shared, strings
from lurcher.runtime.stdlib import NamedTuple, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node


def _documentation(body: Node) -> list[tuple[str, Captures]]:
    """The string that is the first statement of a body, as a comment."""
    statement = first(body)
    if statement is not None and statement.type == "comment":
        statement = next((entry for entry in body.named_children if entry.type != "comment"), None)
    if statement is not None and statement.type == "expression_statement" and statement.named_child_count == 1:
        string = statement.named_child(0)
        if string is not None and string.type == "string":
            return [(COMMENT, {"def": [string]})]
    return []


def _documented(kind: str) -> MatchReader:
    """Reads a definition together with its documentation."""

    def read(captures: Captures) -> list[tuple[str, Captures]]:
        body = captures["def"][0].child_by_field_name("body")
        if body is None:
            return [(kind, captures)]
        captures["body"] = [body]
        return [(kind, captures), *_documentation(body)]

    return read


def _module(captures: Captures) -> list[tuple[str, Captures]]:
    return _documentation(captures["in"][0])


def _assigned(kind: str) -> MatchReader:
    """Reads `name = …`, `name: type`, `a, b = …` and `a = b = …`; a name in capitals is a constant."""

    def read(captures: Captures) -> Iterator[tuple[str, Captures]]:
        value: Node | None = captures["value"][0]
        while value is not None and value.type == "assignment":
            left = value.child_by_field_name("left")
            several = left is not None and left.type == "pattern_list"
            for name in left.named_children if left is not None and several else [left]:
                if name is not None and name.type == "identifier":
                    text = name.text or b""
                    constant = len(text) > 1 and text.isupper()
                    yield "constant" if constant else kind, {"def": captures["def"], "name": [name]}
            value = value.child_by_field_name("right")

    return read


_ASSIGNMENT = "(expression_statement (assignment) @value) @def"

_PATTERNS = (
    (_documented("class"), "(class_definition) @def"),
    (_documented("function"), "(function_definition) @def"),
    ("type", "(type_alias_statement left: (type (identifier) @name)) @def"),
    (_assigned("variable"), f"(module {_ASSIGNMENT})"),
    (_assigned("field"), f"(class_definition body: (block {_ASSIGNMENT}))"),
    (_assigned("variable"), f"(module (if_statement (block {_ASSIGNMENT})))"),
    (_assigned("variable"), f"(module (if_statement (else_clause (block {_ASSIGNMENT}))))"),
    (_assigned("variable"), f"(module (try_statement (block {_ASSIGNMENT})))"),
    (_assigned("variable"), f"(module (try_statement (except_clause (block {_ASSIGNMENT}))))"),
    (WRAP, "(decorated_definition definition: (_) @inner) @def"),
    (COMMENT, "(comment) @def"),
    (_module, "(module) @in"),
)

_DEFINITIONS = DefinitionRules(
    patterns=_PATTERNS,
    leads=frozenset({"comment", "decorator"}),
    exported=no_underscore,
    constructors=frozenset({"__init__", "__new__"}),
    signature_at_wrapper=False,
)


_OCCURRENCES = OccurrenceRules(
    names="identifier",
    places="""
    definition: function_definition.name class_definition.name
    call: call.function
    member: attribute.attribute
    decorator: decorator
    inheritance: class_definition.superclasses
    type: type class_pattern
    import: import_statement import_from_statement future_import_statement aliased_import
    write: assignment.left augmented_assignment.left for_statement.left for_in_clause.left named_expression.name
    write: as_pattern.alias
    definition: parameters lambda_parameters default_parameter.name typed_default_parameter.name typed_parameter
    label: keyword_argument.name keyword_pattern
    value: subscript.value
    argument: subscript.subscript
    inside: argument_list generic_type tuple list pattern_list tuple_pattern list_pattern list_splat_pattern
    inside: dictionary_splat_pattern parenthesized_expression binary_operator union_type dotted_name relative_import
    inside: as_pattern_target
    """,
)

_WORD = rb"[A-Za-z_][A-Za-z0-9_]*"
_USUAL = pattern(
    rb"import (%(dotted)b)|from (\.*(?:%(dotted)b)?) import (?:(%(words)b)|\([ \t\r\n]*(%(words)b),?[ \t\r\n]*\))"
    % {b"dotted": rb"%b(?:\.%b)*" % (_WORD, _WORD), b"words": rb"%b(?:,[ \t\r\n]*%b)*" % (_WORD, _WORD)}
)
"""Most imports: without aliases, comments and rarer ways to write them, what they name can be read off the text."""


def _read_imports(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        line = line_of(node)
        usual = _USUAL.fullmatch(text, node.start_byte, node.end_byte)
        if usual is not None and usual.end() - usual.start() <= LONGEST and not node.has_error:
            module, source, plain, bracketed = usual.groups()
            if module:
                found.append(Import(module.decode(), (), line, "import"))
            else:
                each = (plain or bracketed).decode().split(",")
                found.append(Import(source.decode(), kept(name.strip() for name in each), line, "from"))
            continue
        if node.type == "import_statement":
            found += [Import(_name(name, text), (), line, "import") for name in node.children_by_field_name("name")]
            continue
        module = node.child_by_field_name("module_name")
        if module is None:
            continue
        names = [_name(name, text) for name in node.children_by_field_name("name")]
        if not names and any(child.type == "wildcard_import" for child in node.named_children):
            names = ["*"]
        found.append(Import(cut(module, text), kept(names), line, "from"))
    return [entry for entry in found if entry.spec]


def _name(node: Node, text: bytes) -> str:
    """The imported name, not the one it is given here."""
    if node.type == "aliased_import":
        original = node.child_by_field_name("name")
        return cut(original, text) if original is not None else ""
    return cut(node, text)


_IMPORTS = ImportRules(
    words=(b"import", b"cimport"),
    query="(import_statement) @import (import_from_statement) @import",
    read=_read_imports,
    line_comments=(b"#",),
)


_CUSTOMARY = ("", "src", "lib", "python")
_OPTIONS = (("pytest", "pythonpath"), ("tool:pytest", "pythonpath"), ("options.packages.find", "where"))


def _source_roots(tree: Tree) -> dict[str, str]:
    """Folders that are on the path, each with the folder of the project that puts it there; the tree's root is one."""
    roots: dict[str, str] = {}
    found: list[tuple[str, str]] = [(root, "") for root in _CUSTOMARY]
    for path in tree.configurations("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini"):
        project = folder_of(path)
        declared = list(_CUSTOMARY)
        if path.endswith("pyproject.toml"):
            declared += _pyproject(tree.toml(path)) if _says_roots(tree.text(path) or "") else []
        elif path.endswith((".cfg", ".ini")) and _says_roots(tree.text(path) or ""):
            ini = tree.ini(path)
            for section, option in _OPTIONS:
                declared += ini.get(section, option, fallback="").split()
            for line in ini.get("options", "package_dir", fallback="").splitlines():
                name, equals, folder = line.partition("=")
                if equals and not name.strip():
                    declared.append(folder.strip())
        found += [(root, project) for entry in declared if (root := joined(project, entry)) is not None]
    for root, project in found:
        if root in tree.folders and len(project) >= len(roots.get(root, "")):
            roots[root] = project
    return roots


_ROOT_KEYS = ("pythonpath", "where", "package_dir", "package-dir", "python-source")
_TOOLS = ("poetry", "hatch")


def _says_roots(text: str) -> bool:
    """Whether a configuration has a word of one that names folders: to parse it takes far longer."""
    text = text.lower()
    return any(key in text for key in _ROOT_KEYS) or ("packages" in text and any(tool in text for tool in _TOOLS))


def _pyproject(settings: dict[str, Any]) -> list[str]:
    tool = settings.get("tool")
    declared = strings(at(tool, "setuptools", "packages", "find", "where"))
    declared += strings(at(tool, "pytest", "ini_options", "pythonpath"))
    declared += strings(at(tool, "maturin", "python-source"))
    declared += strings(at(tool, "setuptools", "package-dir", ""))
    packages = at(tool, "poetry", "packages")
    if isinstance(packages, list):
        declared += [folder for entry in packages for folder in strings(at(entry, "from"))]
    declared += [folder_of(entry) for entry in strings(at(tool, "hatch", "build", "targets", "wheel", "packages"))]
    return declared


_RANKED = (".py", ".pyx", ".pyw", ".pyi", ".pxd")
"""Suffixes of modules; of several with one name the first counts."""

_CERTAIN, _OTHER_PROJECT, _ABOVE, _FAR = 1.0, 0.9, 0.7, 0.5
"""Confidence by where the root is: on the path of the file, another project's, any folder above, anywhere."""
_MOST_FAR = 4


class _Place(NamedTuple):
    """Where a module is: its path without suffix, the confidence, its file if it has one, and the result for itself."""

    path: str
    sure: float
    file: str | None
    package: bool
    itself: tuple[Target, ...]


_UNSEEN = _Place("", 0.0, None, False, ())


class PythonResolver:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._modules: dict[str, str] = {}
        """Path without suffix to file."""
        for path in tree.paths_of("python"):
            stem, dot, suffix = path.rpartition(".")
            if f".{suffix}" not in _RANKED or not dot:
                continue
            known = self._modules.get(stem)
            if known is None or _rank(path) < _rank(known):
                self._modules[stem] = path
        self._packages = {folder_of(stem) for stem in self._modules if stem.endswith(("/__init__",))}
        if "__init__" in self._modules:
            self._packages.add("")
        self._tops = self._top_level()
        self._roots = _source_roots(tree)
        self._places: dict[tuple[str, str], _Place | None] = {}
        self._answers: dict[tuple[str, tuple[str, ...], float], tuple[Target, ...]] = {}
        self._bound: dict[str, frozenset[str]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        spec = found.spec
        if spec[:1] != "." and spec.partition(".")[0] not in self._tops:
            return ()
        key = (path[: path.rfind("/")] if "/" in path else "", spec)
        place = self._places.get(key, _UNSEEN)
        if place is _UNSEEN:
            place = self._places[key] = self._place(*key)
        if place is None:
            return ()
        if found.kind != "from" or not place.package:
            return place.itself
        answer_key = (place.path, found.names, place.sure)
        answer = self._answers.get(answer_key)
        if answer is None:
            answer = self._answers[answer_key] = self._names(place, found.names)
        return answer

    def _place(self, folder: str, spec: str) -> _Place | None:
        """What a module's name means in a folder."""
        sure = _CERTAIN
        if spec.startswith("."):
            name = spec.lstrip(".")
            base: str | None = folder
            for _ in range(len(spec) - len(name) - 1):
                base = folder_of(base) if base else None
            if base is None:
                return None
            path = _under(base, name.replace(".", "/")) if name else base
        else:
            top = spec.partition(".")[0]
            absolute = self._search_roots(folder, spec.replace(".", "/"), top, self._tops[top])
            if absolute is None:
                return None
            path, sure = absolute
        file = self._file(path)
        if file is None and path and path not in self._spaces:
            return None
        package = file is None or path in self._packages
        return _Place(path, sure, file, package, (Target(file, sure),) if file is not None else ())

    def _names(self, place: _Place, names: tuple[str, ...]) -> tuple[Target, ...]:
        """Where each name that is imported from a package is defined."""
        file, sure = place.file, place.sure
        leads: dict[str, list[str]] = {}
        bound = self._bindings(file) if file is not None else frozenset()
        for name in names:
            module = self._file(_under(place.path, name)) if name != "*" and name not in bound else None
            if module is not None and module != file:
                leads.setdefault(module, []).append(name)
            elif file is not None:
                leads.setdefault(file, []).append(name)
        if len(leads) == 1:
            return (Target(next(iter(leads)), sure),)
        return tuple(Target(target, sure, tuple(taken)) for target, taken in leads.items())

    def _bindings(self, init: str) -> frozenset[str]:
        """Names that a package takes out of other modules, so that they are not its modules of that name."""
        bound = self._bound.get(init)
        if bound is None:
            imports = self._tree.imports[init]
            own = folder_of(init).replace("/", ".")
            bound = frozenset(
                name
                for entry in imports
                if entry.kind == "from" and entry.spec.strip(".") and not f".{own}".endswith(f".{entry.spec}")
                for name in entry.names
            )
            self._bound[init] = bound
        return bound

    def _file(self, place: str) -> str | None:
        if place in self._packages:
            return self._modules[_under(place, "__init__")]
        return self._modules.get(place)

    def _search_roots(self, folder: str, path: str, top: str, roots: list[str]) -> tuple[str, float] | None:
        own = folder
        while own in self._packages:
            own = folder_of(own) if own else "."
        standard = top in sys.stdlib_module_names
        namespace: tuple[str, float] | None = None
        ranked = [(self._near(root, folder, own), root) for root in roots]
        if len(ranked) > 1:
            ranked.sort()
        far = sum(1 for (rank, *_), _ in ranked if rank == _FAR_RANK)
        for (rank, *_), root in ranked:
            sure = _SURE[rank]
            if rank == _FAR_RANK:
                if far > _MOST_FAR or _under(root, top) not in self._packages:
                    continue
                sure /= far
            if standard and (sure < _CERTAIN or _under(root, top) in self._spaces):
                continue
            place = _under(root, path)
            if self._file(place) is not None:
                return place, sure
            if namespace is None and place in self._spaces and place not in self._packages:
                namespace = place, sure
        return namespace

    def _near(self, root: str, folder: str, own: str) -> tuple[int, int]:
        """How far a root is from a file: the folder it is run from, its package's root, its project's, others."""
        if root in (folder, own):
            return 0, 0
        if root in self._roots:
            project = self._roots[root]
            if not project or folder == project or folder.startswith(f"{project}/"):
                return 1, -len(project)
            return 2, -shared(f"{root}/_", f"{folder}/_")
        if not root or folder.startswith(f"{root}/"):
            return 3, -len(root)
        return _FAR_RANK, -shared(f"{root}/_", f"{folder}/_")

    def _top_level(self) -> dict[str, list[str]]:
        """Names that can begin an absolute import, with the folders they are in: those that are not packages."""
        inside: dict[str, list[str]] = {}
        for stem in self._modules:
            folder, _, name = stem.rpartition("/")
            inside.setdefault(folder, []).append(name)
        self._spaces: set[str] = set()
        for above in inside:
            while above and above not in self._spaces:
                self._spaces.add(above)
                above = folder_of(above)
        self._spaces -= self._packages
        for stem in (*self._packages, *self._spaces):
            folder, _, name = stem.rpartition("/")
            if name:
                inside.setdefault(folder, []).append(name)
        tops: dict[str, set[str]] = {}
        for folder, names in inside.items():
            for name in names if folder not in self._packages else ():
                tops.setdefault(name, set()).add(folder)
        return {name: sorted(roots) for name, roots in tops.items()}


_FAR_RANK = 4
_SURE = (_CERTAIN, _CERTAIN, _OTHER_PROJECT, _ABOVE, _FAR)


def _rank(path: str) -> int:
    return _RANKED.index(path[path.rfind(".") :])


def _under(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


LANGUAGES = (
    Language(
        name="python",
        extensions=("py", "pyi", "pyw", "pyx", "pxd"),
        filenames=("SConstruct", "SConscript", "wscript"),
        aliases=("py", "python3"),
        interpreters=("python", "python2", "python3", "pypy", "pypy3"),
        grammar=("tree_sitter_python", "language"),
        sigil="µ",
        definitions=_DEFINITIONS,
        imports=_IMPORTS,
        occurrences=_OCCURRENCES,
        ecosystem="python",
        resolver=PythonResolver,
    ),
)
