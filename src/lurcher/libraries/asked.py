"""Questions that an engine asks of installed libraries, and the upkeep of their indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod

from lurcher.answering import with_notes
from lurcher.errors import UsageError
from lurcher.index.together import Together
from lurcher.light import TYPE_CHECKING, dataclass, replace
from lurcher.types import Answer, Degraded, Hit, Progress, Query, silent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from lurcher.engine import Engine
    from lurcher.libraries.project import LibraryProject

SOURCE = "libraries"


class Shelf(Together):
    """Libraries seen as one: paths of each begin with `lib:NAME/`."""

    def __init__(self, projects: Sequence[LibraryProject]) -> None:
        super().__init__(projects, dict.fromkeys(range(len(projects))))
        names = [project.name for project in projects]
        self._labels = [
            f"{name}/" if names.count(name) == 1 else f"{name.replace(':', f':{project.asked.ecosystem}:', 1)}/"
            for name, project in zip(names, projects, strict=True)
        ]

    def labels(self) -> list[str]:
        return self._labels


@dataclass(frozen=True, slots=True)
class _Known:
    """The libraries as they were opened last, what tells whether they still are so, and engines of some of them."""

    standing: tuple[object, ...]
    projects: list[LibraryProject]
    notes: tuple[Degraded, ...]
    engines: dict[tuple[Path, ...], Engine]


class Libraries(ABC):
    """The part of an engine that answers from installed libraries."""

    _together: Together
    _known: _Known | None = None

    def index_library(self, name: str, *, rebuild: bool = False, progress: Progress = silent) -> dict[str, Any]:
        """Make or update the index of an installed library: what it holds then, as in `libraries`.

        `name` is how code names it; `python:`, `node:`, `go:` or `cargo:` before it and `@VERSION` after it say which is meant.
        """
        from lurcher.libraries.project import LibraryProject
        from lurcher.sources.libraries import asked_for, find

        asked, owner = asked_for(name), self._together.projects[0]
        library = find(asked, owner.root.path)
        project = LibraryProject(owner, replace(asked, ecosystem=library.ecosystem), library)
        owner.store.prepare()
        view = project.make(progress, rebuild=rebuild)
        entry = _entry(project)
        return {**entry, **({"degraded": [note.to_dict() for note in view.degraded]} if view.degraded else {})}

    def clear_library(self, name: str) -> bool:
        """Remove the index of a library. True if there was one."""
        from lurcher.libraries.project import LibraryProject, folder_of
        from lurcher.sources.libraries import ECOSYSTEMS, Asked, Library, asked_for

        asked, cleared = asked_for(name), False
        for owner in self._together.projects:
            for ecosystem in (asked.ecosystem,) if asked.ecosystem else ECOSYSTEMS:
                meant = Asked(ecosystem, asked.name, asked.version)
                if folder_of(owner, meant).is_dir():  # even where what is in there cannot be read
                    nothing = Library(ecosystem, asked.name, "", owner.root.path, (), ())
                    cleared = LibraryProject(owner, meant, nothing).clear() or cleared
        return cleared

    def libraries(self) -> list[dict[str, Any]]:
        """The libraries that have an index: name, ecosystem, version, where they are, and what the index holds."""
        return [_entry(project) for project in self._kept().projects]

    def _kept(self) -> _Known:
        """The libraries with an index, opened once as long as their indexes are the same, and what is wrong with others."""
        from lurcher.libraries.project import kept_in, standing_of

        standing = tuple(standing_of(owner) for owner in self._together.projects)
        known = self._known
        if known is None or known.standing != standing:
            found: list[LibraryProject] = []
            notes: list[Degraded] = []
            for owner in self._together.projects:
                kept, said = kept_in(owner)
                found += [item for item in kept if not any(_same(item, other) for other in found)]
                notes += said
            known = self._known = _Known(standing, found, tuple(notes), {})
        return known

    @abstractmethod
    def _beside(self, together: Together) -> Engine:
        """Another engine with the same settings."""

    def _of_libraries(
        self, query: Query, names: Sequence[str], *, refresh: bool, check: bool, progress: Progress
    ) -> Answer:
        """The answer of the libraries that are named, or of all that have an index."""
        known = self._kept()
        notes = known.notes
        projects = _chosen(known.projects, names) if names else known.projects
        if not projects:
            none = Degraded("libraries", "no library is indexed", "run: lurcher index --library NAME")
            said = notes[0] if notes else none
            raise UsageError(said.reason, said.hint)
        key = tuple(project.store.folder for project in projects)
        engine = known.engines.get(key) or known.engines.setdefault(key, self._beside(Shelf(projects)))
        answer = engine._sound(lambda damage: engine._answer(query, (refresh, check), progress, damage), progress)
        hits = tuple(_labelled(hit, projects, engine.labels) for hit in answer.hits)
        return with_notes(replace(answer, hits=hits, sources=(SOURCE,)), () if names else notes)

    def _in_library(self, path: str) -> Path | None:
        """The file that the path of a hit in a library stands for."""
        if not path.startswith("lib:"):
            return None
        known = self._known
        for engine in list(known.engines.values()) if known is not None else ():
            for project, label in zip(engine.projects, engine.labels, strict=True):
                if path.startswith(label):
                    return project.root.path / path[len(label) :]
        return None


def _labelled(hit: Hit, projects: Sequence[LibraryProject], labels: Sequence[str]) -> Hit:
    project = next(item for item, label in zip(projects, labels, strict=True) if hit.path.startswith(label))
    return replace(hit, source=SOURCE, library=project.asked.text, version=project.library.version)


def _same(one: LibraryProject, other: LibraryProject) -> bool:
    return (one.asked, one.library.root, one.library.version) == (other.asked, other.library.root, other.library.version)


def _chosen(kept: Sequence[LibraryProject], names: Sequence[str]) -> list[LibraryProject]:
    """Those that are named, in the order of all; one that has no index is an error that says how to make it."""
    from lurcher.sources.libraries import asked_for

    chosen: list[LibraryProject] = []
    for name in names:
        asked = asked_for(name)
        found = [project for project in kept if asked.means(project.asked)]
        if not found:
            raise UsageError(f"the library {asked.text} is not indexed", f"run: lurcher index --library {name}")
        chosen += found
    return [project for project in kept if project in chosen]


def _entry(project: LibraryProject) -> dict[str, Any]:
    """Fields are added over time, never renamed."""
    library = project.library
    entry: dict[str, Any] = {
        "library": project.asked.text, "ecosystem": library.ecosystem, "version": library.version, "root": str(library.root),
        "index": str(project.store.folder),
    }  # fmt: skip
    changed = project.changed()
    if changed is not None:
        entry |= {"problem": changed, "hint": project.mend}
    view = project.view(silent, check=False, meaning=False)
    return {
        **entry, "fresh": changed is None, "files": view.snapshot.file_count, "units": view.snapshot.unit_count,
        "skipped": view.manifest.skip_counts(),
    }  # fmt: skip
