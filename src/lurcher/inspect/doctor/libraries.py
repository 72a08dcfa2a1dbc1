"""The indexes of installed libraries: whether each can be read, and is of the version that is there."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.corpora.libraries import libraries_of
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor.finding import NOTE, OK, Finding, few


def examine(project: RootIndex) -> Iterator[Finding]:
    """Nothing where no library was ever indexed."""
    found, unusable = libraries_of(project)
    for note in unusable:
        yield Finding("libraries", NOTE, note.reason, note.hint)
    current = []
    for library in found:
        changed = library.changed()
        if changed is not None:
            yield Finding("libraries", NOTE, changed, library.repair_hint)
        else:
            current.append(f"{library.name} {library.library.version}".strip())
    if current:
        yield Finding("libraries", OK, f"{few(current, 10)} as installed")
