"""Searches installed libraries, and keeps their indexes.

The index of a library says of which version it is, and is made by `lurcher index --library` alone: a search reads a file or two
that change with the version, and says so if they did, but does not walk what is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.answer import add_notes
from lurcher.corpora.code import CodeCorpus, code_query
from lurcher.errors import CorruptIndex, IndexError_, LurcherError, OutdatedIndex, Template, UsageError
from lurcher.indexing import View
from lurcher.indexing.freshness import UNCHECKED
from lurcher.indexing.root_index import RootIndex, is_allowed, listing_settings
from lurcher.indexing.workspace import Workspace
from lurcher.query.validate import as_tuple
from lurcher.sources import Listing, Root, mark_of
from lurcher.sources.packages import ECOSYSTEMS, PREFIX, Library, LibraryName, find, list_library, parse_library_name
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.manifest import FOLDER_TAG
from lurcher.types import Answer, Degraded, Hit, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.corpora import SearchRequest, Services


SOURCE = "libraries"
FOLDER = "libraries"
"""In the index folder of the project that uses them."""


class LibraryWorkspace(Workspace):
    """Libraries seen as one: paths of each begin with `lib:NAME/`."""

    def __init__(self, projects: Sequence[LibraryProject]) -> None:
        super().__init__(projects, dict.fromkeys(range(len(projects))))
        names = [project.name for project in projects]
        self._labels = [
            f"{name}/" if names.count(name) == 1 else f"{name.replace(':', f':{project.wanted.ecosystem}:', 1)}/"
            for name, project in zip(names, projects, strict=True)
        ]

    def labels(self) -> list[str]:
        return self._labels


@dataclass(frozen=True, slots=True)
class _Opened:
    """The libraries as they were opened last."""

    identity: tuple[object, ...]
    """Tells whether they are still the same."""
    projects: list[LibraryProject]
    notes: tuple[Degraded, ...]
    """About those that could not be opened."""
    searched: dict[tuple[Path, ...], tuple[LibraryWorkspace, CodeCorpus]]
    """By the index folders of the libraries that were searched together."""


class LibrariesCorpus:
    """Installed libraries that have an index."""

    def __init__(self, services: Services) -> None:
        self._services, self._workspace = services, services.workspace
        self._opened: _Opened | None = None

    def index(self, name: str, *, rebuild: bool = False, progress: Progress = silent) -> dict[str, Any]:
        """Make or update the index of an installed library; its entry in `status`, with `degraded` if need be."""
        wanted, owner = parse_library_name(name), self._workspace.projects[0]
        library = find(wanted, owner.root.path)
        project = LibraryProject(owner, replace(wanted, ecosystem=library.ecosystem), library)
        owner.store.prepare()
        view = project.make(progress, rebuild=rebuild)
        entry = _entry(project)
        return {**entry, **({"degraded": [note.to_dict() for note in view.degraded]} if view.degraded else {})}

    def clear(self, name: str) -> bool:
        """Remove the index of a library. True if there was one."""
        wanted, cleared = parse_library_name(name), False
        for owner in self._workspace.projects:
            for ecosystem in (wanted.ecosystem,) if wanted.ecosystem else ECOSYSTEMS:
                candidate = LibraryName(ecosystem, wanted.name, wanted.version)
                if folder_of(owner, candidate).is_dir():  # even where what is in there cannot be read
                    nothing = Library(ecosystem, wanted.name, "", owner.root.path, (), ())
                    cleared = LibraryProject(owner, candidate, nothing).clear() or cleared
        return cleared

    def status(self) -> list[dict[str, Any]]:
        """Of each library that has an index: name, ecosystem, version, where it is, and what the index holds."""
        return [_entry(project) for project in self._open().projects]

    def search(self, request: SearchRequest) -> Answer:
        """The answer of the libraries that are named, or of all that have an index."""
        query = code_query(request, self._services)
        projects, workspace, code = self._choose_libraries(request)

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            return code.answer(query, request.replace(views=None), damage)

        answer = workspace.with_repair(attempt, request.progress)
        hits = tuple(_label_hit(hit, projects, workspace.labels()) for hit in answer.hits)
        notes = () if as_tuple(request.libraries) else self._open().notes
        return add_notes(answer.replace(hits=hits, sources=(SOURCE,)), notes)

    def locate(self, path: str) -> Path | None:
        """The file that the path of a hit stands for; None for the path of no hit of ours."""
        opened = self._opened
        for workspace, _ in list(opened.searched.values()) if opened is not None else ():
            for project, label in zip(workspace.projects, workspace.labels(), strict=True):
                if path.startswith(label):
                    return project.root.path / path[len(label) :]
        return None

    def _open(self) -> _Opened:
        """The libraries with an index, opened anew once one of the indexes was made, changed or removed."""
        identity = tuple(identity_of(owner) for owner in self._workspace.projects)
        opened = self._opened
        if opened is None or opened.identity != identity:
            found: list[LibraryProject] = []
            notes: list[Degraded] = []
            for owner in self._workspace.projects:
                usable, problems = libraries_of(owner)
                found += [item for item in usable if not any(_same(item, other) for other in found)]
                notes += problems
            opened = self._opened = _Opened(identity, found, tuple(notes), {})
        return opened

    def _choose_libraries(self, request: SearchRequest) -> tuple[list[LibraryProject], LibraryWorkspace, CodeCorpus]:
        """The libraries that a request is about, as one."""
        opened, names = self._open(), as_tuple(request.libraries)
        projects = _select_named(opened.projects, names) if names else opened.projects
        if not projects:
            none = Degraded("libraries", "no library is indexed", Template("{run index: library=NAME}"))
            note = opened.notes[0] if opened.notes else none
            raise UsageError(note.reason, note.hint)
        key = tuple(project.store.folder for project in projects)
        known = opened.searched.get(key)
        if known is None:
            workspace = LibraryWorkspace(projects)
            known = opened.searched.setdefault(key, (workspace, CodeCorpus(self._services.over(workspace))))
        return projects, *known


def _label_hit(hit: Hit, projects: Sequence[LibraryProject], labels: Sequence[str]) -> Hit:
    project = next(item for item, label in zip(projects, labels, strict=True) if hit.path.startswith(label))
    return hit.replace(source=SOURCE, library=project.wanted.text, version=project.library.version)


def _same(one: LibraryProject, other: LibraryProject) -> bool:
    return (one.wanted, one.library.root, one.library.version) == (other.wanted, other.library.root, other.library.version)


def _select_named(kept: Sequence[LibraryProject], names: Sequence[str]) -> list[LibraryProject]:
    """Those that are named, in the order of all; one that has no index is an error that says how to make it."""
    chosen: list[LibraryProject] = []
    for name in names:
        wanted = parse_library_name(name)
        found = [project for project in kept if wanted.means(project.wanted)]
        if not found:
            raise UsageError(f"the library {wanted.text} is not indexed", Template("{run index: library=*}", name))
        chosen += found
    return [project for project in kept if project in chosen]


def _entry(project: LibraryProject) -> dict[str, Any]:
    """Fields are added over time, never renamed."""
    library = project.library
    entry: dict[str, Any] = {
        "library": project.wanted.text, "ecosystem": library.ecosystem, "version": library.version, "root": str(library.root),
        "index": str(project.store.folder),
    }  # fmt: skip
    changed = project.changed()
    if changed is not None:
        entry |= {"problem": changed, "hint": project.repair_hint}
    view = project.view(silent, check=False, needs_vectors=False)
    return {
        **entry, "fresh": changed is None, "files": view.snapshot.file_count, "units": view.snapshot.unit_count,
        "skipped": view.manifest.skip_counts(),
    }  # fmt: skip


class LibraryProject(RootIndex):
    """Made from what is installed it can index; made from what an index says of itself it only answers."""

    def __init__(
        self, owner: RootIndex, wanted: LibraryName, library: Library, marks: tuple[tuple[int, ...], ...] | None = None
    ) -> None:
        super().__init__(Root(library.root, False, ""), owner.settings, folder_of(owner, wanted), owner.model)
        self.owner = owner
        self.wanted = wanted
        self.library = library
        self._installed = marks is None
        """Whether we know the library from what is installed, and not from an index."""
        self._marks = _marks(library) if marks is None else marks

    @property
    def name(self) -> str:
        """As hits have it."""
        return PREFIX + self.wanted.text

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """An index that came with a repository is not believed: only the number of its folder cannot be forged."""
        try:
            place = self.store.folder.stat().st_ino
        except OSError:
            place = 0
        library = self.library
        return {
            **manifests.make_fingerprint(
                self.settings.index.chunk_chars, self.model.digest, is_allowed(self.settings, "secrets")
            ),
            "place": place,
            "library": {
                "ecosystem": library.ecosystem, "asked": [self.wanted.name, self.wanted.version], "version": library.version,
                "root": os.fsdecode(library.root), "evidence": [os.fsdecode(path) for path in library.evidence],
                "marks": [list(mark) for mark in self._marks],
            },
        }  # fmt: skip

    def list_files(self) -> Listing:
        library = self.library if self._installed else self._find_again()
        listing = list_library(library, listing_settings(self.settings))
        if not listing.entries:
            raise UsageError(f"{self.name} has no source that can be indexed", "it may be compiled, or its files are gone")
        return listing

    def _find_again(self) -> Library:
        found = find(self.wanted, self.owner.root.path)
        if (found.root, found.version) != (self.library.root, self.library.version):
            raise IndexError_(f"the index of {self.name} is of another version than the one installed", self.repair_hint)
        return found

    @property
    def repair_hint(self) -> str:
        return Template("{run index: library=*}", f"{self.wanted.ecosystem}:{self.wanted.text}")

    def make(self, progress: Progress, *, rebuild: bool) -> View:
        """Bring the index up to date with what is installed."""
        self.list_files()  # a library without source is told of before anything is written
        return self.rebuild(progress) if rebuild else super().view(progress, limited=False)

    def view(
        self, progress: Progress, *, refresh: bool = True, limited: bool = True, check: bool = True, needs_vectors: bool = True
    ) -> View:
        view = super().view(progress, refresh=False, limited=limited, check=False, needs_vectors=needs_vectors)
        kept = tuple(note for note in view.degraded if note != UNCHECKED)
        changed = self.changed() if check else None
        if changed is None:
            return view.replace(degraded=kept if check else view.degraded, checked=check)
        return view.replace(degraded=(*kept, Degraded("libraries", changed, self.repair_hint)), checked=False)

    def changed(self) -> str | None:
        """What to say where another version is installed by now, or none."""
        marks = _marks(self.library)
        if marks == self._marks:
            return None
        mine = f"the index of {self.name} is of version {self.library.version or 'unknown'}"
        try:
            found = find(self.wanted, self.owner.root.path)
        except LurcherError:
            return f"{mine}, and it is no longer installed"
        if found.version != self.library.version:
            return f"{mine}, and {found.version or 'an unknown one'} is installed"
        if found.root != self.library.root or marks[0] != self._marks[0]:
            return f"{mine}, which was installed anew since"
        return None


def _marks(library: Library) -> tuple[tuple[int, ...], ...]:
    return tuple(mark_of(os.fspath(path), follow=True) for path in library.evidence)


def folder_of(owner: RootIndex, wanted: LibraryName) -> Path:
    """Where the index of a library is, in the index of the project that uses it."""
    text = f"{wanted.ecosystem}:{wanted.text}"
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    return owner.store.folder / FOLDER / f"{re.sub(r'[^A-Za-z0-9._-]', '_', text)[:60]}-{digest}"


def identity_of(owner: RootIndex) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What changes when the index of a library is made, made anew or removed."""
    return tuple((path, mark_of(f"{path}/{manifests.NAME}", follow=False)) for path in _folders(owner))


