"""What depends on a file: its importers, their importers, and so on, or those that use one of its names; also as a graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lurcher.errors import QueryError, Template
from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes
from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect import Basis, plain_fields
from lurcher.inspect.references.answer import Finder
from lurcher.languages.detect import ecosystem_of
from lurcher.languages.graph import Link
from lurcher.query import split_qualified_name
from lurcher.sources.roles import TEST
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound
from lurcher.types import Degraded

_ANY_HOP = 1_000
IMPORTED, MENTIONED = "imported", "mentioned"


@dataclass(frozen=True, slots=True)
class Dependent:
    """A file that depends on another over one or more imports."""

    path: str
    hop: int
    via: str
    """The file one hop nearer to the given one."""
    names: tuple[str, ...]
    """The imported names; empty if it imports the whole module."""
    line: int
    confidence: float
    language: str
    test: bool
    use: str | None = None
    """How it uses the given symbol: imported by name, or mentioned."""

    def to_dict(self) -> dict[str, Any]:
        return {**plain_fields(self), "confidence": round(self.confidence, 4)}


@dataclass(frozen=True, slots=True)
class Hop:
    """One hop's totals; `shown` of them are listed."""

    hop: int
    total: int
    tests: int
    shown: int

    def to_dict(self) -> dict[str, Any]:
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    """What depends on a file: nearest first, then most certain, then by path."""

    path: str
    language: str
    symbol: str | None
    hops: int
    dependents: tuple[Dependent, ...]
    by_hop: tuple[Hop, ...]
    basis: Basis

    @property
    def total(self) -> int:
        return sum(hop.total for hop in self.by_hop)

    @property
    def tests(self) -> int:
        return sum(hop.tests for hop in self.by_hop)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "language": self.language,
            "symbol": self.symbol,
            "hops": self.hops,
            "dependents": [entry.to_dict() for entry in self.dependents],
            "total": self.total,
            "tests": self.tests,
            "by_hop": [hop.to_dict() for hop in self.by_hop],
            **self.basis.to_dict(),
        }


def impact(
    snapshot: Snapshot, file: int, symbol: str | None, hops: int, most: int, index: Basis
) -> ImpactAnswer:
    """The dependents of a file, at most `most` for each hop; the totals count all."""
    prefix = snapshot.prefix(file)
    name = None if symbol is None else _last_part(symbol)
    users, keep = None, None
    if name is not None and symbol is not None:
        users = _users(snapshot, file, prefix, symbol, name)
        keep = _mention(snapshot, prefix, name) if users is None else users.__contains__
    graph, bare = import_graph_around(snapshot, file), snapshot.bare_path(file)
    links = graph.importers(bare, hops, keep)
    if users:
        imported = {link.path for link in graph.importers(bare, _ANY_HOP, keep)}
        links = _with_users(links, bare, {path: line for path, line in users.items() if path not in imported})
    tests = {link.path: _is_test(snapshot, prefix + link.path) for link in links}
    shown: list[Dependent] = []
    by_hop: list[Hop] = []
    for hop in range(1, max((link.hop for link in links), default=0) + 1):
        here = [link for link in links if link.hop == hop]
        by_hop.append(Hop(hop, len(here), sum(tests[link.path] for link in here), min(len(here), most)))
        shown += [_dependent(snapshot, prefix, link, tests[link.path], name) for link in here[:most]]
    notes = index.degraded + grammar_failure_notes(snapshot) + missing_grammar_notes(snapshot) + _notes(snapshot, file, name)
    return ImpactAnswer(
        snapshot.path(file), snapshot.language(file), symbol, hops, tuple(shown), tuple(by_hop), Basis(index.index, notes)
    )


def _last_part(symbol: str) -> str:
    parts = split_qualified_name(symbol)
    if not parts:
        raise QueryError(f"'{symbol}' is no name", Template("for example: {symbol=Client.retry}"))
    return parts[-1]


def _users(snapshot: Snapshot, file: int, prefix: str, symbol: str, name: str) -> dict[str, int] | None:
    """The files that use, or may use, a definition of a file, with the line of a use that is certain, or 0; None if it
    has no such definition."""
    finder = Finder(snapshot)
    own = [entry for entry in finder.definitions(symbol) if entry.file.number == file]
    if not own:
        return None
    found: dict[str, int] = {}
    for use in finder.uses(name, own):
        path = use.file.path.removeprefix(prefix)
        if use.file.path.startswith(prefix) and not found.get(path):
            found[path] = use.file.line(use.occurrence[0]) if use.certain else 0
    return found


def _with_users(links: tuple[Link, ...], path: str, users: dict[str, int]) -> tuple[Link, ...]:
    """The links, and those to the files that use a definition without an import, as in one package."""
    more = [Link(user, 1, path, (), line, 1.0) for user, line in users.items() if line and user != path]
    return tuple(sorted((*links, *more), key=lambda link: (link.hop, -link.confidence, link.path))) if more else links


