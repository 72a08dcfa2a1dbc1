"""One library and its index, which tells of which version it is.

The index is a folder of the project's own index. It is made by `lurcher index --library` alone: a question looks at a file or
two that change with the version, and says if they did, but does not walk what is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lurcher.errors import CorruptIndex, IndexError_, LurcherError, OutdatedIndex, UsageError
from lurcher.index import manifest as manifests
from lurcher.index.container import Container
from lurcher.index.manifest import MARK
from lurcher.index.project import UNCHECKED, Project, View, allowed, files_settings
from lurcher.sources.files import Listing
from lurcher.sources.libraries import ECOSYSTEMS, PREFIX, Asked, Library, find, list_library
from lurcher.sources.roots import Root
from lurcher.sources.standing import mark_of
from lurcher.types import Degraded, Progress

FOLDER = "libraries"


class LibraryProject(Project):
    """Made from what is installed it can index; made from what an index says of itself it only answers."""

    def __init__(
        self, owner: Project, asked: Asked, library: Library, marks: tuple[tuple[int, ...], ...] | None = None
    ) -> None:
        super().__init__(Root(library.root, False, ""), owner.settings, folder_of(owner, asked), owner.model)
        self.owner = owner
        self.asked = asked
        self.library = library
        self._installed = marks is None
        """Whether we know the library from what is installed, and not from an index."""
        self._marks = _marks(library) if marks is None else marks

    @property
    def name(self) -> str:
        """As hits have it."""
        return PREFIX + self.asked.text

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """An index that came with a repository is not believed: only the number of its folder cannot be forged."""
        try:
            place = self.store.folder.stat().st_ino
        except OSError:
            place = 0
        library = self.library
        return {
            **manifests.fingerprint(self.settings.index.chunk_chars, self.model.digest, allowed(self.settings, "secrets")),
            "place": place,
            "library": {
                "ecosystem": library.ecosystem, "asked": [self.asked.name, self.asked.version], "version": library.version,
                "root": os.fsdecode(library.root), "evidence": [os.fsdecode(path) for path in library.evidence],
                "marks": [list(mark) for mark in self._marks],
            },
        }  # fmt: skip

    def list_files(self) -> Listing:
        library = self.library if self._installed else self._found_again()
        listing = list_library(library, files_settings(self.settings))
        if not listing.entries:
            raise UsageError(f"{self.name} has no source that can be indexed", "it may be compiled, or its files are gone")
        return listing

    def _found_again(self) -> Library:
        found = find(self.asked, self.owner.root.path)
        if (found.root, found.version) != (self.library.root, self.library.version):
            raise IndexError_(f"the index of {self.name} is of another version than the one installed", self.mend)
        return found

    @property
    def mend(self) -> str:
        return f"run: lurcher index --library {self.asked.ecosystem}:{self.asked.text}"

    def make(self, progress: Progress, *, rebuild: bool) -> View:
        """Bring the index up to date with what is installed."""
        self.list_files()  # a library without source is told of before anything is written
        return self.rebuild(progress) if rebuild else super().view(progress, limited=False)

    def view(
        self, progress: Progress, *, refresh: bool = True, limited: bool = True, check: bool = True, meaning: bool = True
    ) -> View:
        view = super().view(progress, refresh=False, limited=limited, check=False, meaning=meaning)
        kept = tuple(note for note in view.degraded if note != UNCHECKED)
        changed = self.changed() if check else None
        if changed is None:
            return replace(view, degraded=kept if check else view.degraded, checked=check)
        return replace(view, degraded=(*kept, Degraded("libraries", changed, self.mend)), checked=False)

    def changed(self) -> str | None:
        """What to say where another version is installed by now, or none."""
        marks = _marks(self.library)
        if marks == self._marks:
            return None
        mine = f"the index of {self.name} is of version {self.library.version or 'unknown'}"
        try:
            found = find(self.asked, self.owner.root.path)
        except LurcherError:
            return f"{mine}, and it is no longer installed"
        if found.version != self.library.version:
            return f"{mine}, and {found.version or 'an unknown one'} is installed"
        if found.root != self.library.root or marks[0] != self._marks[0]:
            return f"{mine}, which was installed anew since"
        return None


def _marks(library: Library) -> tuple[tuple[int, ...], ...]:
    return tuple(mark_of(os.fspath(path), follow=True) for path in library.evidence)


def folder_of(owner: Project, asked: Asked) -> Path:
    """Where the index of a library is, in the index of the project that uses it."""
    text = f"{asked.ecosystem}:{asked.text}"
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    return owner.store.folder / FOLDER / f"{re.sub(r'[^A-Za-z0-9._-]', '_', text)[:60]}-{digest}"


def standing_of(owner: Project) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What changes when the index of a library is made, made anew or removed."""
    return tuple((path, mark_of(f"{path}/{manifests.NAME}", follow=False)) for path in _folders(owner))


def _folders(owner: Project) -> list[str]:
    try:
        with os.scandir(owner.store.folder / FOLDER) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def kept_in(owner: Project) -> tuple[list[LibraryProject], list[Degraded]]:
    """The libraries that a project has indexes of, by name, and what to say of those that cannot be used."""
    found: list[LibraryProject] = []
    notes: list[Degraded] = []
    for folder in map(Path, _folders(owner)):
        try:
            project = _kept(owner, folder)
            if project is not None and project.on_disk() is not None:
                found.append(project)
        except (CorruptIndex, OutdatedIndex, OSError, ValueError) as problem:
            reason = problem.message if isinstance(problem, LurcherError) else str(problem)
            notes.append(Degraded("libraries", f"a library is left out: {reason}", "run: lurcher index --library NAME"))
    return sorted(found, key=lambda project: (project.asked.text, project.asked.ecosystem)), notes


def _kept(owner: Project, folder: Path) -> LibraryProject | None:
    """What an index of a library says of itself, checked; whether it is to be believed shows when it is read."""
    if not (folder / MARK).exists() or not (folder / manifests.NAME).exists():
        return None
    meta: Any = Container.open(folder / manifests.NAME).meta
    try:
        told = meta["fingerprint"]["library"]
        name, version = told["asked"]
        texts = [told["ecosystem"], name, version, told["version"], told["root"], *told["evidence"]]
        marks = tuple(tuple(mark) for mark in told["marks"])
        sound = all(isinstance(text, str) and "\0" not in text for text in texts) and told["ecosystem"] in ECOSYSTEMS
        if not sound or not told["evidence"] or len(marks) != len(told["evidence"]):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise CorruptIndex(f"{folder.name} does not say which library it is of", "") from None
    evidence = tuple(Path(path) for path in told["evidence"])
    library = Library(told["ecosystem"], name, told["version"], Path(told["root"]), None, evidence)
    project = LibraryProject(owner, Asked(told["ecosystem"], name, version), library, marks)
    if project.store.folder != folder:
        raise CorruptIndex(f"{folder.name} holds the index of another library", "")
    return project
