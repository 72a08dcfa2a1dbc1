"""C and C++.

Definitions: functions and their prototypes, types with their fields, macros; `Foo::bar` outside its class belongs to Foo.

Imports: `#include "x.h"` and `#include <x.h>`, also as `#include_next` and `#import`.

Resolution: beside the file, then along include paths. Headers of compilers and systems in angle brackets are not the tree's,
even if it has one of that name.

The paths are those of `compile_commands.json` where there is one. Else they are inferred: any folder under which the written
path exists may be one, more likely if it is above the file or has a customary name.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lurcher.languages.base import (
    COMMENT,
    LONGEST,
    WRAP,
    Captures,
    DefinitionRules,
    Finder,
    Found,
    Import,
    ImportRules,
    Language,
    OccurrenceRules,
    Patterns,
    child,
    each,
    line_of,
    members,
    names,
)
from lurcher.languages.resolution import NEAREST, Target, Tree, folder_of, joined, shared

if TYPE_CHECKING:
    from tree_sitter import Node


_SPECIFIERS = {"class_specifier": "class", "struct_specifier": "struct", "union_specifier": "struct", "enum_specifier": "enum"}
_FILE_LEVEL = "[(translation_unit) (preproc_ifdef) (preproc_if) (preproc_else) (declaration_list)] @in"
_C_NAMES = frozenset({"identifier", "field_identifier"})
_CPP_NAMES = _C_NAMES | {"qualified_identifier", "operator_name", "destructor_name", "template_function"}


def _type(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """A type, by its body: its name alone is everywhere."""
    node = captures["body"][0].parent
    if node is not None and node.type in _SPECIFIERS:
        yield _SPECIFIERS[node.type], {"def": [node], "body": captures["body"]}


def _typedef(captures: Captures) -> Iterator[tuple[str, Captures]]:
    """The names of a typedef; a plain one may be the only name of the type that precedes it."""
    definition = captures["def"]
    specifier = definition[0].child_by_field_name("type")
    declarators = definition[0].children_by_field_name("declarator")
    if specifier is not None and specifier.type in _SPECIFIERS and specifier.child_by_field_name("name") is None:
        body = specifier.children_by_field_name("body")
        for declarator in declarators if body else ():
            if declarator.type == "type_identifier":
                yield _SPECIFIERS[specifier.type], {"def": definition, "name": [declarator], "body": body}
    for declarator in declarators:
        name = _typedef_name(declarator)
        if name is not None:
            yield "type", {"def": definition, "name": [name]}


def _typedef_name(declarator: Node) -> Node | None:
    """`name`, `*name`, `name[3]` or `(*name)(int)`."""
    name: Node | None = declarator
    if declarator.type == "function_declarator":
        name = declarator.child_by_field_name("declarator")
        name = child(name, "pointer_declarator") if name is not None and name.type == "parenthesized_declarator" else None
    if name is not None and name.type in ("pointer_declarator", "array_declarator"):
        name = name.child_by_field_name("declarator")
    return name if name is not None and name.type == "type_identifier" else None


def _function_name(declarator: Node, named: frozenset[str]) -> Node | None:
    """The name of a function that is declared to return a value, a pointer, a pointer to one, or a reference."""
    function: Node | None = declarator
    if declarator.type == "reference_declarator":
        function = child(declarator, "function_declarator")
    for _ in range(2):
        if function is not None and function.type == "pointer_declarator":
            function = function.child_by_field_name("declarator")
    if function is None or function.type != "function_declarator":
        return None
    name = function.child_by_field_name("declarator")
    return name if name is not None and name.type in named else None


def _functions(named: frozenset[str]) -> Finder:
    def find(node: Node) -> Iterator[tuple[str, Node]]:
        for declarator in node.children_by_field_name("declarator"):
            name = _function_name(declarator, named)
            if name is not None:
                yield "function", name

    return find


def _declared(named: frozenset[str]) -> Finder:
    """Finds functions and then variables; a variable's name is its declarator."""

    def find(node: Node) -> Iterator[tuple[str, Node]]:
        declarators = node.children_by_field_name("declarator")
        functions = [_function_name(declarator, named) for declarator in declarators]
        yield from (("function", name) for name in functions if name is not None)
        for declarator, function in zip(declarators, functions, strict=True):
            if function is None and _is_variable(declarator):
                yield "variable", declarator

    return find


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    for declarator in node.children_by_field_name("declarator"):
        name = _field_name(declarator)
        if name is not None:
            yield "field", name


