"""What changed in a tree since the manifest was written, from names and time stamps alone."""

from __future__ import annotations

from dataclasses import dataclass

from lurcher.index.manifest import Manifest
from lurcher.sources.files import Entry, Listing

FINE_NS, COARSE_NS = 50_000_000, 2_100_000_000


def racy(mtime_ns: int, checked_ns: int) -> bool:
    """Whether a file was touched so shortly before it was read that it may have changed since without a new time stamp.

    A time stamp in whole seconds comes from a file system that keeps no finer ones.
    """
    return mtime_ns >= checked_ns - (FINE_NS if mtime_ns % 1_000_000_000 else COARSE_NS)


@dataclass(frozen=True, slots=True)
class Changes:
    suspects: tuple[Entry, ...]
    """Files that are new or look different; their content decides."""
    gone: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.suspects) + len(self.gone)


def compare(manifest: Manifest, listing: Listing) -> Changes:
    rows = manifest.rows
    checked = manifest.checked_ns
    newest = checked - COARSE_NS
    suspects = []
    known = 0
    for entry in listing.entries:
        row = rows.get(entry.path)
        if row is None:
            suspects.append(entry)
            continue
        known += 1
        if (
            row.mtime_ns != entry.mtime_ns
            or row.size != entry.size
            or row.ctime_ns != entry.ctime_ns
            or row.inode != entry.inode
            or (row.mtime_ns >= newest and racy(row.mtime_ns, checked))
        ):
            suspects.append(entry)
    gone: tuple[str, ...] = ()
    if known != len(rows):
        present = {entry.path for entry in listing.entries}
        gone = tuple(path for path in rows if path not in present)
    return Changes(tuple(suspects), gone)
