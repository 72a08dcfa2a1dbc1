"""The roots that an engine was opened for, as one: their labels, their paths, one snapshot of them all, and repair.

A label is what stands before a path to distinguish the roots' files; with a single root it is empty.
"""

from __future__ import annotations

import os
import posixpath

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import ClosedEngine, CorruptIndex, ModelError, PathError, UsageError
from lurcher.indexing import View
from lurcher.indexing.root_index import RootIndex, listing_settings
from lurcher.sources import Root, find_root
from lurcher.storage import digest_root
from lurcher.storage.manifest import WAITING
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, Filter, IndexState, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any, TypeVar

    from lurcher.indexing import StoredIndex
    from lurcher.types import Progress
    from lurcher.vectors import Model

    Result = TypeVar("Result")


class Workspace:
    """Projects in the order they were named, each with the folders of it that may answer (None: all of it)."""

    def __init__(
        self, projects: Sequence[RootIndex], prefixes: Mapping[int, tuple[str, ...] | None], names: Sequence[str] | None = None
    ) -> None:
        self.projects = list(projects)
        self.closed = False
        self._names = names
        """What the projects are called; None: each as its folder."""
        self.prefixes = dict(prefixes)
        self.further: list[Callable[[], Iterable[StoredIndex[Any, Any]]]] = []
        """Each gives indexes that answers are made from besides those of the roots: damage to them is repaired too."""
        self._combined: tuple[tuple[Snapshot, ...], Snapshot] | None = None

    def forget(self) -> None:
        """Drop the combined snapshot."""
        self._combined = None

    def close(self) -> None:
        self.closed = True
        for project in self.projects:
            project.close()
        self.forget()

    def open_projects(self) -> list[RootIndex]:
        """The index of each root; an error once they are closed. What hits say can still be located then."""
        if self.closed:
            raise ClosedEngine("the engine is closed", "open another one, or ask before the end of its `with` block")
        return self.projects

    def reopen(self, index: RootIndex, force: bool, *, overrides: Mapping[str, Any] | None = None) -> RootIndex:
        """The index of a root with its settings as they are now: the same object if they have not changed, unless `force`."""
        settings = config.load(index.root.path, overrides)
        if settings == index.settings and not force:
            return index
        other = RootIndex(index.root, settings, index.index_dir)
        self.replace(index, other)
        return other

    def replace(self, old: RootIndex, new: RootIndex) -> None:
        self.projects[self.projects.index(old)] = new
        self.forget()

    @property
    def places(self) -> list[str]:
        """The folder of each root."""
        return [project.root.place for project in self.projects]

    @property
    def home(self) -> str:
        """The folder inside which the settings of a project may name files."""
        return self.places[0]

    @property
    def roots(self) -> tuple[Path, ...]:
        return tuple(project.root.path for project in self.projects)

    def labels(self) -> list[str]:
        """What stands before a path to distinguish roots: nothing for one root, else the folder's name, numbered if need be."""
        if self._names is not None:
            return [f"{name}/" for name in self._names]
        if len(self.projects) == 1:
            return [""]
        names = [project.root.name or "root" for project in self.projects]
        labels: list[str] = []
        for name in names:
            label, number = name, 1
            while label in labels or (number > 1 and label in names):
                number += 1
                label = f"{name}-{number}"
            labels.append(label)
        return [f"{label}/" for label in labels]

    def narrow(self, filter: Filter) -> Filter:
        """The filter, limited to the folders that the engine was opened for."""
        if all(prefixes is None for prefixes in self.prefixes.values()):
            return filter
        labels = self.labels()
        inside: list[str] = []
        for number, prefixes in self.prefixes.items():
            label = labels[number]
            inside += [label.rstrip("/")] if prefixes is None else [label + prefix for prefix in prefixes]
        return Filter(filter.languages, filter.globs, filter.excludes, tuple(inside))

    @property
    def model(self) -> Model:
        """The model of all roots; one that fails when it is used where they have different models."""
        models = [project.model for project in self.projects]
        if len({model.digest for model in models}) == 1:
            return models[0]
        return models[0].with_problem(ModelError("the folders have different models", "set dense.model alike for all of them"))

    def views(self, progress: Progress, *, refresh: bool = True, check: bool = True, needs_vectors: bool = True) -> list[View]:
        """Each root's index, brought up to date unless `refresh` is off; see `Project.view`."""
        projects = self.open_projects()
        return [project.view(progress, refresh=refresh, check=check, needs_vectors=needs_vectors) for project in projects]

    def with_repair(self, work: Callable[[tuple[Degraded, ...]], Result], progress: Progress) -> Result:
        """Runs `work(())`; if the index turns out to be damaged, rebuilds it and runs `work` again with a note about that.

        Checksums are verified when a block is first read, so damage may show in the middle of a query.
        """
        self.open_projects()
        try:
            return work(())
        except CorruptIndex as damage:
            reason = damage.message
        except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError):
            # Checksums can be right and numbers wrong in a file of foreign origin. In one of ours it is a bug.
            if all(index.is_trusted() for index in self._list_stored()):
                raise
            reason = "the index holds what cannot be"
        self.repair(progress)
        return work((Degraded("index", f"{reason}; it was rebuilt", ""),))

    def repair(self, progress: Progress) -> None:
        """Rebuild the damaged indexes; all of them where no damage can be located."""
        if not any([index.repair(progress) for index in self._list_stored()]):
            for project in self.projects:
                project.rebuild(progress)
        self.forget()

    def _list_stored(self) -> list[StoredIndex[Any, Any]]:
        return [*self.projects, *(index for further in self.further for index in list(further()))]

    def snapshot(self, views: Sequence[View]) -> Snapshot:
        """One snapshot of all views, kept for as long as the views are the same."""
        if self.labels() == [""]:
            return views[0].snapshot
        parts = tuple(view.snapshot for view in views)
        if self._combined is None or self._combined[0] != parts:
            generation = sum(view.manifest.generation for view in views)
            self._combined = (parts, Snapshot.join(list(zip(parts, self.labels(), strict=True)), generation))
        return self._combined[1]

    def candidate_paths(self, path: str | Path) -> tuple[str, ...]:
        """What a path may be called in the index: as a hit has it, or as seen from the current folder."""
        from pathlib import Path

        try:
            if "\0" in str(path):
                raise ValueError
            os.fsencode(path)
        except ValueError:
            raise PathError(f"{str(path)[:200]!r} is no path", "check the spelling") from None
        found = []
        if not Path(path).is_absolute():
            asked = posixpath.normpath(str(path))
            found.append("" if asked == "." else asked)
        for place in _places(path):
            for project, label in zip(self.projects, self.labels(), strict=True):
                if place.is_relative_to(project.root.path):
                    inside = place.relative_to(project.root.path).as_posix()
                    found.append(label.rstrip("/") if inside == "." else label + inside)
        if not found:
            raise PathError(f"{path} is in none of the roots", "name a path below " + ", ".join(map(str, self.roots)))
        return tuple(dict.fromkeys(found))

    def name_of(self, path: Path) -> str:
        """What hits call a file or folder; nothing for a whole root that is the only one."""
        for project, label in zip(self.projects, self.labels(), strict=True):
            if path.is_relative_to(project.root.path):
                inside = path.relative_to(project.root.path).as_posix()
                return label.rstrip("/") if inside == "." else label + inside
        raise PathError(f"{path} is in none of the roots", "name a path below " + ", ".join(map(str, self.roots)))

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for; with several roots, paths begin with the name of theirs."""
        for project, label in zip(self.projects, self.labels(), strict=True):
            if path.startswith(label):
                return project.root.path / path[len(label) :]
        raise UsageError(f"{path} is in none of the roots", "pass a path as a hit has it")


def _places(path: str | Path) -> list[Path]:
    """Where a path leads from the current folder, as it stands and with links followed; nowhere once that folder is gone."""
    from contextlib import suppress
    from pathlib import Path

    found = []
    with suppress(OSError):
        found.append(Path(os.path.normpath(Path.cwd() / path)))
    with suppress(OSError, RuntimeError):  # links that lead round in a circle
        found.append(Path(path).resolve())
    return found


def state_of(snapshot: Snapshot, views: Sequence[View]) -> IndexState:
    """What an answer says of the index behind it."""
    stale = sum(view.stale_paths for view in views)
    coverage = {}
    if any(view.manifest.is_partial for view in views):
        files = sum(len(view.manifest.rows) for view in views)
        waiting = sum(view.manifest.skipped.get(WAITING, 0) for view in views)
        coverage["code"] = round(files / (files + waiting), 4)
    shared = {name: about for view in views for name, about in view.shared.items()}
    return IndexState(snapshot.generation, stale == 0 and all(view.checked for view in views), stale, coverage, shared)

# -- opening: from paths to roots, their settings and their indexes --------------------------------------------------------


class Opened(Record):
    __slots__ = ("projects", "prefixes", "settings")

    def __init__(self, projects: list[RootIndex], prefixes: dict[int, tuple[str, ...] | None], settings: Settings) -> None:
        self.projects = projects
        self.prefixes = prefixes
        """Of each project by its number the folders that may answer; None: all of it."""
        self.settings = settings
        """Those of the first."""


def open_roots(
    paths: Sequence[str | Path],
    *,
    root: str | Path | None = None,
    index_dir: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Opened:
    """The projects around some paths, of which there is one at least; `root` makes a folder its own root."""
    if root is not None:
        from pathlib import Path

        top = Path(root).resolve()
        roots = [Root(top, (top / ".git").exists(), _inside(Path(item), top)) for item in paths]
    else:
        roots = [find_root(item) for item in paths]
        if len(roots) > 1:

            roots = outermost(roots, overrides)
    projects: list[RootIndex] = []
    prefixes: dict[int, tuple[str, ...] | None] = {}
    settings: Settings | None = None
    for found in roots:
        number = next((i for i, project in enumerate(projects) if project.root.place == found.place), len(projects))
        if number == len(projects):
            mine = config.load(found.place, overrides)
            settings = settings or mine
            several = len({item.place for item in roots}) > 1
            projects.append(RootIndex(found, mine, _own_folder(index_dir, found, several)))
            prefixes[number] = (found.prefix,) if found.prefix else None
        else:
            known = prefixes[number]
            prefixes[number] = None if known is None or not found.prefix else (*known, found.prefix)
    assert settings is not None, "there is a path"
    return Opened(projects, prefixes, settings)


def _own_folder(index_dir: str | Path | None, root: Root, several: bool) -> Path | None:
    """The configured place for the index of a root, if any."""
    if index_dir is None:
        return None
    from pathlib import Path

    return Path(index_dir) / digest_root(root) if several else Path(index_dir)


def _inside(path: Path, root: Path) -> str:
    try:
        relative = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{path} is not inside of {root}", "name a path below the root") from None
    return "" if relative == "." else relative

# -- roots inside of roots -----------------------------------------------------------------------------------------------


def outermost(roots: list[Root], overrides: Mapping[str, Any] | None) -> list[Root]:
    """Roots with those whose files another one lists anyway made a part of that one, so that no file is there twice."""
    kept: list[Root] = []
    nested: dict[Path, tuple[str, ...]] = {}
    place: dict[Path, Root] = {}
    for root in sorted(roots, key=lambda item: len(item.path.parts)):
        if root.path in place:
            continue
        tops = (top for top in kept if root.path.is_relative_to(top.path))
        top = next((top for top in tops if _covers(top, root, nested, overrides)), root)
        if top is root:
            kept.append(root)
        place[root.path] = top
    found = []
    for root in roots:
        top = place[root.path]
        inside = "" if top.path == root.path else root.path.relative_to(top.path).as_posix()
        found.append(Root(top.path, top.git, "/".join(part for part in (inside, root.prefix) if part)))
    return found


def _covers(top: Root, root: Root, nested: dict[Path, tuple[str, ...]], overrides: Mapping[str, Any] | None) -> bool:
    """Whether the files of `root` are listed with those of `top`, which is around it.

    A repository is where git does not ignore it and it is no other work tree of one that is listed. A folder outside of git is
    part of any other one around it; one that is in a work tree is its own root only because that one leaves it out.
    """
    from lurcher.sources.listing import list_files

    if not root.git:
        return not top.git
    if top.path not in nested:
        nested[top.path] = list_files(top, listing_settings(config.load(top.path, overrides))).nested
    return root.path.relative_to(top.path).as_posix() in nested[top.path]
