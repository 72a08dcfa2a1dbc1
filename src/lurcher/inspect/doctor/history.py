"""The history index: every byte of it, and whether its tables and postings lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.corpora.history.index import HistoryIndex
from lurcher.errors import LurcherError, OutdatedIndex
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, command
from lurcher.inspect.doctor.segments import check_bytes, check_content
from lurcher.runtime.terminal import format_count
from lurcher.storage.manifest import NAME
from lurcher.storage.vectors import KIND, sidecar_files


def examine(project: RootIndex, *, quick: bool) -> Iterator[Finding]:
    index = HistoryIndex.for_root(project)
    if not (index.store.folder / NAME).exists():
        return
    mend = command("lurcher index --history --rebuild", project.root.path)
    try:
        found = index.read_from_disk()
        if found is None:
            return
        manifest, history = found
        for name, segment in zip(manifest.segments, history.segments, strict=True):
            for table in segment.schema.tables:
                segment.table(table)
            if not quick:
                check_bytes(segment.container, index.store.folder / name)
                check_content(segment.container, segment.schema)
        for name in sorted(sidecar_files(manifest.vectors)):
            kept = index.store.open_file(name, KIND)
            if not quick:
                kept.verify()
        if manifest.outcomes.name:
            index.store.open_file(manifest.outcomes.name, "outcomes").verify()
    except OutdatedIndex as outdated:
        yield Finding("history", NOTE, f"{outdated.message}: the next question makes it anew", mend)
        return
    except (LurcherError, OSError) as error:
        yield Finding("history", PROBLEM, error.message if isinstance(error, LurcherError) else str(error), mend)
        return
    held = f"{history.commit_count:,} of {format_count(manifest.total, 'commit')}"
    yield Finding("history", OK, f"{held} in {format_count(len(history.segments), 'segment')}")
