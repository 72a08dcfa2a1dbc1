"""The import graph of a root, made from the index once per generation.

There is one per ecosystem, since imports do not cross ecosystems: a query about a file resolves only the imports that matter.
"""

from __future__ import annotations

from lurcher.languages.detect import ecosystem_of
from lurcher.languages.graph import Graph
from lurcher.runtime.process import GC_PAUSED
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