def _mention(snapshot: Snapshot, prefix: str, name: str) -> Callable[[str], bool]:
    """A test whether a file contains a name outside of comments, for one that the given file does not define."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    units, _ = snapshot.postings("body", compound(name))
    places: dict[int, list[int]] = {}
    for unit, file in zip(units.tolist(), snapshot.unit_file[units].tolist(), strict=True):
        places.setdefault(file, []).append(unit)

    def uses(path: str) -> bool:
        here: Sequence[int] = places.get(snapshot.live_paths[prefix + path], ())
        return any(pattern.search(snapshot.unit_text(unit)) for unit in here)

    return uses


def _is_test(snapshot: Snapshot, path: str) -> bool:
    return bool(int(snapshot.file_roles[snapshot.live_paths[path]]) & TEST)


def _dependent(snapshot: Snapshot, prefix: str, link: Link, test: bool, name: str | None) -> Dependent:
    path = prefix + link.path
    return Dependent(
        path, link.hop, prefix + link.via, link.names, link.line, link.confidence,
        snapshot.language(snapshot.live_paths[path]), test,
        None if name is None else IMPORTED if name in link.names else MENTIONED,
    )  # fmt: skip


def _notes(snapshot: Snapshot, file: int, name: str | None) -> tuple[Degraded, ...]:
    notes = []
    language = snapshot.language(file)
    if not ecosystem_of(language):
        notes.append(Degraded("graph", f"imports in {language} files are not read", ""))
    if name is not None:
        import difflib

        defined = dict.fromkeys(definition.name for definition in snapshot.definitions_of(file))
        if name not in defined:
            near = difflib.get_close_matches(name, defined, 3)
            hint = f"it defines {', '.join(near)}" if near else ""
            notes.append(Degraded("symbol", f"{snapshot.path(file)} does not define {name}", hint))
    return tuple(notes)


MOST_NODES = 400
"""Files of a graph: one with more is unreadable."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A file of the graph. Hops count imports: negative for what the given file imports, positive for its dependents."""

    path: str
    hop: int
    language: str
    test: bool
    fan_in: int
    """The number of files that import it."""

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


@dataclass(frozen=True, slots=True)
class Arrow:
    """One file imports another."""

    source: str
    target: str
    names: tuple[str, ...]
    line: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source, "target": self.target, "names": list(self.names), "line": self.line,
            "confidence": round(self.confidence, 4),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """A file among the files it imports and those that depend on it."""

    path: str
    hops: int
    nodes: tuple[Neighbour, ...]
    edges: tuple[Arrow, ...]
    total: int
    """All files within the hops, including those left out of the graph."""
    basis: Basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path, "hops": self.hops, "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges], "total": self.total, **self.basis.to_dict(),
        }  # fmt: skip


def neighbourhood(snapshot: Snapshot, file: int, hops: int, most: int, basis: Basis) -> GraphAnswer:
    """The graph around a file: at most `most` files, the nearest and most certain first, from both directions in turn."""
    prefix, bare = snapshot.prefix(file), snapshot.bare_path(file)
    graph = import_graph_around(snapshot, file)
    ahead, behind = graph.imports(bare, hops), graph.importers(bare, hops)
    places: dict[str, int] = {bare: 0}
    arrows: dict[tuple[str, str], Link] = {}
    for links, sign in _in_turns(ahead, behind):
        if links.path not in places and len(places) < most:
            places[links.path] = sign * links.hop
        if links.path in places and links.via in places:
            ends = (links.via, links.path) if sign < 0 else (links.path, links.via)
            arrows.setdefault(ends, links)
    nodes = [_node(snapshot, prefix, path, hop, graph.fan_in(path)) for path, hop in places.items()]
    nodes.sort(key=lambda node: (node.hop, node.path))
    edges = [
        Arrow(prefix + source, prefix + target, link.names, link.line, link.confidence)
        for (source, target), link in sorted(arrows.items(), key=lambda item: item[0])
    ]
    total = len({bare, *(link.path for link in ahead), *(link.path for link in behind)})
    return GraphAnswer(prefix + bare, hops, tuple(nodes), tuple(edges), total, basis)


def _in_turns(ahead: tuple[Link, ...], behind: tuple[Link, ...]) -> list[tuple[Link, int]]:
    """Links of both directions alternating, so that neither fills the graph alone; each in the order of hops."""
    found: list[tuple[Link, int]] = []
    for number in range(max(len(ahead), len(behind))):
        found += [(links[number], sign) for links, sign in ((ahead, -1), (behind, 1)) if number < len(links)]
    return found


def _node(snapshot: Snapshot, prefix: str, path: str, hop: int, fan_in: int) -> Neighbour:
    number = snapshot.live_paths[prefix + path]
    test = bool(int(snapshot.file_roles[number]) & TEST)
    return Neighbour(prefix + path, hop, snapshot.language(number), test, fan_in)
