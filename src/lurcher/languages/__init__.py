"""What lurcher knows of each language: one file per language or family, and the modules that all of them share.

A language file (`python`, `ecmascript`, `c` …) ends in `LANGUAGES`: file names, grammar, definitions, imports, resolution.
`base` says what such a file fills in, `detect` finds the language of a file, `grammar` loads and runs its grammar,
`definitions` and `imports` read syntax trees, `resolution` and `graph` find out which file an import leads to.
"""
