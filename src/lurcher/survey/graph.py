"""The import graph of a root, made of what the index keeps, once per generation."""

from __future__ import annotations

import gc

from lurcher.imports.graph import Graph
from lurcher.index.reader import Snapshot


def graph_of(snapshot: Snapshot, prefix: str) -> Graph:
    """The graph of the files under one root's prefix; paths in it are without the prefix."""
    known: Graph | None = snapshot.graphs.get(prefix)
    if known is None:
        # Half of the time would go into looking for garbage among hundreds of thousands of new tuples.
        collecting = gc.isenabled()
        gc.disable()
        try:
            known = snapshot.graphs[prefix] = _made(snapshot, prefix)
        finally:
            if collecting:
                gc.enable()
    return known


def _made(snapshot: Snapshot, prefix: str) -> Graph:
    imports = snapshot.imports(prefix)
    files = {path: file for path, file in snapshot.live_paths.items() if path.startswith(prefix)}
    skipped = len(prefix)

    def read(path: str) -> str | None:
        file = files.get(prefix + path)
        return None if file is None else snapshot.file_text(file).decode("utf-8", "replace")

    rows = [(path[skipped:], snapshot.language(file), imports.get(file, ())) for path, file in files.items()]
    return Graph.build(rows, read)
