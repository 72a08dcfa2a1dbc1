"""The documents of one source, kept as files with an index of their own.

They lie in the user's cache, or in the folder that the user chose for indexes, never inside of a repository: what came with a
repository could lead our writing elsewhere. The stamp is written last, so that who is interrupted begins again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from lurcher import config
from lurcher.errors import IndexError_, IndexLocked
from lurcher.gathered.source import Documents, Request, Stamp, checked_name
from lurcher.index import disk
from lurcher.index.lock import Lock
from lurcher.index.project import Project, root_digest
from lurcher.registry import source_named
from lurcher.sources.roots import Root
from lurcher.types import Degraded, Progress

_STAMP, _LOCK, _FILES, _INDEX = "stamp", "gathering", "files", "index"


class GatheredProject(Project):
    """Made for a source by its name; `gather` brings its files up to date."""

    def __init__(self, owner: Project, name: str) -> None:
        self.folder = _folder(owner, name)
        files = self.folder / _FILES
        _make(files)
        super().__init__(Root(files, False, ""), owner.settings, self.folder / _INDEX, owner.model)
        self.name = name
        self._request = Request(owner.root.path, owner.settings)
        stamp, documents = source_named(name)
        self._stamp: Stamp = stamp
        self._documents: Documents = documents

    def gather(self, progress: Progress) -> tuple[Degraded, ...]:
        """Fetch the documents if they have changed. Where that fails, those that are there will do, and the answer says so."""
        try:
            stamp = blake2b(f"1\0{self._stamp(self._request)}".encode("utf-8", "replace"), digest_size=16).hexdigest()
            if stamp == self._kept_stamp():
                return ()
            documents = self._fetched(progress)
            lock = Lock.take(self.folder / _LOCK, self.settings.index.lock_seconds)
            try:
                disk.remove(self.folder / _STAMP)  # until all are written, no stamp is true of them
                self._replace(documents)
                disk.write_atomically(self.folder / _STAMP, [stamp.encode()])
            finally:
                lock.release()
            return ()
        except IndexLocked:
            reason = f"{self.name} is being gathered by another process"
        except Exception as error:  # whatever a package does wrong must not cost the answer
            reason = f"the source {self.name} failed: {type(error).__name__}: {error}"
        if not self._kept_stamp():
            raise IndexError_(reason, "see to the package that brings it")
        return (Degraded(self.name, f"{reason}; these are its documents as they were", ""),)

    def _kept_stamp(self) -> str:
        try:
            return (self.folder / _STAMP).read_text("ascii")
        except (OSError, ValueError):
            return ""

    def _fetched(self, progress: Progress) -> dict[str, bytes]:
        """All documents by name, before any file is touched: a source may fail at its last one."""
        found: dict[str, bytes] = {}
        for document in self._documents(self._request):
            name = checked_name(document.name)
            if name in found:
                raise ValueError(f"two documents are named {name!r}")
            found[name] = document.text.encode("utf-8", "replace")
            progress("gathering", len(found), 0)
        return found

    def _replace(self, documents: Mapping[str, bytes]) -> None:
        """Files that are as the documents are: only what differs is written."""
        for name, data in documents.items():
            path = self.root.path / name
            if not path.is_file() or path.read_bytes() != data:
                disk.make_folder(path.parent)
                disk.write_atomically(path, [data])
        for folder, _, files in os.walk(self.root.path, topdown=False):
            for file in files:
                path = Path(folder, file)
                if path.relative_to(self.root.path).as_posix() not in documents:
                    disk.remove(path)
            with contextlib.suppress(OSError):
                if Path(folder) != self.root.path:
                    Path(folder).rmdir()  # only where nothing is left in it


def _folder(owner: Project, name: str) -> Path:
    own = owner.store.folder
    if own.is_relative_to(owner.root.path):
        return config.cache_folder() / "sources" / f"{owner.root.path.name}-{root_digest(owner.root)}" / name
    return own.parent / f"{own.name}.sources" / name


def _make(folder: Path) -> None:
    try:
        disk.make_folder(folder)
    except OSError as error:
        hint = "set LURCHER_INDEX_DIR to a folder that can be written"
        raise IndexError_(f"documents cannot be kept in {folder}: {error.strerror}", hint) from error
