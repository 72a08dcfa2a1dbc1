"""What a file says it imports, where that leads, and how files hang together."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, NamedTuple
from lurcher.types import Import

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

__all__ = ["KINDS", "PACKAGE", "Edge", "Import", "Link", "Read", "Target"]

Read: TypeAlias = "Callable[[str], str | None]"
"""The text of a configuration file by its path in the tree; None where there is none."""

PACKAGE = "package"
"""Kind of an import that imports nothing: it says in which package or namespace the file's own names are."""
KINDS = (
    PACKAGE, "import", "from", "export", "require", "dynamic", "static", "use", "mod", "mod-path", "crate", "quote", "angle",
    "using", "alias", "relative", "load", "autoload", "function", "const", "include", "here",
    "wikilink", "embed", "link", "title", "tag", "date", "block", "broken",
)  # fmt: skip
"""Every kind that a reader gives; an index holds their numbers, so new ones go to the end."""


class Target(NamedTuple):
    """A file that an import leads to."""

    path: str
    confidence: float
    """1 where the ecosystem's rules leave no choice; less where files share it or nearness had to decide."""
    names: tuple[str, ...] | None = None
    """Those of the import's names that lead here; None where all do."""


class Edge(NamedTuple):
    """One file imports another."""

    source: str
    target: str
    names: tuple[str, ...]
    line: int
    confidence: float


class Link(NamedTuple):
    """A file reached from another over one or more imports."""

    path: str
    hop: int
    via: str
    """The file one hop nearer to where the walk began."""
    names: tuple[str, ...]
    """What the importing one of `path` and `via` takes from the other."""
    line: int
    """Where it does, in the importing file."""
    confidence: float
    """Product of the confidences on the way."""
