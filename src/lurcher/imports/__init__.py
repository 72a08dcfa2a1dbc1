"""Which file imports which: read out of syntax trees, resolved as each ecosystem resolves.

extract.imports_of(root, text, language)       what one file says it imports
graph.Graph.build(files, read)                 resolved over a whole tree
graph.importers(path, hops), graph.imports     who depends on a file, what it depends on
"""
