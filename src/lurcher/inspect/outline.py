"""The symbols of a file, nested, or of a folder, the outermost of each file; also the text of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.answer.hits import find_headers
from lurcher.errors import FilterError, QueryError
from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes
from lurcher.inspect import Basis, plain_fields
from lurcher.runtime.process import format_count
from lurcher.storage.segment import KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Definition

if TYPE_CHECKING:
    from lurcher.inspect.references.names import FileNames

_DEEPEST = 50
"""A symbol inside of more containers than this is shown at the top level."""


@dataclass(frozen=True, slots=True)
class OutlineSymbol:
    """A definition with those inside of it."""

    name: str
    qualified: str
    kind: str
    signature: str
    start_line: int
    end_line: int
    exported: bool
    children: tuple[OutlineSymbol, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**plain_fields(self), "children": [child.to_dict() for child in self.children]}

    def __len__(self) -> int:
        return 1 + sum(map(len, self.children))


@dataclass(frozen=True, slots=True)
class OutlineFile:
    path: str
    language: str
    lines: int
    symbols: tuple[OutlineSymbol, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**plain_fields(self), "symbols": [symbol.to_dict() for symbol in self.symbols]}


@dataclass(frozen=True, slots=True)
class OutlineAnswer:
    """The symbols of a file, or of each file of a folder that has some, by path."""

    path: str
    kinds: tuple[str, ...]
    files: tuple[OutlineFile, ...]
    basis: Basis

    @property
    def total(self) -> int:
        return sum(len(symbol) for file in self.files for symbol in file.symbols)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "kinds": list(self.kinds),
            "files": [file.to_dict() for file in self.files],
            "total": self.total,
            **self.basis.to_dict(),
        }


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    for kind in kinds:
        if kind not in KINDS:
            import difflib

            near = difflib.get_close_matches(kind, KINDS, 3) or KINDS[1:12]
            raise FilterError(f"unknown kind '{kind}'", f"known are: {', '.join(near)}, …")
    return tuple(dict.fromkeys(kinds))


def outline(
    snapshot: Snapshot, path: str, files: Sequence[int], whole: bool, kinds: tuple[str, ...], index: Basis
) -> OutlineAnswer:
    """All symbols of one file (`whole`), nested; the outermost of several; with `kinds` those of any depth, in a flat list."""
    found = []
    for file in files:
        definitions = snapshot.definitions_of(file)
        if kinds:
            symbols = tuple(_symbol(item) for item in definitions if item.kind in kinds)
        elif whole:
            symbols = nested(definitions)
        else:
            symbols = tuple(_symbol(item) for item in definitions if not item.container)
        if symbols or whole:
            found.append(OutlineFile(snapshot.path(file), snapshot.language(file), snapshot.lines_of(file), symbols))
    notes = index.degraded + grammar_failure_notes(snapshot, files) + missing_grammar_notes(snapshot, files)
    return OutlineAnswer(path, kinds, tuple(found), Basis(index.index, notes))


def nested(definitions: Sequence[Definition]) -> tuple[OutlineSymbol, ...]:
    """Definitions nested by the names of their containers, since a method need not be inside of its type in the text."""
    holders: dict[str, list[int]] = {}
    for number, item in enumerate(definitions):
        holders.setdefault(item.qualified, []).append(number)
    inside: dict[int, list[int]] = {}
    tops = []
    for number, item in enumerate(definitions):
        known = holders.get(item.container, ()) if item.container and item.container.count(".") < _DEEPEST else ()
        above = _holder(definitions, known, item)
        if above is None:
            tops.append(number)
        else:
            inside.setdefault(above, []).append(number)

    def made(number: int) -> OutlineSymbol:
        return _symbol(definitions[number], tuple(made(child) for child in inside.get(number, ())))

    return tuple(made(number) for number in tops)


def _holder(definitions: Sequence[Definition], holders: Sequence[int], item: Definition) -> int | None:
    """The last of the containers around the item, else the first of them."""
    around = [i for i in holders if definitions[i].start_byte <= item.start_byte and item.end_byte <= definitions[i].end_byte]
    return around[-1] if around else holders[0] if holders else None


def _symbol(item: Definition, children: tuple[OutlineSymbol, ...] = ()) -> OutlineSymbol:
    return OutlineSymbol(
        item.name, item.qualified, item.kind, item.signature, item.start_line, item.end_line, item.exported, children
    )


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The text of a file of the index, or some of its lines, decoded as it was indexed; `lines` is how many the file has."""

    path: str
    language: str
    lines: int
    text: str
    basis: Basis
    start_line: int = 1
    headers: tuple[tuple[int, str], ...] = ()
    """Line and signature of the definitions that begin above the text and reach into it."""
    names: FileNames | None = None
    """Where names stand in the file, if that was asked for."""

    def to_dict(self) -> dict[str, Any]:
        named = {} if self.names is None else {"names": self.names.to_dict()}
        return {
            "path": self.path, "language": self.language, "lines": self.lines, "text": self.text, **named,
            **self.basis.to_dict(),
        }  # fmt: skip


def read_lines(
    snapshot: Snapshot, file: int, first: int | None, last: int | None, basis: Basis, *, names: bool = False
) -> FileAnswer:
    """The lines from `first` to `last`, the file's own where they are not given; more than there are is no error."""
    path, total = snapshot.path(file), snapshot.lines_of(file)
    start = 1 if first is None else first
    if start < 1 or (start > total and start > 1) or (last is not None and last < start):
        raise QueryError(f"there are no lines {start}-{last or total} in {path}", f"it has {format_count(total, 'line')}")
    rows = snapshot.file_text(file).split(b"\n")
    shown = b"\n".join(rows[start - 1 : last])
    begin = sum(len(row) + 1 for row in rows[: start - 1]) + len(shown) - len(shown.lstrip())
    headers = find_headers(snapshot, file, begin, start) if start > 1 else ()
    found = None
    if names:
        from lurcher.inspect.references.names import find_names

        found = find_names(snapshot, file)
    return FileAnswer(path, snapshot.language(file), total, shown.decode("utf-8", "replace"), basis, start, headers, found)