def _folders(owner: RootIndex) -> list[str]:
    try:
        with os.scandir(owner.store.folder / FOLDER) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def libraries_of(owner: RootIndex) -> tuple[list[LibraryProject], list[Degraded]]:
    """The libraries that a project has indexes of, by name, and what to say of those that cannot be used."""
    found: list[LibraryProject] = []
    notes: list[Degraded] = []
    for folder in map(Path, _folders(owner)):
        try:
            project = _read_library(owner, folder)
            if project is not None and project.read_from_disk() is not None:
                found.append(project)
        except (CorruptIndex, OutdatedIndex, OSError, ValueError) as problem:
            reason = problem.message if isinstance(problem, LurcherError) else str(problem)
            notes.append(Degraded("libraries", f"a library is left out: {reason}", Template("{run index: library=NAME}")))
    return sorted(found, key=lambda project: (project.wanted.text, project.wanted.ecosystem)), notes


def _read_library(owner: RootIndex, folder: Path) -> LibraryProject | None:
    """What an index of a library says of itself, checked; whether it is to be believed shows when it is read."""
    if not (folder / FOLDER_TAG).exists() or not (folder / manifests.NAME).exists():
        return None
    meta: Any = Container.open(folder / manifests.NAME).meta
    try:
        entry = meta["fingerprint"]["library"]
        name, version = entry["asked"]
        texts = [entry["ecosystem"], name, version, entry["version"], entry["root"], *entry["evidence"]]
        marks = tuple(tuple(mark) for mark in entry["marks"])
        sound = all(isinstance(text, str) and "\0" not in text for text in texts) and entry["ecosystem"] in ECOSYSTEMS
        if not sound or not entry["evidence"] or len(marks) != len(entry["evidence"]):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise CorruptIndex(f"{folder.name} does not say which library it is of", "") from None
    evidence = tuple(Path(path) for path in entry["evidence"])
    library = Library(entry["ecosystem"], name, entry["version"], Path(entry["root"]), None, evidence)
    project = LibraryProject(owner, LibraryName(entry["ecosystem"], name, version), library, marks)
    if project.store.folder != folder:
        raise CorruptIndex(f"{folder.name} holds the index of another library", "")
    return project
