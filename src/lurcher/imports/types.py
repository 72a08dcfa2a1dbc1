"""What a file says it imports, where that leads, and how files hang together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Read = Callable[[str], "str | None"]
"""The text of a configuration file by its path in the tree; None where there is none."""

PACKAGE = "package"
"""Kind of an import that imports nothing: it says in which package or namespace the file's own names are."""


class Import(NamedTuple):
    """One import as written; a tuple, because an index holds hundreds of thousands."""

    spec: str
    """Module, path or qualified name as written, without quotes and white space."""
    names: tuple[str, ...]
    """Names taken out of it, `*` for all; for a package, the names that the file declares at its top level,
    with `*` if there may be more that could not be read."""
    line: int
    kind: str
    """What resolution must know:

    - Python: `import`, `from` (relative levels are the leading dots of `spec`)
    - JavaScript, TypeScript: `import`, `export`, `require`, `dynamic`
    - Go, Java, Kotlin, Scala, Swift: `import`; Java also `static`
    - Rust: `use`, `mod`, `mod-path` (`#[path]`), `crate` (`extern crate`)
    - C, C++: `quote`, `angle`
    - C#: `using`, `static`, `alias`
    - Ruby: `require`, `relative`, `load`, `autoload`
    - PHP: `use`, `function`, `const`, `include`, `here` (relative to the file's own folder)
    - `package` in Java, Kotlin, Scala, C# and PHP
    """


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
