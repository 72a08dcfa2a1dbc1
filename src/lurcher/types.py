"""The values that cross the seams: frozen, slotted, free of behaviour beyond their own shape.

Lines are 1-based and inclusive everywhere; bytes are 0-based and half-open, as slices are.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

HEADING = "heading"
"""The kind of definition that a heading of a note is."""
HEADING_PATH = " › "
"""Stands between a heading and those above it."""
REVERTED, HOTFIXED, SUCCESS = "reverted", "hotfixed", "success"
VERDICTS = (REVERTED, HOTFIXED, SUCCESS)
"""What can become of a commit."""

# -- what chunking makes of a file ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """A run of a file's text. Spans of one file tile it: no overlap, no gap."""

    start_byte: int
    end_byte: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a file defines."""

    name: str
    kind: str
    """class, struct, enum, interface, trait, type, module, function, method, constructor, macro, constant, variable, field,
    enumerator, heading"""
    container: str
    """Enclosing names joined by dots, outermost first; empty at the top level."""
    signature: str
    """The definition's first line or lines up to its body, on one line, at most 200 characters."""
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    exported: bool

    @property
    def qualified(self) -> str:
        return qualified_name(self.name, self.kind, self.container)


def qualified_name(name: str, kind: str, container: str) -> str:
    """A name behind those around it."""
    return f"{container}{HEADING_PATH if kind == HEADING else '.'}{name}" if container else name


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


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One file, cut into chunks, with what it defines, where its comments are, and what it imports."""

    language: str
    chunks: tuple[Span, ...]
    definitions: tuple[Definition, ...]
    comments: tuple[tuple[int, int], ...]
    """Byte ranges of comments and documentation strings, in order, disjoint."""
    imports: tuple[Import, ...] = ()
    above: tuple[str, ...] = ()
    """Of a note, for each chunk: its title and headings, which count when notes are ranked and are not shown."""
    gave_up: bool = False
    """Whether it is cut by lines because its grammar took too much time or memory, or crashed."""
    no_grammar: bool = False
    """Whether it is cut by lines because the grammar of its language cannot be loaded."""


Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with (what is being done, how many are done, of how many)."""

def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


# -- what a question is -----------------------------------------------------------------------------------------------

MODES = ("auto", "hybrid", "lexical", "dense", "symbol", "literal", "structural")
CASES = ("smart", "ignore", "exact")
CONTEXTS = ("none", "block", "function", "class")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which files may answer. An unset field does not restrict; a set one that matches nothing yields nothing."""

    languages: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] | None = None
    """Folders or files relative to the root; None means the whole root."""


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    limit: int = 10
    mode: str = "auto"
    ranking: str = "default"
    filter: Filter = Filter()
    budget: int | None = None
    cursor: str | None = None
    context: str = "block"
    snippet_lines: int | None = None
    fixed: bool = False
    """A literal query is a fixed string, not a regular expression."""
    case: str = "smart"
    """Whether letters must match in case: smart (only if the pattern has a capital), ignore, exact."""
    word: bool = False
    multiline: bool = False
    rerank: tuple[str, ...] = ()
    """Second looks at the first hits, one after the other."""
    fusion: str | None = None
    """rrf is the classic ranking, linear adds up; None: as the ranking has it."""
    alpha: float | None = None
    mmr: float | None = None
    reasons: bool = True
    """Whether hits tell why they are there, which takes a tenth of the time."""
    prose: bool = True
    """Whether notes may answer too; where they are asked for themselves, they do not answer as code."""

    @property
    def order(self) -> str:
        """Which ranking puts the units in order."""
        return {"linear": "linear", "rrf": "classic"}.get(self.fusion or "", self.ranking)


# -- what comes back --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneWhy:
    """Where one lane placed the hit, and what earned the place."""

    rank: int
    score: float
    terms: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"rank": self.rank, "score": round(self.score, 6)}
        if self.terms:
            out["terms"] = {term: round(weight, 4) for term, weight in self.terms.items()}
        return out


@dataclass(frozen=True, slots=True)
class StageWhy:
    """One push up or down: a factor (multiplies) or an amount (adds)."""

    stage: str
    factor: float | None = None
    amount: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"stage": self.stage}
        if self.factor is not None:
            out["factor"] = round(self.factor, 6)
        if self.amount is not None:
            out["amount"] = round(self.amount, 6)
        if self.note:
            out["note"] = self.note
        return out


@dataclass(frozen=True, slots=True)
class Why:
    lanes: dict[str, LaneWhy] = field(default_factory=dict)
    fused: float = 0.0
    stages: tuple[StageWhy, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    """Scores by name, of rankings that tell of them."""

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "lanes": {name: lane.to_dict() for name, lane in self.lanes.items()},
            "fused": round(self.fused, 6),
            "stages": [stage.to_dict() for stage in self.stages],
        }
        if self.scores:
            out["scores"] = {name: round(value, 6) for name, value in self.scores.items()}
        return out


Captures = dict[str, str | list[str]]
"""What metavariables stand for: a text for `$NAME`, texts for `$$$NAME`."""


@dataclass(frozen=True, slots=True)
class Match:
    """The exact place of a match. Columns count characters from 1; the end column is the one behind the last character."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    captures: Captures = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__ if name != "captures"}
        if self.captures:
            out["captures"] = self.captures
        return out


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    source: str
    path: str
    start_line: int
    end_line: int
    language: str
    symbol: str | None
    kind: str | None
    score: float
    tokens: int
    text: str
    why: Why
    commit: dict[str, Any] | None = None
    links: dict[str, list[Any]] = field(default_factory=lambda: {"commits": [], "notes": []})
    matches: tuple[Match, ...] = ()
    """Where exactly the query matches, for modes that know: those that begin in the hit, in order."""
    note: dict[str, Any] | None = None
    """Of a note: its title, the headings above, tags, date, and how to open it (`anchor`, and in a vault `wikilink`)."""
    library: str | None = None
    """Of a hit in an installed library: which one, as `--library` takes it."""
    version: str | None = None
    """The version of that library that was indexed; empty where nothing tells it."""
    line: int = 0
    """The line to go to: the one among those shown that matches best; 0 where none is better than the first."""

    cell: dict[str, Any] | None = None
    """Of a hit in a notebook: `number` of the cell, from 1, its `type`, and `start_line` and `end_line` within it."""

    @property
    def best_line(self) -> int:
        return self.line or self.start_line

    @property
    def captures(self) -> Captures:
        """What the metavariables of the first match stand for."""
        return self.matches[0].captures if self.matches else {}

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "id": self.id,
            "source": self.source,
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "line": self.best_line,
            "language": self.language,
            "symbol": self.symbol,
            "kind": self.kind,
            "score": round(self.score, 6),
            "tokens": self.tokens,
            "text": self.text,
            "commit": self.commit,
            "why": self.why.to_dict(),
            "links": self.links,
        }
        if self.note is not None:
            out["note"] = self.note
        if self.cell is not None:
            out["cell"] = self.cell
        if self.library is not None:
            out |= {"library": self.library, "version": self.version}
        if self.matches:
            out["matches"] = [match.to_dict() for match in self.matches]
        if self.captures:
            out["captures"] = self.captures
        return out


