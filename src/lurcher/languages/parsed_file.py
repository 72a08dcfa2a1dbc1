"""What chunking makes of a file: its chunks, and what it defines and imports."""

from __future__ import annotations

from lurcher.runtime.stdlib import NamedTuple
from lurcher.types import Definition, Record


class Span(Record):
    """A run of a file's text. Spans of one file tile it: no overlap, no gap."""

    __slots__ = ("start_byte", "end_byte", "start_line", "end_line")

    def __init__(self, start_byte: int, end_byte: int, start_line: int, end_line: int) -> None:
        self.start_byte, self.end_byte, self.start_line, self.end_line = start_byte, end_byte, start_line, end_line


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
    - notes: `wikilink`, `embed` and `link` lead elsewhere, `names` being the place in it; `title`, `alias`, `tag`, `date`,
      `block` and `broken` are what a note says of itself
    """


class ParsedFile(NamedTuple):
    """One file, cut into chunks, with what it defines, where its comments are, and what it imports."""

    language: str
    chunks: tuple[Span, ...]
    definitions: tuple[Definition, ...]
    comments: tuple[tuple[int, int], ...]
    """Byte ranges of comments and documentation strings, in order, disjoint."""
    imports: tuple[Import, ...] = ()
    above: tuple[str, ...] = ()
    """Of a note, for each chunk: its title and headings, which count when notes are ranked and are not shown."""
    occurrences: bytes = b""
    """Where its names occur, encoded (occurrences.py)."""
    gave_up: bool = False
    """Whether it is cut by lines because its grammar took too much time or memory, or crashed."""
    no_grammar: bool = False
    """Whether it is cut by lines because the grammar of its language cannot be loaded."""
