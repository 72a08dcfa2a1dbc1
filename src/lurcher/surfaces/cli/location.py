"""Places in files: as people and other programs write them, and as they are shown."""

from __future__ import annotations

from lurcher.errors import UsageError
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lurcher.engine import Engine


def split_location(asked: str) -> tuple[str, int | None, int | None]:
    """The file and the lines of `FILE`, `FILE:12`, `FILE:12-20` or `FILE:12:3`; a file whose whole name that is comes first."""
    import re
    from pathlib import Path

    match = re.fullmatch(r"(.+?):(\d{1,9})?(-)?(\d{1,9})?", re.sub(r"(:\d+):\d*$", r"\1", asked), re.DOTALL)
    if match is None or "\0" in asked or Path(asked).exists():
        return asked, None, None
    place, first, dash, last = match.groups()
    if first is None:
        raise UsageError(f"'{asked}' names no lines", "write FILE, FILE:12 or FILE:12-20")
    if dash is None:
        return place, int(first), int(first)
    return place, int(first), int(last) if last else None


def file_locator(engine: Engine) -> Callable[[str], Path | str]:
    """From a hit's path to its file, like `Engine.locate`, but without `pathlib` where the path is one of the tree's.

    Paths of libraries and of installed sources have a colon; for them, and for files that have one, the engine is asked.
    """
    roots = [(label, project.root.place) for label, project in zip(engine.labels, engine.projects, strict=True)]

    def locate(path: str) -> Path | str:
        for label, root in roots if ":" not in path else ():
            if path.startswith(label):
                return f"{root}/{path[len(label) :]}"
        return engine.locate(path)

    return locate