def _field_name(declarator: Node) -> Node | None:
    """`name`, `*name`, `name[3]`, `&name` or `(*name)(int)`, in any depth that occurs."""
    name: Node | None = declarator
    for _ in range(6):
        if name is None or name.type == "field_identifier":
            return name
        if name.type == "function_declarator":
            name = name.child_by_field_name("declarator")
            if name is None or name.type != "parenthesized_declarator":
                return None
        elif name.type in ("pointer_declarator", "array_declarator"):
            name = name.child_by_field_name("declarator")
        elif name.type in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
            name = child(name, "field_identifier", "pointer_declarator", "array_declarator", "function_declarator")
        else:
            return None
    return None


def _member(node: Node) -> Iterator[tuple[str, Node]]:
    """The functions that a class declares, and its fields."""
    yield from _functions(_CPP_NAMES)(node)
    yield from _fields(node)


def _is_variable(declarator: Node) -> bool:
    if declarator.type == "pointer_declarator":
        return child(declarator, "identifier", "array_declarator") is not None
    return declarator.type in ("init_declarator", "identifier", "array_declarator")


def _definition(node: Node) -> Iterator[tuple[str, Node]]:
    """A class with a macro before its name, which reads like the type of what follows, or a function."""
    specifier = node.child_by_field_name("type")
    if specifier is not None and specifier.type in ("class_specifier", "struct_specifier"):
        yield from names("class", "declarator", "identifier")(node)
    yield from _functions(_CPP_NAMES)(node)


def _shared(definition: Finder, member: Finder, named: frozenset[str]) -> Patterns:
    """What both languages define; `named` are the types of nodes that name a function."""
    return (
        (_type, "[(field_declaration_list) (enumerator_list)] @body"),
        (each(definition), "(function_definition) @def"),
        (members({"declaration": _declared(named)}), _FILE_LEVEL),
        (each(member), "(field_declaration) @def"),
        ("enumerator", "(enumerator) @def"),
        (_typedef, "(type_definition) @def"),
        ("macro", "(preproc_function_def) @def"),
        ("constant", "(preproc_def value: (_)) @def"),
        (COMMENT, "(comment) @def"),
    )


