"""Roots that lie in one another: a file that one of them lists anyway is not there twice."""

from __future__ import annotations

from lurcher import config
from lurcher.index.project import files_settings
from lurcher.light import TYPE_CHECKING
from lurcher.sources.files import list_files
from lurcher.sources.roots import Root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any


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
    if not root.git:
        return not top.git
    if top.path not in nested:
        nested[top.path] = list_files(top, files_settings(config.load(top.path, overrides))).nested
    return root.path.relative_to(top.path).as_posix() in nested[top.path]
