"""The import graph of a tree: which file imports which, in both directions, over several hops.

An import of a package means all its files. Such targets are kept once, as a group that importers point to: a namespace of
hundreds of files that hundreds import is hundreds of entries, not their product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from lurcher.languages.base import PACKAGE, Resolver
from lurcher.languages.detect import ecosystem_of, load_language
from lurcher.languages.resolution import File, Read, Target, Tree

_Group = tuple[tuple[int, float], ...]
"""Files by number, each with its confidence."""
_Out = tuple[int, int, tuple[str, ...]]
"""Group, line, names."""
_NOWHERE = (0.0, 0)


class Edge(NamedTuple):
    """One file imports another."""

    source: str
    target: str
    names: tuple[str, ...]
    line: int
    confidence: float


class Link(NamedTuple):
    """A file reached from another over one or more imports."""

    path: str
    hop: int
    via: str
    """The file one hop nearer to where the walk began."""
    names: tuple[str, ...]
    """What the importing one of `path` and `via` takes from the other."""
    line: int
    """Where it does, in the importing file."""
    confidence: float
    """Product of the confidences on the way."""


class Graph:
    """Files by number, groups of files that imports lead to, and each file's imports. Immutable once made."""

    def __init__(self, paths: Sequence[str], groups: Sequence[_Group], outs: Sequence[Sequence[_Out]]) -> None:
        self.paths = tuple(paths)
        self._numbers = {path: number for number, path in enumerate(self.paths)}
        self._groups = groups
        self._outs = outs

    @cached_property
    def _members(self) -> list[list[tuple[int, float]]]:
        """For each file, the groups that it is in, with its confidence."""
        members: list[list[tuple[int, float]]] = [[] for _ in self.paths]
        for number, group in enumerate(self._groups):
            for member, confidence in group:
                members[member].append((number, confidence))
        return members

    @cached_property
    def _ins(self) -> list[list[int]]:
        """For each group, the files that import it, in order and once each."""
        ins: list[list[int]] = [[] for _ in self._groups]
        for source, out in enumerate(self._outs):
            for group in dict.fromkeys(entry[0] for entry in out):
                ins[group].append(source)
        return ins

    @classmethod
    def build(cls, files: Iterable[File], read: Read) -> Graph:
        """Resolve the imports of all files (path, language, imports); `read` gives the text of configuration files."""
        tree = Tree(sorted(files), read)
        by_language = resolvers(tree)
        paths = [path for path, _, _ in tree.files]
        numbers = {path: number for number, path in enumerate(paths)}
        groups: list[_Group] = []
        known: dict[_Group, int] = {}
        places: dict[int, tuple[tuple[Target, ...], list[tuple[int, tuple[str, ...] | None]]]] = {}
        """Answers already seen, by identity: resolvers give the same object for the same question."""
        outs: list[list[_Out]] = []
        for path, language, imports in tree.files:
            out: list[_Out] = []
            outs.append(out)
            resolver = by_language.get(language)
            if resolver is None:
                continue
            resolve = resolver.resolve
            for found in imports:
                if found.kind == PACKAGE:
                    continue
                targets = resolve(path, found)
                if not targets:
                    continue
                seen = places.get(id(targets))
                if seen is None:
                    seen = places[id(targets)] = (targets, _group_targets(targets, numbers, groups, known))
                for group, names in seen[1]:
                    out.append((group, found.line, found.names if names is None else names))
        return cls(paths, groups, outs)

    def __len__(self) -> int:
        return len(self.paths)

    def edges(self) -> Iterator[Edge]:
        """Every file-to-file edge once, by source and target."""
        for source, path in enumerate(self.paths):
            merged = self._merge_imports(source)
            for target in sorted(merged):
                confidence, line, names = merged[target]
                yield Edge(path, self.paths[target], names, line, confidence)

    def imports(self, path: str, hops: int = 1) -> tuple[Link, ...]:
        """What `path` imports, what that imports, and so on: nearest first, then most certain, then by path."""
        return self._walk(path, hops, forward=True)

    def importers(self, path: str, hops: int = 1, keep: Callable[[str], bool] | None = None) -> tuple[Link, ...]:
        """What imports `path`, what imports that, and so on, in the same order; only what `keep` keeps, and by way of that."""
        return self._walk(path, hops, forward=False, keep=keep)

    def fan_in(self, path: str) -> int:
        """How many imports lead to `path`."""
        number = self._numbers.get(path)
        return 0 if number is None else sum(len(self._ins[group]) for group, _ in self._members[number])

    def _walk(self, path: str, hops: int, forward: bool, keep: Callable[[str], bool] | None = None) -> tuple[Link, ...]:
        start = self._numbers.get(path)
        if start is None:
            return ()
        seen = {start}
        passed: set[int] = set()
        """Groups already gone through: all beyond them has been seen."""
        reached = {start: 1.0}
        links: list[Link] = []
        for hop in range(1, hops + 1):
            best: dict[int, tuple[float, int]] = {}
            """File reached in this hop to its confidence and, with the sign changed, the file it was reached from."""
            for group, (certainty, near) in self._next(reached, passed, forward).items():
                passed.add(group)
                for far, share in self._groups[group] if forward else ((source, 1.0) for source in self._ins[group]):
                    if far not in seen and (certainty * share, near) > best.get(far, _NOWHERE):
                        best[far] = (certainty * share, near)
            if keep is not None:
                seen.update(best)
                best = {far: value for far, value in best.items() if keep(self.paths[far])}
            if not best:
                break
            found = []
            for far, (confidence, sign) in best.items():
                near = -sign
                line, names = self._read_import(near, far) if forward else self._read_import(far, near)
                found.append(Link(self.paths[far], hop, self.paths[near], names, line, confidence))
            links += sorted(found, key=lambda link: (-link.confidence, link.path))
            seen.update(best)
            reached = {far: confidence for far, (confidence, _) in best.items()}
        return tuple(links)

    def _next(self, reached: dict[int, float], passed: set[int], forward: bool) -> dict[int, tuple[float, int]]:
        """Groups one step from the files reached, each with the best confidence and whence; big groups are entered once."""
        groups: dict[int, tuple[float, int]] = {}
        for near in sorted(reached):
            certainty = reached[near]
            for group, share in ((entry[0], 1.0) for entry in self._outs[near]) if forward else self._members[near]:
                if group not in passed and (certainty * share, -near) > groups.get(group, _NOWHERE):
                    groups[group] = (certainty * share, -near)
        return groups

    def _read_import(self, source: int, target: int) -> tuple[int, tuple[str, ...]]:
        """First line and all names of the imports by which one file leads to another."""
        leading = {group for group, _ in self._members[target]}
        entries = [(line, names) for group, line, names in self._outs[source] if group in leading]
        return min(line for line, _ in entries), tuple(dict.fromkeys(name for _, names in entries for name in names))

    def _merge_imports(self, source: int) -> dict[int, tuple[float, int, tuple[str, ...]]]:
        """Target to confidence, first line and all names over the imports of one file; a file does not import itself."""
        merged: dict[int, tuple[float, int, tuple[str, ...]]] = {}
        for group, line, names in self._outs[source]:
            for target, confidence in self._groups[group]:
                known = merged.get(target)
                if target == source:
                    continue
                if known is None:
                    merged[target] = (confidence, line, names)
                else:
                    together = tuple(dict.fromkeys((*known[2], *names)))
                    merged[target] = (max(confidence, known[0]), min(line, known[1]), together)
        return merged


