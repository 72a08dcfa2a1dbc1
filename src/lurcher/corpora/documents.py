"""Searches documents of sources that installed packages bring.

A source is one module, named by an entry point in the group `lurcher.sources`, with

    stamp(request)     -> a text that changes when the documents do; called for each search, so it has to be cheap
    documents(request) -> all documents as they are now, each with a name of its own

They are kept as files in a folder of the user and indexed as any others are: a name that ends in `.md` is a note with headings
and tags, one that ends in `.py` is code.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lurcher.answer import add_notes
from lurcher.config import Settings, user_files
from lurcher.corpora.code import CodeCorpus
from lurcher.corpora.notes.corpus import NotesCorpus
from lurcher.errors import IndexError_, IndexLocked, Template, UsageError
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.workspace import Workspace
from lurcher.runtime import find
from lurcher.sources import Root
from lurcher.storage import digest_root, disk
from lurcher.storage.disk import IndexLock
from lurcher.types import Answer, Degraded, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.corpora import Corpus, SearchRequest, Services

_NOTE_FILTERS = ("tags", "since", "until")
_COMMIT_FILTERS = {"author": Template("{author}"), "outcomes": Template("{outcome}")}
_STAMP, _LOCK, _FILES, _INDEX = "stamp", "gathering", "files", "index"
"""What is in the folder of a source. The stamp is written last, so that an interrupted run begins again."""
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Request:
    root: Path
    """The folder that the question is about."""
    settings: Settings


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    """With an ending that says what it is; slashes make folders."""
    text: str


Stamp = Callable[[Request], str]
Documents = Callable[[Request], Iterable[Document]]


def source_named(name: str) -> tuple[Stamp, Documents]:
    """The functions of a source: `stamp` changes when its documents change, `documents` fetches them."""
    stamp, documents = find("sources", name, "stamp"), find("sources", name, "documents")
    if stamp is None or documents is None:
        raise UsageError(f"unknown source '{name}'", "a source is an entry point in the group lurcher.sources")
    return stamp, documents


class DocumentsCorpus:
    """The documents of one source that an installed package brings, kept as files with an index of their own."""

    def __init__(self, services: Services, name: str) -> None:
        self._name = name
        self._projects = [DocumentsProject(owner, name) for owner in services.workspace.projects]
        self._workspace = _DocumentsWorkspace(self._projects, services.workspace.labels())
        own = services.over(self._workspace)
        self._notes = NotesCorpus(own)
        self._code = CodeCorpus(own, lambda: self._notes)

    def search(self, request: SearchRequest) -> Answer:
        """Paths of hits begin with the name of the source."""
        corpus, own = self._prepare(request)
        notes = self._fetch(request.progress) if request.refresh and request.check else ()
        answer = corpus.search(own)
        hits = tuple(hit.replace(source=self._name, path=f"{self._name}:{hit.path}") for hit in answer.hits)
        return add_notes(answer.replace(hits=hits, sources=(self._name,)), notes)

    def locate(self, path: str) -> Path:
        """The file that the path of a hit stands for, without the name of the source."""
        return self._workspace.locate(path)

    def _prepare(self, request: SearchRequest) -> tuple[Corpus, SearchRequest]:
        """Who answers, and with which filters: documents that are notes have tags and dates, none has authors or outcomes."""
        for option, parameter in _COMMIT_FILTERS.items():
            if getattr(request, option):
                raise UsageError(Template("{*} is not for {*}", parameter, self._name), "only history has it")
        dated = any(getattr(request, option) for option in _NOTE_FILTERS)
        return self._notes if dated else self._code, request.replace(sources=None, libraries=(), views=None)

    def _fetch(self, progress: Progress) -> tuple[Degraded, ...]:
        return tuple(note for project in self._projects for note in project.fetch(progress))


class _DocumentsWorkspace(Workspace):
    """The documents of each root, with the labels of the roots."""

    def __init__(self, projects: Sequence[DocumentsProject], labels: Sequence[str]) -> None:
        super().__init__(projects, dict.fromkeys(range(len(projects))))
        self._labels = list(labels)

    def labels(self) -> list[str]:
        return self._labels


class DocumentsProject(RootIndex):
    """The documents of one source as files with an index; `fetch` brings the files up to date.

    They lie in the user's cache, or in the folder that the user chose for indexes, never inside of a repository: what came
    with a repository could lead our writing elsewhere.
    """

    def __init__(self, owner: RootIndex, name: str) -> None:
        self.folder = _folder(owner, name)
        files = self.folder / _FILES
        _make(files)
        super().__init__(Root(files, False, ""), owner.settings, self.folder / _INDEX, owner.model)
        self.name = name
        self._request = Request(owner.root.path, owner.settings)
        stamp, documents = source_named(name)
        self._stamp: Stamp = stamp
        self._documents: Documents = documents

    def fetch(self, progress: Progress) -> tuple[Degraded, ...]:
        """Fetch the documents if they have changed. Where that fails, those that are there will do, and the answer says so."""
        try:
            stamp = blake2b(f"1\0{self._stamp(self._request)}".encode("utf-8", "replace"), digest_size=16).hexdigest()
            if stamp == self._read_stamp():
                return ()
            documents = self._read_all(progress)
            lock = IndexLock.acquire(self.folder / _LOCK, self.settings.index.lock_seconds)
            try:
                disk.remove_file(self.folder / _STAMP)  # until all are written, no stamp is true of them
                self._replace(documents)
                disk.write_atomically(self.folder / _STAMP, [stamp.encode()])
            finally:
                lock.release()
            return ()
        except IndexLocked:
            reason = f"{self.name} is being read by another process"
        except Exception as error:  # whatever a package does wrong must not cost the answer
            reason = f"the source {self.name} failed: {type(error).__name__}: {error}"
        if not self._read_stamp():
            raise IndexError_(reason, "see to the package that brings it")
        return (Degraded(self.name, f"{reason}; these are its documents as they were", ""),)

    def _read_stamp(self) -> str:
        try:
            return (self.folder / _STAMP).read_text("ascii")
        except (OSError, ValueError):
            return ""

    def _read_all(self, progress: Progress) -> dict[str, bytes]:
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
                    disk.remove_file(path)
            with contextlib.suppress(OSError):
                if Path(folder) != self.root.path:
                    Path(folder).rmdir()  # only where nothing is left in it


def _folder(owner: RootIndex, name: str) -> Path:
    own = owner.store.folder
    if own.is_relative_to(owner.root.path):
        return user_files.cache_folder() / "sources" / f"{owner.root.path.name}-{digest_root(owner.root)}" / name
    return own.parent / f"{own.name}.sources" / name


def _make(folder: Path) -> None:
    try:
        disk.make_folder(folder)
    except OSError as error:
        hint = "set LURCHER_INDEX_DIR to a folder that can be written"
        raise IndexError_(f"documents cannot be kept in {folder}: {error.strerror}", hint) from error


def checked_name(name: object) -> str:
    """A name under which a document can be kept; ValueError for any other."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or "\\" in name:
        raise ValueError(f"{str(name)[:40]!r} is no name for a document")
    parts = PurePosixPath(name).parts
    if name.startswith("/") or any(part.startswith(".") for part in parts) or "/".join(parts) != name:
        raise ValueError(f"{name[:40]!r} is no name for a document")
    return name