@dataclass(frozen=True, slots=True)
class Degraded:
    """A part of the answer that is missing or weaker than usual, and what to do about it."""

    stage: str
    reason: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        return {"stage": self.stage, "reason": self.reason, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class IndexState:
    """How current the index behind an answer is."""

    generation: int
    fresh: bool
    stale_paths: int
    coverage: dict[str, float] = field(default_factory=dict)
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of an answer out of a shared store: each project with its generation, its commit and when it was written."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "fresh": self.fresh,
            "stale_paths": self.stale_paths,
            "coverage": self.coverage,
            **({"shared": self.shared} if self.shared else {}),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    query: str
    mode: str
    intent: str
    ranking: str
    sources: tuple[str, ...]
    hits: tuple[Hit, ...]
    total: int
    tokens: int
    next: str | None
    index: IndexState
    degraded: tuple[Degraded, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    """The languages in which a pattern was searched for; empty in modes that have none."""
    at_least: bool = False
    """Whether there are more hits than `total`: the search stopped when it had found enough."""
    named: int | None = None
    """Of a question for a name: in how many places it stands as a whole. All other hits have parts of it."""

    @property
    def counted(self) -> str:
        """How many hits there are beside those that are shown."""
        if not self.named or self.named >= self.total:
            return f"{len(self.hits)} of {'at least ' if self.at_least else ''}{self.total:,} hits"
        hits = "1 hit" if len(self.hits) == 1 else f"{len(self.hits)} hits"
        places = "1 place" if self.named == 1 else f"{self.named:,} places"
        left = self.total - self.named
        return f"{hits}; the name is in {places}, {left:,} more {'has' if left == 1 else 'have'} parts of it"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "mode": self.mode,
            "intent": self.intent,
            "ranking": self.ranking,
            "sources": list(self.sources),
            "hits": [hit.to_dict() for hit in self.hits],
            "total": self.total,
            **({"at_least": True} if self.at_least else {}),
            "tokens": self.tokens,
            "next": self.next,
            "index": self.index.to_dict(),
            "degraded": [entry.to_dict() for entry in self.degraded],
            "timings_ms": {name: round(value, 3) for name, value in self.timings_ms.items()},
            **({"languages": list(self.languages)} if self.languages else {}),
            **({"named": self.named} if self.named is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """One definition of a name, as `lurcher symbol` shows it."""

    name: str
    qualified: str
    kind: str
    path: str
    start_line: int
    end_line: int
    language: str
    signature: str
    exported: bool
    test: bool
    references: int | None
    """How often the name is used; None where that was not counted, as in a shared store."""

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """The definitions of a name, best first; reads as a sequence of them."""

    name: str
    definitions: tuple[SymbolHit, ...]
    index: IndexState
    degraded: tuple[Degraded, ...] = ()

    def __len__(self) -> int:
        return len(self.definitions)

    def __iter__(self) -> Iterator[SymbolHit]:
        return iter(self.definitions)

    def __getitem__(self, position: int) -> SymbolHit:
        return self.definitions[position]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "definitions": [hit.to_dict() for hit in self.definitions],
            "index": self.index.to_dict(),
            "degraded": [entry.to_dict() for entry in self.degraded],
        }