_CPP_PATTERNS: Patterns = (
    ("module", "(namespace_definition) @def"),
    ("type", "[(alias_declaration) (concept_definition)] @def"),
    *_shared(_definition, _member, _CPP_NAMES),
    (members({"declaration": _functions(_CPP_NAMES)}), "[(field_declaration_list) (template_declaration)] @in"),
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

C_DEFINITIONS = DefinitionRules(
    patterns=_shared(_functions(_C_NAMES), _fields, _C_NAMES),
    leads=_LEADS,
    exported=_exported,
    contains_nothing=_TYPEDEF,
    refine=_refine,
)

_CPP_DEFINITIONS = DefinitionRules(
    patterns=_CPP_PATTERNS,
    leads=_LEADS | {"access_specifier"},
    exported=_exported,
    qualifiers="::",
    constructor_is_class=True,
    contains_nothing=_TYPEDEF,
    refine=_refine,
)


_DIRECTIVES = (b"#include_next", b"#import")


def read_includes(nodes: list[Node], text: bytes, root: Node) -> list[Import]:
    found: list[Import] = []
    for node in nodes:
        path = node.child_by_field_name("path")
        if node.type == "preproc_call":
            directive = node.child_by_field_name("directive")
            if directive is None or text[directive.start_byte : directive.end_byte].replace(b" ", b"") not in _DIRECTIVES:
                continue
            path = node.child_by_field_name("argument")
        if path is None or path.end_byte - path.start_byte > LONGEST:
            continue
        written = text[path.start_byte : path.end_byte].decode("utf-8", "replace").strip()
        if len(written) > 2 and written[0] + written[-1] in ('""', "<>"):
            kind = "quote" if written[0] == '"' else "angle"
            found.append(Import(written[1:-1].strip().replace("\\", "/"), (), line_of(node), kind))
    return found


_IMPORTS = ImportRules(
    words=(b"include", b"include_next", b"import"),
    query="(preproc_include) @import (preproc_call) @import",
    read=read_includes,
    line_comments=(b"//", b"*"),
)


_C_HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
_POSIX_HEADERS = (
    "aio alloca byteswap cpio dirent dlfcn endian err execinfo fcntl fmtmsg fnmatch ftw getopt glob grp iconv ifaddrs io "
    "langinfo libgen libintl malloc memory monetary mqueue ndbm netdb nl_types paths poll process pthread pty pwd regex "
    "sched search semaphore spawn strings stropts sysexits syslog tar termio termios ulimit unistd utime utmp utmpx values "
    "windows winsock winsock2 ws2tcpip wordexp direct share conio crtdbg intrin tchar shlobj shlwapi"
)
_SYSTEM_HEADERS = (
    "epoll event eventfd file filio inotify ioctl ipc mman mount msg param poll prctl ptrace random resource select sem "
    "sendfile shm socket sockio stat statfs statvfs syscall sysctl sysinfo sysmacros time times timeb types ucred uio un utime "
    "utsname wait xattr"
)
_NET_HEADERS = "arpa/inet net/if net/if_arp net/if_dl net/route netinet/in netinet/ip netinet/tcp netinet/udp netinet6/in6_var"
_CPP_HEADERS = (
    "algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits "
    "clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint "
    "cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem format forward_list "
    "fstream functional future generator initializer_list iomanip ios iosfwd iostream istream iterator latch limits list "
    "locale map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex "
    "scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace stdexcept "
    "stdfloat stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex "
    "typeinfo unordered_map unordered_set utility valarray variant vector version"
)

_STANDARD_HEADERS = frozenset(
    [f"{name}.h" for name in f"{_C_HEADERS} {_POSIX_HEADERS} {_NET_HEADERS}".split()]
    + [f"sys/{name}.h" for name in _SYSTEM_HEADERS.split()]
    + _CPP_HEADERS.split()
)


_CUSTOMARY = frozenset({"", "include", "includes", "inc", "src", "source", "sources", "lib", "headers", "public"})
_UNLIKELY = 0.7
"""Confidence in the only file that fits, where nothing says that its folder is an include path."""
_COMMANDS = ("compile_commands.json", "build/compile_commands.json")
_MOST_TIES = 4
_MOST_CANDIDATES = 300
"""With more headers of one name, distance is not used."""


class CResolver:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._declared = _declared_paths(tree)
        self._candidates: dict[str, list[str]] = {}
        self._answers: dict[tuple[str, str, str], tuple[Target, ...]] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        folder = folder_of(path)
        key = (folder, found.spec, found.kind)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(path, folder, found)
        return answer

    def _resolve(self, path: str, folder: str, found: Import) -> tuple[Target, ...]:
        spec = found.spec
        if found.kind == "quote":
            place = joined(folder, spec)
            if place is not None and place in self._tree:
                return (Target(place, 1.0),)
        for root in self._declared:
            place = joined(root, spec)
            if place is not None and place in self._tree:
                return (Target(place, 1.0),)
        if found.kind == "angle" and spec in _STANDARD_HEADERS:
            return ()
        return self._infer_include(path, folder, spec)

    def _infer_include(self, path: str, folder: str, spec: str) -> tuple[Target, ...]:
        while spec.startswith(("./", "../")):
            spec = spec.partition("/")[2]
        ranked = []
        for candidate in self._ending_in(spec):
            root = candidate[: -len(spec)].rstrip("/")
            above = not root or folder == root or folder.startswith(f"{root}/")
            likely = above or root.rpartition("/")[2] in _CUSTOMARY
            ranked.append(((not likely, not above, -shared(path, candidate), candidate.count("/")), candidate))
        if not ranked:
            return ()
        best = min(place for place, _ in ranked)
        ties = sorted(candidate for place, candidate in ranked if place == best)
        sure = 1.0 if not best[0] else _UNLIKELY
        if len(ranked) > 1:
            sure *= NEAREST
        return tuple(Target(tie, sure / len(ties)) for tie in ties[:_MOST_TIES])

    def _ending_in(self, spec: str) -> list[str]:
        found = self._candidates.get(spec)
        if found is None:
            ending = f"/{spec}"
            named = self._tree.by_name.get(spec[spec.rfind("/") + 1 :], ())
            found = self._candidates[spec] = [path for path in named if path == spec or path.endswith(ending)]
            if len(found) > _MOST_CANDIDATES:
                found.clear()
        return found


def _declared_paths(tree: Tree) -> list[str]:
    """Include paths of a compilation database, in order of appearance; its absolute paths are matched by the files it names."""
    for name in _COMMANDS:
        text = tree.text(name)
        try:
            entries = json.loads(text) if text is not None else None
        except (ValueError, RecursionError):
            entries = None
        if isinstance(entries, list):
            return list(dict.fromkeys(root for entry in entries if isinstance(entry, dict) for root in _roots(tree, entry)))
    return []


def _roots(tree: Tree, entry: dict[str, Any]) -> list[str]:
    file, directory = entry.get("file"), entry.get("directory")
    if not isinstance(file, str) or not isinstance(directory, str):
        return []
    file = file if file.startswith("/") else f"{directory}/{file}"
    inside = file.lstrip("/")
    while inside and inside not in tree:
        inside = inside.partition("/")[2]
    if not inside:
        return []
    root = file[: -len(inside)].rstrip("/")
    arguments = entry.get("arguments")
    if not isinstance(arguments, list):
        try:
            arguments = shlex.split(str(entry.get("command", "")))
        except ValueError:
            return []
    found = []
    words = [word for word in arguments if isinstance(word, str)]
    for at, word in enumerate(words):
        flag = next((flag for flag in ("-I", "-isystem", "-iquote") if word.startswith(flag)), None)
        if flag is None:
            continue
        folder = word[len(flag) :] or (words[at + 1] if at + 1 < len(words) else "")
        folder = folder if folder.startswith("/") else f"{directory}/{folder}"
        if folder == root or folder.startswith(f"{root}/"):
            place = joined("", folder[len(root) :].strip("/") or ".")
            if place is not None:
                found.append(place)
    return found


_COMMENT = re.compile(rb"(?s)/\*.*?(?:\*/|\Z)|//[^\n]*")
_CPP_HEADER = re.compile(
    rb"(?m)^[ \t]*(?:class[ \t]+\w+|(?:inline[ \t]+)?namespace\b|template[ \t]*<|using[ \t]+\w)"
    rb"|^[ \t]*#[ \t]*include[ \t]*<[a-z_]+>"
    rb"|\w::\w|\bconstexpr\b"
)
"""What only C++ says; its own headers have no extension."""


_OBJECTIVE_C_HEADER = re.compile(rb"(?m)^[ \t]*@(?:interface|protocol|class|import|end)\b")


def _decide(extension: str, head: bytes) -> str:
    """What a header is written in. Prose in a licence or a doc comment says "class" too; it must not decide."""
    if extension not in ("h", "H"):
        return "c"
    code = _COMMENT.sub(b"", head)
    if _OBJECTIVE_C_HEADER.search(code):
        return "objective-c"
    return "cpp" if _CPP_HEADER.search(code) else "c"


_OCCURRENCES = OccurrenceRules(
    names="identifier field_identifier namespace_identifier type_identifier=type",
    places="""
    definition: function_declarator.declarator init_declarator.declarator declaration.declarator
    definition: parameter_declaration.declarator optional_parameter_declaration.declarator field_declaration.declarator
    definition: enumerator.name class_specifier.name type_definition.declarator preproc_def.name preproc_function_def.name
    definition: preproc_params namespace_definition.name type_parameter_declaration alias_declaration.name
    definition: for_range_loop.declarator
    call: call_expression.function new_expression.type
    member: field_expression.field qualified_identifier.name
    write: assignment_expression.left update_expression.argument field_initializer
    inheritance: base_class_clause
    type: template_argument_list
    import: using_declaration
    label: field_designator
    value: subscript_expression.argument
    inside: pointer_declarator.declarator reference_declarator array_declarator.declarator template_type.name
    inside: template_function.name parenthesized_expression parenthesized_declarator
    """,
)


LANGUAGES = (
    Language(
        name="c",
        extensions=("c", "h"),
        decide=_decide,
        grammar=("tree_sitter_c", "language"),
        sigil="𐀀",
        definitions=C_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="c",
        resolver=CResolver,
    ),
    Language(
        name="cpp",
        extensions=("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl", "cu", "cuh", "ino"),
        aliases=("c++", "cplusplus"),
        grammar=("tree_sitter_cpp", "language"),
        sigil="𐀀",
        definitions=_CPP_DEFINITIONS,
        occurrences=_OCCURRENCES,
        imports=_IMPORTS,
        ecosystem="c",
        resolver=CResolver,
    ),
)
