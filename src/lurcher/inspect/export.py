"""The definitions and references of an index in SCIP, and its definitions as tags of universal-ctags for editors."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lurcher.inspect import Basis
from lurcher.languages.occurrences import DEFINITION, IMPORT, LABEL, MEMBER, WRITE, Occurrence
from lurcher.runtime import VERSION
from lurcher.sources import scip
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.types import HEADING

if TYPE_CHECKING:
    from lurcher.inspect.references.answer import Finder
    from lurcher.inspect.references.program import SourceFile
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Definition

FORMATS = ("scip", "ctags")
_MAX_PATTERN = 96
"""Characters of a line that a tag has as its pattern; universal-ctags cuts there too."""
_ESCAPES = {code: f"\\x{code:02X}" for code in (*range(32), 127)} | {9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"}
_SCIP_KINDS = {
    "class": 7, "constant": 8, "constructor": 9, "enum": 11, "enumerator": 12, "field": 15, "function": 17, "instance": 20,
    "interface": 21, "macro": 25, "method": 26, "module": 29, "namespace": 30, "object": 33, "property": 41, "protocol": 42,
    "struct": 49, "trait": 53, "type": 54, "union": 59, "variable": 61, "record": 49,
}  # fmt: skip
"""Numbers of `SymbolInformation.Kind`; other kinds have none there."""
_SCIP_LANGUAGES = {
    "bash": "ShellScript", "cpp": "CPP", "csharp": "CSharp", "javascript": "JavaScript", "objective-c": "Objective_C",
    "ocaml": "OCaml", "ocaml-interface": "OCaml", "php": "PHP", "powershell": "PowerShell", "sql": "SQL",
    "tsx": "TypeScriptReact", "typescript": "TypeScript",
}  # fmt: skip
"""Names that are not ours with a capital letter."""


_ROLES = {IMPORT: scip.IMPORT, WRITE: scip.WRITE}
"""Roles of occurrences that are not read."""


@dataclass(frozen=True, slots=True)
class Export:
    """The bytes of an exported file, in pieces, and what is in it."""

    pieces: Sequence[bytes]
    files: int
    definitions: int
    basis: Basis


def export(finder: Finder, files: Sequence[int], format: str, root: Path, folder: str, basis: Basis) -> Export:
    """The definitions of files of one root, for SCIP with their references; `folder` is where the result will be."""
    if format == "scip":
        exporter = _ScipExporter(finder, root.name)
        documents = [document for file in files if (document := exporter.document(file)).occurrences]
        pieces = list(scip.encode_index(scip.Index("lurcher", VERSION, root.as_uri(), documents)))
        return Export(pieces, len(documents), sum(len(document.symbols) for document in documents), basis)
    tags = [_tags(finder.snapshot, file, root, folder) for file in files]
    lines = sorted({line for found in tags for line in found})  # readers search for a name by bisection over bytes
    return Export([*_header(), *lines], sum(map(bool, tags)), len(lines), basis)


class Named(NamedTuple):
    """A definition with the place of its name in the text."""

    definition: Definition
    start: int
    end: int
    scope: str
    """The kind of the definition around it; empty at the top level."""


def find_names(text: bytes, definitions: Sequence[Definition]) -> list[Named]:
    """Definitions with their names. One whose name is not in its text, as of a default export, is at its first byte."""
    kinds = {item.qualified: item.kind for item in definitions}
    found = []
    for item in definitions:
        start, end = _name_place(text, item)
        scope = kinds.get(item.container) or ("class" if item.container else "")
        found.append(Named(item, start, end, scope))
    return found


def _name_place(text: bytes, item: Definition) -> tuple[int, int]:
    """Where the name of a definition is: behind the words that its signature has before it, else where it first occurs."""
    words = item.signature.partition(item.name)[0].split() if item.name in item.signature else []
    name = re.escape(item.name.encode())
    before = rb"\s*".join(re.escape(word.encode()) for word in words)
    within = text[item.start_byte : item.end_byte]
    for pattern in (before + rb"\s*(?<!\w)(" + name + rb")(?!\w)", rb"(?<!\w)(" + name + rb")(?!\w)", rb"(" + name + rb")"):
        match = re.search(pattern, within)
        if match is not None:
            return item.start_byte + match.start(1), item.start_byte + match.end(1)
    return item.start_byte, item.start_byte


# -- tags -------------------------------------------------------------------------------------------------------------


def _header() -> list[bytes]:
    entries = (
        ("FILE_ENCODING", "utf-8", ""), ("FILE_FORMAT", "2", "extended format"),
        ("FILE_SORTED", "1", "0=unsorted, 1=sorted, 2=foldcase"), ("OUTPUT_FILESEP", "slash", "slash or backslash"),
        ("OUTPUT_MODE", "u-ctags", "u-ctags or e-ctags"), ("PROGRAM_NAME", "lurcher", ""), ("PROGRAM_VERSION", VERSION, ""),
    )  # fmt: skip
    return [f"!_TAG_{name}\t{value}\t/{comment}/\n".encode() for name, value, comment in entries]


def _tags(snapshot: Snapshot, file: int, root: Path, folder: str) -> list[bytes]:
    """A line for each definition of a file. Its path is relative to `folder`, where the tags will be."""
    path = os.path.relpath(root / snapshot.path(file), folder).replace(os.sep, "/")
    text, language = snapshot.file_text(file), snapshot.language(file)
    found = find_names(text, snapshot.definitions_of(file))
    return [_tag(named, path, language, text).encode("utf-8", "replace") for named in found]


def _tag(named: Named, path: str, language: str, text: bytes) -> str:
    item = named.definition
    start, end = text.rfind(b"\n", 0, named.start) + 1, text.find(b"\n", named.start)
    line = text[start : end if end >= 0 else len(text)].rstrip(b"\r").decode("utf-8", "replace")
    pattern = line[:_MAX_PATTERN].replace("\\", "\\\\").replace("/", "\\/")
    pattern = f"{pattern[:-1]}\\$" if pattern.endswith("$") else pattern
    whole = "$" if len(line) <= _MAX_PATTERN else ""
    line_number = item.start_line + text.count(b"\n", item.start_byte, named.start)
    fields = [f"kind:{item.kind}", f"line:{line_number}", f"language:{language}"]
    if item.container:
        fields.append(f"{named.scope}:{_escape(item.container)}")
    parameters = _parameters(item) if item.kind in FUNCTION_KINDS else ""
    if parameters:
        fields.append(f"signature:{_escape(parameters)}")
    fields.append(f"end:{item.end_line}")
    return "\t".join((_escape_name(item.name), _escape(path), f'/^{pattern}{whole}/;"', *fields)) + "\n"


def _parameters(item: Definition) -> str:
    """The parameters of a function, in their brackets; empty where its signature was cut before their end."""
    start = item.signature.find("(", item.signature.find(item.name) + len(item.name))
    depth = 0
    for place, letter in enumerate(item.signature[start:] if start >= 0 else "", start):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return item.signature[start : place + 1]
    return ""


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def _escape_name(name: str) -> str:
    """A name; a first letter that readers would take for something else is escaped too."""
    escaped = _escape(name)
    return f"\\x{ord(name[0]):02X}{escaped[1:]}" if name[:1] in ("!", " ") else escaped


# -- SCIP -------------------------------------------------------------------------------------------------------------


class _ScipExporter:
    """Makes the documents of an index: each definition at its name, and each use that is resolved."""

    def __init__(self, finder: Finder, package: str) -> None:
        self._finder, self._package = finder, package
        self._known: dict[int, dict[tuple[int, str], tuple[Named, str]]] = {}

    def _symbols(self, file: int) -> dict[tuple[int, str], tuple[Named, str]]:
        """The definitions of a file, each by the byte where it begins and its name, with its symbol."""
        found = self._known.get(file)
        if found is None:
            snapshot = self._finder.snapshot
            entries = _symbols(
                snapshot.file_text(file), snapshot.path(file), self._package, snapshot.definitions_of(file)
            )
            found = {(named.definition.start_byte, named.definition.name): (named, symbol) for named, symbol in entries}
            self._known[file] = found
        return found

    def document(self, file: int) -> scip.Document:
        source = self._finder.program.file(file)
        starts = [0, *(match.end() for match in re.finditer(b"\n", source.text))]

        def position(byte: int) -> tuple[int, int]:
            line = bisect_right(starts, byte) - 1
            return line, byte - starts[line]

        occurrences: dict[scip.Occurrence, None] = {}
        symbols: dict[str, scip.Symbol] = {}
        for named, symbol in self._symbols(file).values():
            item = named.definition
            whole = (*position(item.start_byte), *position(max(item.end_byte, named.end)))
            place = (*position(named.start), *position(named.end))
            occurrences[scip.Occurrence(place, symbol, scip.DEFINITION, whole)] = None
            symbols.setdefault(symbol, scip.Symbol(symbol, _SCIP_KINDS.get(item.kind, 0), item.name))
        defined = {occurrence.range for occurrence in occurrences}
        for start, end, kind in source.occurrences_between(0, len(source.text)):
            place = (*position(start), *position(end))
            symbol = "" if kind in (DEFINITION, LABEL) or place in defined else self._find_meant(source, (start, end, kind))
            if symbol:
                occurrences[scip.Occurrence(place, symbol, _ROLES.get(kind & ~MEMBER, scip.READ))] = None
        language = source.language
        called = _SCIP_LANGUAGES.get(language, language.capitalize())
        return scip.Document(source.path, called, sorted(occurrences), list(symbols.values()), encoding=scip.UTF8)

    def _find_meant(self, source: SourceFile, occurrence: Occurrence) -> str:
        """The symbol that an occurrence means; empty where that is not certain."""
        start, end, _ = occurrence
        found = self._finder.resolver.resolve(source, source.spelled(start, end), occurrence)
        if found is None or not found.certain:
            return ""
        own = found.symbols[0]
        entry = self._symbols(own.file.number).get((own.definition.start_byte, own.definition.name))
        return "" if entry is None else entry[1]


def _symbols(text: bytes, path: str, package: str, definitions: Sequence[Definition]) -> Iterator[tuple[Named, str]]:
    """Each definition with its symbol. Functions of the same name are numbered."""
    words = ("lurcher", "", package, "")
    suffixes = {item.qualified: _suffix(item.kind) for item in definitions if item.kind != HEADING}
    count: dict[str, int] = {}
    for named in find_names(text, definitions):
        item = named.definition
        if item.kind == HEADING or named.start == named.end:
            continue
        around = [(path, "/")]
        parts = item.container.split(".") if item.container else []
        for depth, part in enumerate(parts):
            around.append((part, suffixes.get(".".join(parts[: depth + 1]), "#")))
        suffix = _suffix(item.kind)
        symbol = scip.make_symbol(words, [*around, (item.name, suffix)])
        number = count[symbol] = count.get(symbol, -1) + 1
        if number and suffix == "().":
            symbol = scip.make_symbol(words, [*around, (item.name, f"(+{number}).")])
        yield named, symbol


def _suffix(kind: str) -> str:
    if kind == "macro":
        return "!"
    if kind in FUNCTION_KINDS:
        return "()."
    return "/" if kind in ("module", "namespace") else "#" if kind in TYPE_KINDS else "."
