"""The import graph of a root, made from the index once per generation, and the tree that its resolvers see.

There is one per ecosystem, since imports do not cross ecosystems: a query about a file resolves only the imports that matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property

from lurcher.languages.detect import ecosystem_of
from lurcher.languages.resolution import Tree
from lurcher.runtime.process import GC_PAUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lurcher.languages.graph import Graph
    from lurcher.languages.parsed_file import Import
    from lurcher.storage.snapshot import Snapshot


def import_graph_around(snapshot: Snapshot, file: int) -> Graph:
    """The graph that a file belongs to; its paths are without the prefix of the root."""
    key = snapshot.prefix(file), ecosystem_of(snapshot.language(file))
    known: Graph | None = snapshot.graphs.get(key)
    if known is None:
        # Collecting garbage among hundreds of thousands of new tuples would take half of the time.
        with GC_PAUSED:
            known = snapshot.graphs[key] = _build_graph(snapshot, *key)
    return known


def _build_graph(snapshot: Snapshot, prefix: str, ecosystem: str) -> Graph:
    from lurcher.languages.graph import Graph

    files = {path: file for path, file in snapshot.live_paths.items() if path.startswith(prefix)}
    languages = dict(zip(files.values(), map(snapshot.language, files.values()), strict=True))
    inside = {language for language in set(languages.values()) if ecosystem and ecosystem_of(language) == ecosystem}
    imports = snapshot.imports({file for file, language in languages.items() if language in inside})
    skipped = len(prefix)

    def read(path: str) -> str | None:
        file = files.get(prefix + path)
        return None if file is None else snapshot.file_text(file).decode("utf-8", "replace")

    rows = [(path[skipped:], languages[file], imports.get(file, ())) for path, file in files.items()]
    return Graph.build(rows, read)


class IndexedTree(Tree):
    """One root of a snapshot as resolvers see it, without a table of all its files, folders and imports.

    For a few questions that would take longer than the answers: folders are found by bisecting the sorted paths, the files of
    a name by the ends of the paths, and imports are read for the files that a resolver asks for.
    """

    def __init__(self, snapshot: Snapshot, prefix: str, needs_imports: frozenset[str] = frozenset()) -> None:
        """`needs_imports`: languages of whose files the resolver reads all imports, which are then read at once."""
        self._snapshot, self._prefix = snapshot, prefix
        live = snapshot.live_paths
        self._numbers: Mapping[str, int] = (
            {path[len(prefix) :]: file for path, file in live.items() if path.startswith(prefix)} if prefix else live
        )
        self.paths: list[str] = sorted(self._numbers)
        wanted = {self._numbers[path] for path in self.paths_of(*needs_imports)} if needs_imports else set()
        self.imports = _Imports(snapshot, self._numbers, snapshot.imports(wanted) if wanted else {}, wanted)
        self._read = self._read_text

    def _read_text(self, path: str) -> str | None:
        file = self._numbers.get(path)
        return None if file is None else self._snapshot.file_text(file).decode("utf-8", "replace")

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(path[path.rfind("/") + 1 :], []).append(path)
        return found

    @cached_property
    def folders(self) -> Mapping[str, Sequence[str]]:
        return _Folders(self.paths)

    def folders_called(self, name: str) -> list[str]:
        marked, inside = f"/{name}/", f"{name}/"
        found: set[str] = set()
        for path in self.paths:
            if inside in path:
                at = f"/{path}".find(marked)
                while at >= 0:
                    found.add(path[: at + len(name)])
                    at = f"/{path}".find(marked, at + 1)
        return sorted(found)

    def files_called(self, *names: str) -> list[str]:
        found = []
        for name in names:
            end = f"{name}\0"
            at = self._joined.find(end)
            while at >= 0:
                if self._joined[at - 1] in "/\0":
                    found.append(self._joined[self._joined.rfind("\0", 0, at) + 1 : at + len(name)])
                at = self._joined.find(end, at + 1)
        return found

    @cached_property
    def _joined(self) -> str:
        """All paths, to find those with an ending in: one by one takes far longer."""
        return "\0" + "\0".join(self.paths) + "\0"

    def paths_of(self, *languages: str) -> list[str]:
        skipped, numbers = len(self._prefix), self._numbers
        files = self._snapshot.files_of_languages(languages)
        paths = ((self._snapshot.path(file)[skipped:], file) for file in files)
        return sorted(path for path, file in paths if numbers.get(path) == file)


class _Imports(Mapping[str, "tuple[Import, ...]"]):
    """The imports of each path, read when a resolver asks for them."""

    def __init__(
        self, snapshot: Snapshot, numbers: Mapping[str, int], known: dict[int, tuple[Import, ...]], read: set[int]
    ) -> None:
        self._snapshot, self._numbers, self._known, self._done = snapshot, numbers, known, read

    def __getitem__(self, path: str) -> tuple[Import, ...]:
        number = self._numbers[path]
        if number not in self._done:
            self._done.add(number)
            self._known.update(self._snapshot.imports({number}))
        return self._known.get(number, ())

    def __contains__(self, path: object) -> bool:
        return path in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class _Folders(Mapping[str, "Sequence[str]"]):
    """The names of the files in each folder, out of the sorted paths."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    def __contains__(self, folder: object) -> bool:
        if not folder or not isinstance(folder, str):
            return folder == ""
        at = bisect_left(self._paths, f"{folder}/")
        return at < len(self._paths) and self._paths[at].startswith(f"{folder}/")

    def __getitem__(self, folder: str) -> Sequence[str]:
        if folder not in self:
            raise KeyError(folder)
        inside = f"{folder}/" if folder else ""
        names, size, paths = [], len(inside), self._paths
        at = bisect_left(paths, inside)
        while at < len(paths) and paths[at].startswith(inside):
            below = paths[at].find("/", size)
            if below < 0:
                names.append(paths[at][size:])
                at += 1
            else:  # past all that is in the folder below
                at = bisect_left(paths, f"{paths[at][:below]}0", at)
        return names

    def __iter__(self) -> Iterator[str]:
        found = {""}
        for path in self._paths:
            folder = path.rpartition("/")[0]
            while folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return iter(sorted(found))

    def __len__(self) -> int:
        return sum(1 for _ in self)
