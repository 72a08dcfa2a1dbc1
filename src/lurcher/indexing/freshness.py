"""What changed in a tree since the manifest was written, from names and time stamps alone.

A time stamp is trusted if any later change must give another one. The clock of a file system ticks, and two changes within one
tick get the same stamp; so a file that changed shortly before it was read is read again, once. The change time decides,
because no program can set it; the modification time counts too, for file systems without real change times.
"""

from __future__ import annotations

import os

from lurcher.runtime.kernel import native
from lurcher.runtime.process import open_file
from lurcher.runtime.stdlib import Protocol
from lurcher.sources import Entry, Listing, Marks, TreeSignature, mark
from lurcher.storage.manifest import ROW_BYTES, STAMP_OFFSET, FileRow, FileRows, Manifest
from lurcher.types import Degraded, IndexState, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any, TypeVar

    from lurcher.sources.decode import Skip, Text

    Found = TypeVar("Found")


FINE_NS, COARSE_NS, LONG_NS = 50_000_000, 2_100_000_000, 10_000_000_000
"""Ticks of file systems with fine stamps and with whole seconds, and a time in which all clocks have ticked."""
MAX_READ_TO_COUNT = 1000
"""Changed files that are read to count how many really differ."""
_KIND, _REGULAR = 0o170000, 0o100000


def racy(mtime_ns: int, ctime_ns: int, checked_ns: int) -> bool:
    """Whether a file was touched so shortly before it was read that it may have changed since without a new time stamp.

    A stamp in whole seconds comes from a file system without finer ones. A modification time in the future was set by a
    program; a change would set it to the present.
    """
    return ctime_ns >= checked_ns - _tick(ctime_ns) or abs(mtime_ns - checked_ns) <= _tick(mtime_ns)


def _tick(stamp_ns: int) -> int:
    return FINE_NS if stamp_ns % 1_000_000_000 else COARSE_NS


def settle_signature(new: TreeSignature | None, old: TreeSignature | None, checked_ns: int) -> TreeSignature | None:
    """The new signature, marked as settled if its time stamps can be trusted.

    A young stamp is trusted if an earlier signature, made long enough before, had the same: all clocks have ticked since.
    """
    if new is None or new.settled:
        return new
    young = any(racy(mtime, ctime, checked_ns) for _, mtime, ctime, _ in new.marks())
    new = new.replace(folders=Marks.of(new.folders))  # the form that checks use
    if young and old is not None and old.same_marks(new):
        return new.replace(started_ns=old.started_ns, settled=new.started_ns - old.started_ns > LONG_NS)
    return new.replace(settled=not young)


UNCHECKED = Degraded("freshness", "the tree was not compared with the index", "")


class Changes(Record):
    __slots__ = ("suspects", "gone")

    def __init__(self, suspects: tuple[Entry, ...], gone: tuple[str, ...]) -> None:
        self.suspects = suspects
        """Files that are new or have other stamps; their content decides."""
        self.gone = gone

    def __len__(self) -> int:
        return len(self.suspects) + len(self.gone)


def check_tree(manifest: Manifest, root: str, circumstances: str, max_file_bytes: int) -> Changes | None:
    """What changed, by checking only the files in the manifest; None where only a listing can tell.

    Every folder on the way to a file is known from the signature to be a real folder, so nothing outside of the root is
    touched, whatever the manifest says.
    """
    return _with_open_root(root, lambda opened: _check_tree(manifest, root, opened, circumstances, max_file_bytes))


def _check_tree(manifest: Manifest, root: str, opened: int, circumstances: str, max_file_bytes: int) -> Changes | None:
    if not _listing_is_current(manifest, root, opened, circumstances):
        return None
    unlike = _find_unlike(manifest, opened)
    return None if unlike is None else _suspects(manifest, opened, unlike, max_file_bytes)


