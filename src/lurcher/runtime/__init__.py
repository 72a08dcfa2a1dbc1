"""What the process runs on: here the version, and stages that are found by name.

`find` finds a lane, ranking, reranker or store by its name: a module of its folder, or an entry point of an installed package.
Only the one that was named is imported. Each folder wraps it with a type and an error of its own, such as `lanes.lane_named`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = "0.1.0"


def find(folder: str, name: str, attribute: str, group: str = "") -> Any:
    """`attribute` of lurcher.<folder>.<name>, else of the entry point `name` in `group` (`lurcher.<folder>`), else None.

    Entry points are read only for names that no module of ours has: going through all installed packages takes longer than a
    search.
    """
    module = f"lurcher.{folder}.{name}"
    if name.isascii() and name.isidentifier() and name[0] != "_" and name == name.lower():
        try:
            __import__(module)
            return getattr(sys.modules[module], attribute, None)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
    return find_installed(group or f"lurcher.{folder}", name, attribute)


def find_installed(group: str, name: str, attribute: str) -> Any:
    """`attribute` of the entry point `name` in `group`, else None."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        return getattr(entry.load(), attribute, None)
    return None


def installed(folder: str, name: str) -> bool:
    """Whether an installed package has an entry point of that name."""
    from importlib.metadata import entry_points

    return bool(entry_points(group=f"lurcher.{folder}", name=name))
