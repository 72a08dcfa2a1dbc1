"""What a reader of one markup found in a note: its headings, what is no prose, what it says of itself and where it leads."""

from __future__ import annotations

from lurcher.light import dataclass, field


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    """1 is the highest."""
    text: str
    """As a reader sees it: without markup."""
    line: int
    """0-based; of a heading with a line above it, that line."""
    raw: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A link to another note, or to a place in one."""

    kind: str
    """wikilink, embed or link"""
    target: str
    """As written; empty for a place in the same note."""
    heading: str
    """What stands behind `#`: a heading, a slug, or a block with its `^`."""
    line: int


@dataclass(slots=True)
class Outline:
    headings: list[Heading] = field(default_factory=list)
    body: int = 0
    """The first line behind the front matter, 0-based."""
    solid: set[int] = field(default_factory=set)
    """Lines before which a paragraph does not begin, since they are inside of a fence."""
    comments: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)
    """From where to where comments go, as (line, character), both from 0; in order, disjoint."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date: str = ""
    references: list[Reference] = field(default_factory=list)
    blocks: list[tuple[str, int]] = field(default_factory=list)
    """Block ids with their lines."""
    problem: str = ""
    """What is wrong with the front matter."""
