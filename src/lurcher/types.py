"""The values that cross the seams: not changed once made, free of behaviour beyond their own shape.

Lines are 1-based and inclusive everywhere; bytes are 0-based and half-open, as slices are.

Importing `dataclasses` takes 19 ms of processor time, and each class half a millisecond; a whole search takes 45. So these
classes, and those of other modules that every search loads, are written out, with `Record` for what they share. Classes of
modules that a plain search does not load are dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeAlias, TypeVar

    R = TypeVar("R", bound="Record")


class Record:
    """Compared, hashed, shown, copied and pickled by what its slots hold, which are the arguments of `__init__` in their order.

    Not to be changed once made, though nothing prevents it: a check would make creating one ten times as slow.
    """

    __slots__: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()
    """Those of the slots that are neither compared nor hashed."""

    def values(self) -> dict[str, Any]:
        """What the slots hold, by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = (name for name in self.__slots__ if name not in self.uncompared)
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    def __hash__(self) -> int:
        return hash(tuple([getattr(self, name) for name in self.__slots__ if name not in self.uncompared]))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.values().items())
        return f"{type(self).__qualname__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), self.values())

    def replace(self: R, **changes: Any) -> R:
        """A copy with some fields changed."""
        return type(self)(**{**self.values(), **changes})

    __replace__ = replace


def _make(kind: type[R], values: dict[str, Any]) -> R:
    return kind(**values)


HEADING = "heading"
"""The kind of definition that a heading of a note is."""
HEADING_PATH = " › "
"""Stands between a heading and those above it."""
REVERTED, HOTFIXED, SUCCESS = "reverted", "hotfixed", "success"
VERDICTS = (REVERTED, HOTFIXED, SUCCESS)
"""What can become of a commit."""
STRONG, FAIR, WEAK, NONE = "strong", "fair", "weak", "none"
"""How sure an answer is; `none`: nothing was found, or nothing that matches well."""

# -- what chunking makes of a file ------------------------------------------------------------------------------------