class BackgroundCheck:
    """The same check in the background, by a thread of the kernel."""

    __slots__ = ("_check", "_manifest", "_max_file_bytes", "_root")

    def __init__(self, manifest: Manifest, root: str, max_file_bytes: int, check: object) -> None:
        self._manifest, self._root, self._max_file_bytes, self._check = manifest, root, max_file_bytes, check

    @staticmethod
    def start(manifest: Manifest, root: str, circumstances: str, max_file_bytes: int) -> BackgroundCheck | None:
        """Start a check; None where only a listing can tell, or there is no kernel."""
        rows, kernel = manifest.rows, native() if os.name == "posix" else None
        signature = manifest.signature
        if kernel is None or not isinstance(rows, FileRows) or signature is None:
            return None

        def begun(opened: int) -> BackgroundCheck | None:
            if not signature.settled or not signature.holds(root, opened, circumstances, folders=False):
                return None
            folders = Marks.of(signature.folders)
            check = kernel.begin_check(*_check_arguments(manifest, rows, opened), folders.names, folders.packed)
            return None if check is None else BackgroundCheck(manifest, root, max_file_bytes, check)

        return _with_open_root(root, begun)

    def finish(self) -> Changes | None:
        """Wait for the check and return the changes; None where it cannot tell."""
        kernel, rows = native(), self._manifest.rows
        if kernel is None or not isinstance(rows, FileRows):
            return None
        found = kernel.end_check(self._check)
        if not found:
            return None if found is None else Changes((), ())
        unlike = map(rows.item_at, found)
        return _with_open_root(self._root, lambda opened: _suspects(self._manifest, opened, unlike, self._max_file_bytes))


def _with_open_root(root: str, check: Callable[[int], Found | None]) -> Found | None:
    """Call a function with an open descriptor of the root; None where that fails."""
    try:
        opened = open_file(root, follow=True)
    except OSError:
        return None
    try:
        return check(opened)
    except (OSError, ValueError):
        return None
    finally:
        os.close(opened)


def _listing_is_current(manifest: Manifest, root: str, opened: int, circumstances: str) -> bool:
    """Whether a listing would find the same files, each in a real folder."""
    signature = manifest.signature
    if signature is None or not signature.settled or os.stat not in os.supports_dir_fd:
        return False
    known = signature.folders
    if not signature.holds(root, opened, circumstances) or "" not in known:
        return False
    return all(folder.rpartition("/")[0] in known for folder in known)


def _suspects(
    manifest: Manifest, opened: int, unlike: Iterable[tuple[str, FileRow]], max_file_bytes: int
) -> Changes | None:
    # Paths relative to an open folder are shorter to look up, and this runs once per file and query.
    stat, checked, settled = os.stat, manifest.checked_ns, manifest.settled
    old = checked - COARSE_NS
    suspects = []
    for path, (_, size, mtime, ctime, inode, _, _) in unlike:
        status = stat(path, dir_fd=opened, follow_symlinks=False)
        seen = mark(status)
        if (
            seen == (size, mtime, ctime, inode)
            and ((ctime < old and mtime < old) or not racy(mtime, ctime, checked) or path in settled)
        ):
            continue
        if status.st_mode & _KIND != _REGULAR or status.st_size > max_file_bytes:
            return None
        suspects.append(Entry(path, *seen))
    return Changes(tuple(suspects), ())


def _find_unlike(manifest: Manifest, opened: int) -> Iterable[tuple[str, FileRow]] | None:
    """Files that may have changed: with the kernel those with other stamps or young ones, else all.

    None where a file is in none of the known folders.
    """
    rows, folders = manifest.rows, manifest.signature.folders if manifest.signature is not None else {}
    kernel = native() if os.name == "posix" else None
    if kernel is not None and isinstance(rows, FileRows):
        known = folders.all if isinstance(folders, Marks) else folders
        found = kernel.unlike_rows(*_check_arguments(manifest, rows, opened), known)
        return None if found is None else map(rows.item_at, found)
    if not {path.rpartition("/")[0] for path in rows} <= folders.keys():
        return None
    if kernel is None or not isinstance(rows, dict):
        return rows.items()
    return [(path, rows[path]) for path in kernel.unlike(rows, 1, opened, manifest.checked_ns - COARSE_NS, False)]


def _check_arguments(manifest: Manifest, rows: FileRows, opened: int) -> tuple[object, ...]:
    return rows.paths, rows.packed, ROW_BYTES, STAMP_OFFSET, opened, manifest.checked_ns - COARSE_NS


