"""Installed packages as a source: one file per ecosystem, each with `find(name, version, root) -> Library | None`."""
