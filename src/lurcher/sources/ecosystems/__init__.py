"""Where installed libraries lie: one file per ecosystem, each with `find(name, version, root) -> Library | None`.

Nothing of a library is imported or run. What its own metadata says is checked like anything else that others wrote.
"""
