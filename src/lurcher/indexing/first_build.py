"""The first index of a large tree, made in waves: what most likely answers comes first, each question goes on with the rest.

A wave is an ordinary generation that lacks files. How many it lacks stands among what was left out, and as long as it lacks
any, every look lists the tree: the files that have no row yet are new ones to it.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.plural import format_count
from lurcher.storage.manifest import WAITING
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from lurcher.indexing.freshness import Changes
    from lurcher.sources.files import Entry
    from lurcher.storage.manifest import Manifest

READ_SHARE = 0.8
"""The part of the time for a first answer in which files are taken up; the rest is for those at hand, and for the answer."""
_SMALL, _LARGE = 16_000, 64_000
"""Bytes: so the first wave has many files, from all over the tree."""


def by_priority(entries: Iterable[Entry], known: Collection[str]) -> list[Entry]:
    """Files that the index knows, then sources, then tests and documents, then what others wrote; small files before large."""
    from lurcher.sources.roles import DATA, EXAMPLE, LEGACY, SETUP, TEST, VENDORED, roles

    def rank(entry: Entry) -> tuple[bool, int, int, str]:
        found = roles(entry.path)
        group = 2 if found & (VENDORED | DATA) else 1 if found & (TEST | EXAMPLE | LEGACY | SETUP) else 0
        return entry.path not in known, group, (entry.size > _SMALL) + (entry.size > _LARGE), entry.path

    return sorted(entries, key=rank)


def find_waiting(manifest: Manifest, changes: Changes) -> list[Entry]:
    """The files that no wave has read yet."""
    return [entry for entry in changes.suspects if entry.path not in manifest.rows]


def partial_index_note(manifest: Manifest, waiting: Sequence[Entry] | None = None) -> Degraded:
    """How much of the tree an answer is from, and what to do about the rest; nobody may have looked which files wait."""
    rows = manifest.rows
    missing = manifest.skipped.get(WAITING, 0) if waiting is None else len(waiting)
    covered = f"{len(rows):,} of {format_count(len(rows) + missing, 'file')}"
    if waiting is not None:
        size = sum(row.size for row in rows.values())
        covered += f", {size / 1e6:,.1f} of {(size + sum(entry.size for entry in waiting)) / 1e6:,.1f} MB"
    hint = "ask again to go on with it, or run: lurcher index"
    return Degraded("index", f"the index is not complete yet: it has {covered}", hint)