def _group_targets(
    targets: tuple[Target, ...], numbers: dict[str, int], groups: list[_Group], known: dict[_Group, int]
) -> list[tuple[int, tuple[str, ...] | None]]:
    """Numbers of the groups that make up an answer: one, or one per target where names lead to different files."""
    parts: list[tuple[_Group, tuple[str, ...] | None]]
    if len(targets) == 1:
        path, confidence, taken = targets[0]
        parts = [(((numbers[path], confidence),), taken)] if path in numbers else []
    elif any(target.names is not None for target in targets):
        parts = [(((numbers[target.path], target.confidence),), target.names) for target in targets if target.path in numbers]
    else:
        parts = [(tuple((numbers[target.path], target.confidence) for target in targets if target.path in numbers), None)]
    found = []
    for members, names in parts:
        if members:
            number = known.get(members)
            if number is None:
                number = known[members] = len(groups)
                groups.append(members)
            found.append((number, names))
    return found


def resolvers(tree: Tree) -> dict[str, Resolver]:
    """A resolver per language of the tree; languages of one ecosystem share theirs."""
    made: dict[str, Resolver] = {}
    found: dict[str, Resolver] = {}
    for name in sorted({language for _, language, imports in tree.files if imports}):
        ecosystem = ecosystem_of(name)
        if not ecosystem:
            continue
        if ecosystem not in made:
            resolver = load_language(name).resolver
            assert resolver is not None
            made[ecosystem] = resolver(tree)
        found[name] = made[ecosystem]
    return found
