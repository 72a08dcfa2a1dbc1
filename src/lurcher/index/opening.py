"""From the paths of a question to the projects that hold its answer: their roots, their settings, where their indexes are."""

from __future__ import annotations

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import UsageError
from lurcher.index.project import Project, root_digest
from lurcher.light import TYPE_CHECKING, dataclass
from lurcher.sources.roots import Root, find_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any


@dataclass(frozen=True)
class Opened:
    projects: list[Project]
    prefixes: dict[int, tuple[str, ...] | None]
    """Of each project by its number the folders that may answer; None: all of it."""
    settings: Settings
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
            from lurcher.index.outermost import outermost

            roots = outermost(roots, overrides)
    projects: list[Project] = []
    prefixes: dict[int, tuple[str, ...] | None] = {}
    settings: Settings | None = None
    for found in roots:
        number = next((i for i, project in enumerate(projects) if project.root.place == found.place), len(projects))
        if number == len(projects):
            mine = config.load(found.place, overrides)
            settings = settings or mine
            several = len({item.place for item in roots}) > 1
            projects.append(Project(found, mine, _own_folder(index_dir, found, several)))
            prefixes[number] = (found.prefix,) if found.prefix else None
        else:
            known = prefixes[number]
            prefixes[number] = None if known is None or not found.prefix else (*known, found.prefix)
    assert settings is not None, "there is a path"
    return Opened(projects, prefixes, settings)


def _own_folder(index_dir: str | Path | None, root: Root, several: bool) -> Path | None:
    """Where the index of a root is asked to be, if anywhere."""
    if index_dir is None:
        return None
    from pathlib import Path

    return Path(index_dir) / root_digest(root) if several else Path(index_dir)


def _inside(path: Path, root: Path) -> str:
    try:
        relative = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{path} is not inside of {root}", "name a path below the root") from None
    return "" if relative == "." else relative