def compare_listing(manifest: Manifest, listing: Listing) -> Changes:
    rows, checked, settled = manifest.rows, manifest.checked_ns, manifest.settled
    old = checked - COARSE_NS
    suspects = []
    known = 0
    for entry in listing.entries:
        row = rows.get(entry.path)
        if row is None:
            suspects.append(entry)
            continue
        known += 1
        if row[1:5] != entry[1:5] or (
            (row.ctime_ns >= old or row.mtime_ns >= old)
            and racy(row.mtime_ns, row.ctime_ns, checked)
            and entry.path not in settled
        ):
            suspects.append(entry)
    gone: tuple[str, ...] = ()
    if known != len(rows):
        present = {entry.path for entry in listing.entries}
        gone = tuple(path for path in rows if path not in present)
    return Changes(tuple(suspects), gone)


def is_stamp_trusted(row: FileRow, entry: Entry, old_checked_ns: int, checked_ns: int) -> bool | None:
    """Whether to trust the stamp of a file that was read again and has the same content.

    None: it is young, but the file had the same stamp so long ago that all clocks have ticked since.
    """
    if not racy(entry.mtime_ns, entry.ctime_ns, checked_ns):
        return True
    return None if row[1:5] == entry[1:5] and checked_ns - old_checked_ns > LONG_NS else False


def count_differing(manifest: Manifest, changes: Changes) -> int:
    """How many files are new, gone, or have other stamps than before."""
    rows = manifest.rows
    return len(changes.gone) + sum(
        (row := rows.get(entry.path)) is None or row[1:5] != entry[1:5] for entry in changes.suspects
    )


def count_stale(manifest: Manifest, changes: Changes, read: Callable[[str], Text | Skip]) -> int:
    """How many files differ from what the index has.

    Content decides. Only where more than a thousand files have other stamps than before, these are counted without reading.
    """
    from lurcher.sources.decode import Text

    read_all = count_differing(manifest, changes) <= MAX_READ_TO_COUNT
    count = len(changes.gone)
    for entry in changes.suspects:
        row = manifest.rows.get(entry.path)
        if not read_all and (row is None or row[1:5] != entry[1:5]):
            count += 1
            continue
        outcome = read(entry.path)
        if row is None:
            count += isinstance(outcome, Text)
        else:
            count += (bytes.fromhex(outcome.digest) if outcome.digest else bytes(16)) != row.digest
    return count


class ChangeMonitor(Protocol):
    """Knows whether a tree has changed since it was last checked."""

    def is_unchanged(self) -> bool: ...

    def start_check(self) -> None:
        """A check of the tree begins."""

    def finish_check(self, manifest: Manifest, circumstances: str) -> None:
        """The check is over, and the tree is as `manifest` says."""

    def close(self) -> None: ...


class TreeState(Record):
    """What a check of all roots found: what answers depend on, for caches of whole answers."""

    __slots__ = ("index", "notes", "segments", "past", "files")

    def __init__(
        self, index: IndexState, notes: tuple[tuple[Degraded, ...], ...], segments: tuple[tuple[str, ...], ...], past: Hashable,
        files: int,
    ) -> None:  # fmt: skip
        self.index = index
        self.notes = notes
        """The notes of each root."""
        self.segments = segments
        self.past = past
        """A different value whenever answers about history may differ."""
        self.files = files

    @property
    def tree(self) -> Hashable:
        """A different value whenever answers about the tree may differ."""
        return (self.index.generation, self.index.stale_paths, self.segments, self.notes)

    def complete(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        """An answer that was given without checking the tree, as it would be with this check.

        None if it is of another generation: the index was updated in between.
        """
        index = answer.get("index")
        if isinstance(index, dict) and index.get("shared"):
            return answer  # from a shared store, about which this check says nothing
        if not isinstance(index, dict) or index["generation"] != self.index.generation:
            return None
        found = {**answer, "index": {**index, "fresh": self.index.fresh, "stale_paths": self.index.stale_paths}}
        if "degraded" in answer:
            notes = iter(self.notes)
            completed: list[dict[str, str]] = []
            for entry in answer["degraded"]:
                completed += [note.to_dict() for note in next(notes, ())] if entry == UNCHECKED.to_dict() else [entry]
            found["degraded"] = completed
        return found

    def to_dict(self) -> dict[str, Any]:
        return {**self.index.to_dict(), "files": self.files}