class Definition(Record):
    """A name that a file defines."""

    __slots__ = ("name", "kind", "container", "signature", "start_byte", "end_byte", "start_line", "end_line", "exported")

    def __init__(
        self, name: str, kind: str, container: str, signature: str, start_byte: int, end_byte: int, start_line: int,
        end_line: int, exported: bool,
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        """class, struct, enum, interface, trait, type, module, function, method, constructor, macro, constant, variable, field,
        enumerator, heading"""
        self.container = container
        """Enclosing names joined by dots, outermost first; empty at the top level."""
        self.signature = signature
        """The definition's first line or lines up to its body, on one line, at most 200 characters."""
        self.start_byte, self.end_byte, self.start_line, self.end_line = start_byte, end_byte, start_line, end_line
        self.exported = exported

    @property
    def qualified(self) -> str:
        return qualified_name(self.name, self.kind, self.container)


def qualified_name(name: str, kind: str, container: str) -> str:
    """A name behind those around it."""
    return f"{container}{HEADING_PATH if kind == HEADING else '.'}{name}" if container else name


Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with (what is being done, how many are done, of how many)."""

def silent(what: str, done: int, total: int) -> None:
    """Progress that is not shown."""


# -- what a question is -----------------------------------------------------------------------------------------------

MODES = ("auto", "hybrid", "lexical", "dense", "symbol", "literal", "structural")
CASES = ("smart", "ignore", "exact")
CONTEXTS = ("none", "block", "function", "class")


class Filter(Record):
    """Which files may answer: an unset field does not restrict. `prefixes` are folders or files, relative to the root."""

    __slots__ = ("languages", "globs", "excludes", "prefixes")

    def __init__(
        self, languages: tuple[str, ...] = (), globs: tuple[str, ...] = (), excludes: tuple[str, ...] = (),
        prefixes: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        self.languages, self.globs, self.excludes, self.prefixes = languages, globs, excludes, prefixes


ANY_FILE = Filter()


# -- what comes back --------------------------------------------------------------------------------------------------


class LaneWhy(Record):
    """Where one lane placed the hit, and what earned the place."""

    __slots__ = ("rank", "score", "terms")

    def __init__(self, rank: int, score: float, terms: dict[str, float] | None = None) -> None:
        self.rank, self.score = rank, score
        self.terms: dict[str, float] = {} if terms is None else terms

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"rank": self.rank, "score": round(self.score, 6)}
        if self.terms:
            out["terms"] = {term: round(weight, 4) for term, weight in self.terms.items()}
        return out


class StageWhy(Record):
    """One push up or down: a factor (multiplies) or an amount (adds)."""

    __slots__ = ("stage", "factor", "amount", "note")

    def __init__(self, stage: str, factor: float | None = None, amount: float | None = None, note: str = "") -> None:
        self.stage, self.factor, self.amount, self.note = stage, factor, amount, note

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"stage": self.stage}
        if self.factor is not None:
            out["factor"] = round(self.factor, 6)
        if self.amount is not None:
            out["amount"] = round(self.amount, 6)
        if self.note:
            out["note"] = self.note
        return out


class _Deferred:
    __slots__ = ("compute",)
    compute: Callable[[], Why] | None

    def __getattr__(self, name: str) -> Any:
        """Fills the slots when the first of them is read; what they need is then let go."""
        if name not in Why.__slots__:
            raise AttributeError(name)
        if self.compute is not None:
            self.__init__(**self.compute().values())  # type: ignore[misc]
            self.compute = None
        return getattr(self, name)


class Why(_Deferred, Record):
    __slots__ = ("lanes", "fused", "stages", "scores")

    def __init__(
        self, lanes: dict[str, LaneWhy] | None = None, fused: float = 0.0, stages: tuple[StageWhy, ...] = (),
        scores: dict[str, float] | None = None,
    ) -> None:  # fmt: skip
        self.lanes: dict[str, LaneWhy] = {} if lanes is None else lanes
        self.fused, self.stages = fused, stages
        self.scores: dict[str, float] = {} if scores is None else scores
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


class Match(Record):
    """The exact place of a match. Columns count characters from 1; the end column is the one behind the last character."""

    __slots__ = ("start_line", "start_column", "end_line", "end_column", "captures")

    def __init__(
        self, start_line: int, start_column: int, end_line: int, end_column: int, captures: Captures | None = None,
    ) -> None:  # fmt: skip
        self.start_line, self.start_column, self.end_line, self.end_column = start_line, start_column, end_line, end_column
        self.captures: Captures = {} if captures is None else captures

    def to_dict(self) -> dict[str, Any]:
        out = self.values()
        return out if self.captures else {name: value for name, value in out.items() if name != "captures"}


def with_headers(text: str, headers: tuple[tuple[int, str], ...]) -> str:
    """The text of a place below the signatures of the definitions around it."""
    return "".join([*[f"{signature} …\n" for _, signature in headers], text]) if headers else text


class Place(Record):
    """Lines of a file that answer a query: one of the places of a hit."""

    __slots__ = (
        "start_line", "end_line", "symbol", "kind", "score", "tokens", "text", "why", "matches", "line", "cell", "headers",
    )  # fmt: skip

    def __init__(
        self, start_line: int, end_line: int, symbol: str | None, kind: str | None, score: float, tokens: int, text: str,
        why: Why, matches: tuple[Match, ...] = (), line: int = 0, cell: dict[str, Any] | None = None,
        headers: tuple[tuple[int, str], ...] = (),
    ) -> None:  # fmt: skip
        self.start_line, self.end_line, self.symbol, self.kind, self.score = start_line, end_line, symbol, kind, score
        self.tokens, self.text, self.why, self.matches, self.line, self.cell = tokens, text, why, matches, line, cell
        self.headers = headers
        """Line and signature of each type and function around the text that begins above it, outermost first."""

    @property
    def best_line(self) -> int:
        return self.line or self.start_line

    @property
    def full_text(self) -> str:
        """The text below its headers, each on a line that ends with `…`. `tokens` counts all of it."""
        return with_headers(self.text, self.headers)

    def to_dict(self, *, brief: bool = False) -> dict[str, Any]:
        """Without text and reasons where `brief`."""
        out: dict[str, Any] = {
            "start_line": self.start_line, "end_line": self.end_line, "line": self.best_line, "symbol": self.symbol,
            "kind": self.kind, "score": round(self.score, 6), "tokens": self.tokens,
        }  # fmt: skip
        if not brief:
            out |= {"text": self.text, "why": self.why.to_dict()}
            if self.cell is not None:
                out["cell"] = self.cell
            if self.headers:
                out["headers"] = headers_data(self.headers)
            if self.matches:
                out["matches"] = [match.to_dict() for match in self.matches]
        return out


def headers_data(headers: tuple[tuple[int, str], ...]) -> list[dict[str, Any]]:
    return [{"line": line, "text": text} for line, text in headers]


class Evidence(Record):
    """A later commit that supports or weakens a verdict."""

    __slots__ = ("kind", "sha", "date", "author", "note", "how", "confidence")

    def __init__(
        self, kind: str, sha: str, date: int, author: str, note: str, how: str = "", confidence: float = 1.0
    ) -> None:  # fmt: skip
        self.kind, self.sha, self.author, self.confidence = kind, sha, author, confidence
        """Kinds: reverted, partly-reverted, revert-undone, mended (it rewrote lines of this one), followed (it says fix)."""
        self.date = date
        """Seconds since 1970."""
        self.note = note
        """The reason, in the words of the later commit."""
        self.how = how
        """How a revert refers to what it reverts: sha, subject, number or merge."""


class Outcome(Record):
    """What became of a commit."""

    __slots__ = ("verdict", "confidence", "evidence")

    def __init__(self, verdict: str, confidence: float, evidence: tuple[Evidence, ...] = ()) -> None:
        self.verdict, self.confidence, self.evidence = verdict, confidence, evidence

    def to_dict(self) -> dict[str, Any]:
        return self.values() | {"evidence": [entry.values() for entry in self.evidence]}


class CommitHunk(Record):
    """The part of a commit that answers best; `removed` and `added` count lines."""

    __slots__ = ("path", "old_path", "old_start", "new_start", "removed", "added", "heading", "kind")

    def __init__(
        self, path: str, old_path: str | None, old_start: int, new_start: int, removed: int, added: int, heading: str, kind: str
    ) -> None:
        self.path, self.old_path, self.old_start, self.new_start = path, old_path, old_start, new_start
        self.removed, self.added, self.heading, self.kind = removed, added, heading, kind


class CommitInfo(Record):
    """The commit that a hit of the history is; `date` in ISO 8601, `files` the first of `file_count`."""

    __slots__ = ("sha", "subject", "author", "date", "outcome", "files", "file_count", "hunk", "same_change")

    def __init__(
        self, sha: str, subject: str, author: str, date: str, outcome: Outcome, files: tuple[str, ...], file_count: int,
        hunk: CommitHunk | None = None, same_change: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.sha, self.subject, self.author, self.date, self.outcome = sha, subject, author, date, outcome
        self.files, self.file_count, self.hunk = files, file_count, hunk
        self.same_change = same_change
        """Other commits that make the same change, such as those that it was picked from."""

    def to_dict(self) -> dict[str, Any]:
        hunk = None if self.hunk is None else self.hunk.values()
        out = self.values() | {"outcome": self.outcome.to_dict(), "files": list(self.files), "hunk": hunk}
        same = list(out.pop("same_change"))
        return out | {"same_change": same} if same else out


class Hit(Record):
    """A file with the places in it that answer a query, or a commit, or a section of a note.

    What describes a place (lines, symbol, score, text, why) is that of the first one; `tokens` are those of all places.
    """

    __slots__ = (
        "id", "source", "path", "start_line", "end_line", "language", "symbol", "kind", "score", "tokens", "text", "why",
        "commit", "links", "matches", "note", "library", "version", "line", "cell", "further", "headers", "repository",
    )  # fmt: skip

    def __init__(
        self, id: str, source: str, path: str, start_line: int, end_line: int, language: str, symbol: str | None,
        kind: str | None, score: float, tokens: int, text: str, why: Why, commit: CommitInfo | None = None,
        links: dict[str, list[Any]] | None = None, matches: tuple[Match, ...] = (), note: dict[str, Any] | None = None,
        library: str | None = None, version: str | None = None, line: int = 0, cell: dict[str, Any] | None = None,
        further: tuple[Place, ...] = (), headers: tuple[tuple[int, str], ...] = (), repository: str | None = None,
    ) -> None:  # fmt: skip
        self.id, self.source, self.path, self.start_line, self.end_line = id, source, path, start_line, end_line
        self.language, self.symbol, self.kind, self.score, self.tokens, self.text = language, symbol, kind, score, tokens, text
        self.why, self.commit = why, commit
        self.links: dict[str, list[Any]] = {"commits": [], "notes": []} if links is None else links
        self.matches = matches
        """Where exactly the query matches, for modes that know: those that begin in the hit, in order."""
        self.note = note
        """Of a note: its title, the headings above, tags, date, and how to open it (`anchor`, and in a vault `wikilink`)."""
        self.library = library
        """Of a hit in an installed library: which one, as `--library` takes it."""
        self.version = version
        """The version of that library that was indexed; empty where nothing tells it."""
        self.line = line
        """The line to go to: the one among those shown that matches best; 0 where none is better than the first."""
        self.cell = cell
        """Of a hit in a notebook: `number` of the cell, from 1, its `type`, and `start_line` and `end_line` within it."""
        self.further = further
        """The places after the first, best first."""
        self.headers = headers
        """Of the first place, as `Place.headers`."""
        self.repository = repository
        """Of a hit in a workspace: the name of its repository, with which `path` begins."""

    def __hash__(self) -> int:
        return hash((self.id, self.source, self.path, self.start_line, self.end_line))  # others hold what cannot be hashed

    def __repr__(self) -> str:
        named = f" {self.symbol}" if self.symbol else ""
        if self.commit is not None:
            return f"<Hit {self.commit.sha[:10]} {self.commit.subject!r} {self.score:.3f}>"
        return f"<Hit {self.path}:{self.start_line}-{self.end_line}{named} {self.score:.3f}>"

    @property
    def best_line(self) -> int:
        return self.line or self.start_line

    @property
    def places(self) -> tuple[Place, ...]:
        """All places, best first."""
        tokens = self.tokens - sum([place.tokens for place in self.further])
        first = Place(
            self.start_line, self.end_line, self.symbol, self.kind, self.score, tokens, self.text, self.why, self.matches,
            self.line, self.cell, self.headers,
        )  # fmt: skip
        return (first, *self.further)

    def with_places(self, places: Sequence[Place]) -> Hit:
        """The same with other places, of which the first gives the fields of the hit."""
        first = {name: getattr(places[0], name) for name in Place.__slots__}
        return self.replace(**first | {"tokens": sum([place.tokens for place in places]), "further": tuple(places[1:])})

    def split(self) -> tuple[Hit, ...]:
        """One hit for each place."""
        return tuple([self.with_places((place,)) for place in self.places]) if self.further else (self,)

    @property
    def captures(self) -> Captures:
        """What the metavariables of the first match stand for."""
        return self.matches[0].captures if self.matches else {}

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "id": self.id, "source": self.source, "path": self.path, "start_line": self.start_line, "end_line": self.end_line,
            "line": self.best_line, "language": self.language, "symbol": self.symbol, "kind": self.kind,
            "score": round(self.score, 6), "tokens": self.tokens, "text": self.text,
            "commit": None if self.commit is None else self.commit.to_dict(), "why": self.why.to_dict(), "links": self.links,
        }  # fmt: skip
        own = {"note": self.note, "cell": self.cell, "repository": self.repository}
        out |= {name: value for name, value in own.items() if value is not None}
        if self.library is not None:
            out |= {"library": self.library, "version": self.version}
        if self.headers:
            out["headers"] = headers_data(self.headers)
        if self.matches:
            out["matches"] = [match.to_dict() for match in self.matches]
        if self.captures:
            out["captures"] = self.captures
        first, *further = self.places
        out["places"] = [first.to_dict(brief=True), *(place.to_dict() for place in further)]
        return out


class Degraded(Record):
    """A part of the answer that is missing or weaker than usual, and what to do about it."""

    __slots__ = ("stage", "reason", "hint")

    def __init__(self, stage: str, reason: str, hint: str = "") -> None:
        self.stage, self.reason, self.hint = stage, reason, hint

    def to_dict(self) -> dict[str, str]:
        return self.values()


class IndexState(Record):
    """How current the index behind an answer is."""

    __slots__ = ("generation", "fresh", "stale_paths", "coverage", "shared")

    def __init__(
        self, generation: int, fresh: bool, stale_paths: int, coverage: dict[str, float] | None = None,
        shared: dict[str, dict[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.generation, self.fresh, self.stale_paths = generation, fresh, stale_paths
        self.coverage: dict[str, float] = {} if coverage is None else coverage
        self.shared: dict[str, dict[str, Any]] = {} if shared is None else shared
        """Of an answer out of a shared store: each project with its generation, its commit and when it was written."""

    def to_dict(self) -> dict[str, Any]:
        out = self.values()
        return out if self.shared else {name: value for name, value in out.items() if name != "shared"}


class Confidence(Record):
    """How sure an answer is, as in `Answer`."""

    __slots__ = ("level", "likelihood", "unknown_words")

    def __init__(
        self, level: str | None, likelihood: dict[str, float] | None = None, unknown_words: tuple[str, ...] = ()
    ) -> None:
        self.level, self.likelihood, self.unknown_words = level, likelihood, unknown_words

    @property
    def weight(self) -> float:
        """What scores are multiplied with, so that they compare between repositories; not so small that all look like 0."""
        return max(0.1, self.likelihood["here"]) if self.likelihood else 1.0


class Answer(Record):
    __slots__ = (
        "query", "mode", "intent", "ranking", "sources", "hits", "total", "tokens", "next", "index", "degraded", "timings_ms",
        "languages", "at_least", "named", "places_shown", "confidence", "likelihood", "unknown_words", "usage",
    )  # fmt: skip

    def __init__(
        self, query: str, mode: str, intent: str, ranking: str, sources: tuple[str, ...], hits: tuple[Hit, ...], total: int,
        tokens: int, next: str | None, index: IndexState, degraded: tuple[Degraded, ...] = (),
        timings_ms: dict[str, float] | None = None, languages: tuple[str, ...] = (), at_least: bool = False,
        named: int | None = None, places_shown: int | None = None, confidence: str | None = None,
        likelihood: dict[str, float] | None = None, unknown_words: tuple[str, ...] = (), usage: Any = None,
    ) -> None:  # fmt: skip
        self.query, self.mode, self.intent, self.ranking, self.sources, self.hits = query, mode, intent, ranking, sources, hits
        self.total, self.tokens, self.next, self.index, self.degraded = total, tokens, next, index, degraded
        self.timings_ms: dict[str, float] = {} if timings_ms is None else timings_ms
        self.languages = languages
        """The languages in which a pattern was searched for; empty in modes that have none."""
        self.at_least = at_least
        """Whether there are more hits than `total`: the search stopped when it had found enough."""
        self.named = named
        """Of a question for a name: in how many places it stands as a whole. All other hits have parts of it."""
        self.places_shown = len(hits) if places_shown is None else places_shown
        """How many of the `total` places the hits show; those that touch are shown as one."""
        self.confidence = confidence
        """How sure the answer is: strong, fair, weak or none; None where that is not known."""
        self.likelihood: dict[str, float] = {} if likelihood is None else likelihood
        """`here`: that what was searched has the answer, which compares between repositories; `first`: that the first file is
        right, if it has. Empty where they are not known."""
        self.unknown_words = unknown_words
        """Words of the query that occur nowhere in the index."""
        self.usage = usage
        """Of a question about who uses a name: a `UsageAnswer`, which comes before the hits."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return True  # an answer without hits is an answer

    def __getitem__(self, position: int) -> Hit:
        return self.hits[position]

    def __repr__(self) -> str:
        shown = "".join([f"\n  {hit!r}" for hit in self.hits])
        return f"<Answer to {self.query!r}: {self.counted if self.hits else self.nothing}>{shown}"

    def _repr_html_(self) -> str:
        """What a notebook shows. What draws it is found by its name: values know nothing of those who show them."""
        from importlib import import_module

        html: str = import_module("lurcher.surfaces.notebook").draw_answer(self)
        return html

    @property
    def caveat(self) -> str:
        """What to say before the hits: that they match badly, and which words are missing. Empty for a good answer."""
        if self.confidence not in (WEAK, NONE) or not self.hits:
            return ""
        if self.confidence == WEAK and self.sources == ("history",):  # its first note says how much is searched
            return ""
        if self.confidence == NONE:
            return f"No good match: these are only the nearest places{self._nowhere}"
        return f"Weak match: these places may not be what you look for{self._nowhere}"

    @property
    def nothing(self) -> str:
        """What to say of an answer without hits; empty for one that has some."""
        return "" if self.hits else f"nothing found{self._nowhere}"

    @property
    def _nowhere(self) -> str:
        return f"; nowhere in the index: {', '.join(self.unknown_words)}" if self.unknown_words else ""

    @property
    def assessment(self) -> dict[str, Any]:
        """How sure the answer is, as data; what is not known is absent."""
        if self.confidence is None:
            return {}
        return {
            "confidence": self.confidence,
            **({"likelihood": {name: round(p, 4) for name, p in self.likelihood.items()}} if self.likelihood else {}),
            **({"unknown_words": list(self.unknown_words)} if self.unknown_words else {}),
            **({"caveat": self.caveat} if self.caveat else {}),
        }

    @property
    def counted(self) -> str:
        """How many places there are beside those that are shown."""
        shown, hits = self.places_shown, "1 hit" if len(self.hits) == 1 else f"{len(self.hits)} hits"
        if not self.named or self.named >= self.total:
            total = f"{'at least ' if self.at_least else ''}{self.total:,}"
            return f"{shown} of {total} hits" if shown == len(self.hits) else f"{shown} of {total} places, in {hits}"
        places = "1 place" if self.named == 1 else f"{self.named:,} places"
        if self.at_least:
            places = f"at least {places}"
        left = self.total - self.named
        return f"{hits}; the name is in {places}, {left:,} more {'has' if left == 1 else 'have'} parts of it"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query, "mode": self.mode, "intent": self.intent, "ranking": self.ranking,
            "sources": list(self.sources), **self.assessment,
            **({"references": self.usage.to_dict()} if self.usage is not None else {}),
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
        }  # fmt: skip
