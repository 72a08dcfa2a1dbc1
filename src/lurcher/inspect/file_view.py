"""One file as the index has it: its text, and what it imports and is imported by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect.answers import Basis
from lurcher.languages.graph import Link
from lurcher.sources.roles import TEST
from lurcher.storage.snapshot import Snapshot

MOST_NODES = 400
"""A picture of more files than this shows nothing."""


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """A file's text as it was indexed: decoded, and only of files that are in the index."""

    path: str
    language: str
    lines: int
    text: str
    standing: Basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path, "language": self.language, "lines": self.lines, "text": self.text, **self.standing.to_dict(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A file of the picture. Hops count imports: below 0 for what the file asked about imports, above 0 for dependents."""

    path: str
    hop: int
    language: str
    test: bool
    fan_in: int
    """How many imports lead to it."""

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
    """Files within reach, those that are not drawn included."""
    standing: Basis

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path, "hops": self.hops, "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges], "total": self.total, **self.standing.to_dict(),
        }  # fmt: skip


def whole(snapshot: Snapshot, file: int, standing: Basis) -> FileAnswer:
    text = snapshot.file_text(file).decode("utf-8", "replace")
    return FileAnswer(snapshot.path(file), snapshot.language(file), snapshot.lines_of(file), text, standing)


def neighbourhood(snapshot: Snapshot, file: int, hops: int, most: int, standing: Basis) -> GraphAnswer:
    """At most so many files, the nearest and most certain first; of both directions alike."""
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
    return GraphAnswer(prefix + bare, hops, tuple(nodes), tuple(edges), total, standing)


def _in_turns(ahead: tuple[Link, ...], behind: tuple[Link, ...]) -> list[tuple[Link, int]]:
    """One of each direction after the other, so that neither takes all the room; hops in order within a direction."""
    found: list[tuple[Link, int]] = []
    for number in range(max(len(ahead), len(behind))):
        found += [(links[number], sign) for links, sign in ((ahead, -1), (behind, 1)) if number < len(links)]
    return found


def _node(snapshot: Snapshot, prefix: str, path: str, hop: int, fan_in: int) -> Neighbour:
    number = snapshot.live_paths[prefix + path]
    test = bool(int(snapshot.file_roles[number]) & TEST)
    return Neighbour(prefix + path, hop, snapshot.language(number), test, fan_in)
