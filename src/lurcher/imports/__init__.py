"""Which file imports which: read out of syntax trees, resolved as each ecosystem resolves.

imports_of(root, text, language)         what one file says it imports
Graph.build(files, read)                 resolved over a whole tree
graph.importers(path, hops), .imports    who depends on a file, what it depends on
"""

from __future__ import annotations

from lurcher.imports.extract import imports_of
from lurcher.imports.graph import Graph
from lurcher.imports.types import Edge, Import, Link, Target

__all__ = ["Edge", "Graph", "Import", "Link", "Target", "imports_of"]
