"""What tests of freshness do with a repository, and what they compare its index with."""

from __future__ import annotations

import time
from pathlib import Path

from lurcher.engine import Engine
from lurcher.indexing import View, freshness
from lurcher.indexing.root_index import RootIndex
from lurcher.sources.decode import read_text
from lurcher.storage.manifest import Manifest
from tests.indexing.conftest import opened


def age() -> None:
    time.sleep(1.2 * freshness.FINE_NS / 1e9)


def project_of(engine: Engine) -> RootIndex:
    return engine.projects[0]


def view(project: RootIndex, **options: bool) -> View:
    return project.view(lambda *_: None, **options)


def settled(folder: Path) -> Engine:
    """An engine whose index knows the tree well enough for a glance."""
    age()
    engine = opened(folder)
    engine.refresh()
    age()
    engine.refresh()
    return engine


def truth(project: RootIndex) -> dict[str, bytes]:
    """What an index of the tree has to know: every file that a listing shows, by its content."""
    found = {}
    for entry in project.list_files().entries:
        outcome = read_text(project.root.path / entry.path, project.settings.index.max_file_bytes)
        found[entry.path] = bytes.fromhex(outcome.digest) if outcome.digest else bytes(16)
    return found


def known(manifest: Manifest) -> dict[str, bytes]:
    return {path: row.digest for path, row in manifest.rows.items()}
