"""References that a SCIP index tells, for files whose text has not changed since (`indexing/scip_edges.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.indexing.scip_edges import REFERENCE, ScipEdges, open_edges
from lurcher.languages.occurrences import IMPORT, READ, WRITE
from lurcher.sources import scip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lurcher.indexing.scip_edges import Place
    from lurcher.indexing.workspace import Workspace
    from lurcher.inspect.references.program import Program, SourceFile, Symbol
    from lurcher.languages.occurrences import Occurrence
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Degraded

_CONSTRUCTOR = "`<constructor>`()."
"""How scip-typescript calls the constructor of a class: what refers to it refers to the class."""


class ExactReferences:
    """What SCIP indexes of the roots say about one snapshot."""

    def __init__(self, snapshot: Snapshot, edges: Sequence[tuple[str, ScipEdges]]) -> None:
        self._snapshot = snapshot
        self._edges = edges
        self._covered: dict[str, ScipEdges | None] = {}

    def covers(self, path: str) -> bool:
        return self._of(path) is not None

    def is_silent(self, path: str, byte: int) -> bool:
        """Whether nothing is known about what stands at a place of a covered file."""
        edges = self._of(path)
        return edges is None or not edges.symbols_at(self._within(path), byte)

    def definition_at(self, program: Program, path: str, byte: int) -> Symbol | None:
        """The definition that is meant at a place of a covered file."""
        edges = self._of(path)
        if edges is None:
            return None
        for place in edges.places(edges.symbols_at(self._within(path), byte)):
            file = self._file(program, path, place) if place.is_definition else None
            if file is not None:
                for symbol in program.file(file).symbols:
                    if symbol.file.name_place(symbol)[0] == place.start:
                        return symbol
        return None

    def uses(self, program: Program, wanted: Sequence[Symbol]) -> Iterator[tuple[SourceFile, Occurrence, Symbol, bool]]:
        """File, occurrence, the definition meant, and whether that is certain: an overridden method need not reach it."""
        for symbol in wanted:
            edges = self._of(symbol.file.path)
            if edges is None:
                continue
            numbers = self._symbols(edges, symbol)
            related = [other for other, flags in edges.related(numbers) if flags & REFERENCE]
            for numbers_of, certain in ((numbers, True), (related, False)):
                for place in edges.places(numbers_of):
                    file = self._file(program, symbol.file.path, place)
                    if file is not None and not place.is_definition:
                        source = program.file(file)
                        yield source, _occurrence(source, place), symbol, certain

    def _symbols(self, edges: ScipEdges, symbol: Symbol) -> list[int]:
        path, (start, _) = self._within(symbol.file.path), symbol.file.name_place(symbol)
        there = edges.symbols_at(path, start)
        # An embedded field of Go is a reference to its type and the definition of a field.
        here = (place for place in edges.places(there) if place.is_definition and (place.path, place.start) == (path, start))
        numbers = sorted({place.symbol for place in here}) or there
        names = {edges.symbol(number) + _CONSTRUCTOR for number in numbers}
        return numbers + [number for number in edges.symbols_named("<constructor>") if edges.symbol(number) in names]

    def _file(self, program: Program, seen_from: str, place: Place) -> int | None:
        """The file of a place, if it is covered still and may be shown."""
        path = self._prefix(seen_from) + place.path
        file = self._snapshot.live_paths[path] if self.covers(path) else None
        return file if file is not None and program.shows(file) else None

    def _of(self, path: str) -> ScipEdges | None:
        """The edges that cover a file."""
        if path not in self._covered:
            prefix = self._prefix(path)
            known = (edges for label, edges in self._edges if label == prefix)
            self._covered[path] = next((one for one in known if one.covers(self._snapshot, path[len(prefix) :], prefix)), None)
        return self._covered[path]

    def _prefix(self, path: str) -> str:
        return next((label for label, _ in self._edges if path.startswith(label)), "")

    def _within(self, path: str) -> str:
        return path[len(self._prefix(path)) :]


def _occurrence(source: SourceFile, place: Place) -> Occurrence:
    """The occurrence at a place, with its kind; of one that the syntax does not show, as in a string, by its role."""
    for occurrence in source.occurrences_between(place.start, place.end):
        if occurrence[0] == place.start:
            return occurrence
    return place.start, place.end, IMPORT if place.roles & scip.IMPORT else WRITE if place.roles & scip.WRITE else READ


def open_exact(workspace: Workspace, snapshot: Snapshot) -> tuple[ExactReferences | None, tuple[Degraded, ...]]:
    """What was loaded for the roots of a workspace; None where that is nothing. And notes about what cannot be read."""
    found, notes = [], []
    for project, label in zip(workspace.projects, workspace.labels(), strict=True):
        edges, note = open_edges(project)
        if note is not None:
            notes.append(note)
        if edges is not None:
            found.append((label, edges))
    return (ExactReferences(snapshot, found) if found else None), tuple(notes)
