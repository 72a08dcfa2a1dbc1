"""The tools that agents get: few, each described once, in as few words as serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lurcher.answer.page import with_notes
from lurcher.engine import Engine
from lurcher.errors import IndexBuilding, PathError, UsageError
from lurcher.inspect.answers import ContextAnswer
from lurcher.query.sources import ALL, KNOWN, LIBRARIES, SOURCES
from lurcher.server.session import Served
from lurcher.surfaces.mcp import answers, schemas
from lurcher.surfaces.mcp.access import Access
from lurcher.surfaces.mcp.answers import BUDGET, Told
from lurcher.surfaces.mcp.arguments import Parameter
from lurcher.types import MODES, Answer, Degraded, Progress

_LINES = 12
_SMALLEST, _LARGEST = 100, 100_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: what it may look at, and how it tells how far it is and hears that nobody waits any more."""

    served: Served
    access: Access
    progress: Progress
    other: Callable[[Access], Served]
    """Another engine, for a part of what may be looked at."""

    def place(self, path: str, engine: Engine | None = None) -> Path:
        """What a path means; PathError where it is outside of the allowed roots."""
        engine = engine or self.served.engine
        if len(engine.roots) > 1 and not Path(path).is_absolute() and "\0" not in path:
            try:
                located = engine.locate(path)
            except UsageError:
                pass
            else:
                return self.access.check(str(located))
        return self.access.check(path)

    def within(self, path: str | None) -> Within:
        """Whom to ask about a folder or file, or about everything."""
        if path is None:
            return Within(self.served, [], "")
        engine = self.served.engine
        if engine.elsewhere:  # the path is one of the store's, which says what is there
            return Within(self.served, [f"/{_escaped(path.strip('/'))}"], "")
        place = self.place(path, engine)
        if not place.exists():
            raise PathError(f"{path} does not exist", "pass a folder or file as a hit has it")
        served, label = self.served, ""
        if len(engine.roots) > 1:  # filters do not tell roots apart: only the one that is meant is asked
            number = next(i for i, root in enumerate(engine.roots) if place.is_relative_to(root))
            label = engine.labels[number]
            served = self.other(Access(tuple(folder for folder in self.access.folders if place.is_relative_to(folder))[:1]))
        name = served.engine.name_of(place)
        return Within(served, [f"/{_escaped(name)}"] if name else [], label)

    def shows(self, path: str, engine: Engine) -> bool:
        """Whether a path of an answer may be shown."""
        place = engine.locate(path)
        return any(place.is_relative_to(folder) for folder in self.access.folders)

    @property
    def narrowed(self) -> bool:
        """Whether only a part of an index may be shown."""
        return any(root not in self.access.folders for root in self.served.engine.roots)


def _escaped(path: str) -> str:
    """A path as a glob that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


@dataclass(frozen=True, slots=True)
class Within:
    """An engine to ask, the filter for what is meant, and what its paths begin with elsewhere."""

    served: Served
    globs: list[str]
    label: str

    def named(self, answer: Answer) -> Answer:
        hits = tuple(replace(hit, path=self.label + hit.path) for hit in answer.hits) if self.label else answer.hits
        return replace(answer, hits=hits)


Run = Callable[[Call, dict[str, Any]], Told]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    output: dict[str, Any]
    run: Run | None
    """None for what the server itself does."""
    read_only: bool = True


def _search(call: Call, given: dict[str, Any]) -> Told:
    budget, within = given["budget"], call.within(given["path"])
    options: dict[str, Any] = {
        "limit": given["limit"], "budget": answers.hits_budget(budget), "cursor": given["cursor"],
        "paths": within.globs, "languages": [given["language"]] if given["language"] else [],
        "snippet_lines": given["lines"] or None, "progress": call.progress, "mode": given["mode"],
        "sources": None if given["source"] is None else [given["source"]], "reasons": False,
    }  # fmt: skip
    missing: tuple[Degraded, ...] = ()
    if given["library"] or given["source"] == LIBRARIES:
        if given["path"]:
            raise UsageError("'path' is not for libraries", "name one with 'library'")
        asked: dict[str, Any] = {**options, "sources": [given["source"] or LIBRARIES], "libraries": given["library"] or []}
        return answers.search(call.served.engine.search(given["query"], **asked), budget)
    if given["source"] in ("history", ALL):
        try:
            with within.served.past() as engine:
                return answers.search(within.named(engine.search(given["query"], **options)), budget)
        except IndexBuilding as problem:
            if given["source"] == "history":
                raise
            # The others need not wait for it.
            options["sources"] = [source for source in SOURCES if source != "history"]
            missing = (Degraded("history", problem.message, problem.hint),)
    answer = with_notes(within.served.search(given["query"], **options), missing)
    return answers.search(within.named(answer), budget)


def _find_pattern(call: Call, given: dict[str, Any]) -> Told:
    within = call.within(given["path"])
    with within.served.past() as engine:
        answer = engine.history(
            given["query"], limit=given["limit"], budget=answers.hits_budget(given["budget"]), cursor=given["cursor"],
            since=given["since"], until=given["until"], author=given["author"], outcomes=given["outcome"] or [],
            paths=within.globs, progress=call.progress,
        )  # fmt: skip
    return answers.search(within.named(answer), given["budget"])


def _explain_change(call: Call, given: dict[str, Any]) -> Told:
    engine = call.served.engine
    first, last = given["start_line"], given["end_line"]
    answer = engine.explain(call.place(given["path"], engine), first, last or first, limit=given["limit"])
    return answers.explained(answer, given["budget"])


def _related(call: Call, given: dict[str, Any]) -> Told:
    with call.served.whole() as engine:
        answer = engine.related(
            call.place(given["path"], engine), given["line"], limit=given["limit"],
            budget=answers.hits_budget(given["budget"]), cursor=given["cursor"], snippet_lines=given["lines"] or None,
            progress=call.progress,
        )  # fmt: skip
    return answers.search(answer, given["budget"])


def _outline(call: Call, given: dict[str, Any]) -> Told:
    with call.served.whole() as engine:
        place = call.place(given["path"], engine) if given["path"] else _only(call)
        answer = engine.outline(place, kinds=given["kinds"] or [], progress=call.progress)
    return answers.outline(answer, given["budget"])


def _context(call: Call, given: dict[str, Any]) -> Told:
    with call.served.whole() as engine:
        place = call.place(given["path"], engine) if given["path"] else _only(call)
        answer = engine.context(place, budget=answers.room(given["budget"]), progress=call.progress)
        if call.narrowed:
            answer = _within(answer, lambda path: call.shows(path, engine))
    return answers.context(answer, given["budget"])


def _within(answer: ContextAnswer, shows: Callable[[str], bool]) -> ContextAnswer:
    """Without the files outside of what may be shown, which only one section tells of."""
    hidden = {
        entry
        for section in answer.sections
        if section.name == "imported by"
        for entry in section.entries
        if not shows(entry.rpartition(":")[0])
    }
    kept = (tuple(entry for entry in section.entries if entry not in hidden) for section in answer.sections)
    sections = tuple(replace(section, entries=entries) for section, entries in zip(answer.sections, kept, strict=True))
    lines = [line for line in answer.text.split("\n") if line.strip().removeprefix("- ") not in hidden]
    return replace(answer, sections=sections, text="\n".join(lines))


def _impact(call: Call, given: dict[str, Any]) -> Told:
    with call.served.whole() as engine:
        place = call.place(given["path"], engine)
        answer = engine.impact(place, symbol=given["symbol"], hops=given["hops"], progress=call.progress)
        shown = [entry for entry in answer.dependents if not call.narrowed or call.shows(entry.path, engine)]
    return answers.impact(answer, shown, given["budget"])


def _exists(call: Call, given: dict[str, Any]) -> Told:
    with call.served.whole() as engine:
        answer = engine.exists(given["text"], exact=given["exact"], progress=call.progress)
    return answers.exists(answer)


def _only(call: Call) -> Path:
    """The folder that is meant where none is named."""
    if len(call.access.folders) > 1:
        raise UsageError("there are several roots", f"name a path in one of {', '.join(map(str, call.access.folders))}")
    return call.access.folders[0]


_PATH = Parameter("path", "text", "folder or file to look in")
_FILE = Parameter("path", "text", "file, as hits have it", required=True)
_LIMIT = Parameter("limit", "int", default=8, low=1, high=100)
_BUDGET = Parameter("budget", "int", "tokens of the answer", default=BUDGET, low=_SMALLEST, high=_LARGEST)
_CURSOR = Parameter("cursor", "text", "`next` of the answer before")
_HIT_LINES = Parameter("lines", "int", "lines per hit; 0: whole", default=_LINES, high=1000)
_QUERY = Parameter("query", "text", required=True, most=100_000)
_LINE = Parameter("line", "int", required=True, low=1)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "search", "Search code, notes or history",
        "Find the code that answers a question, best first. Takes a question in plain words, a name, an error report with its "
        "stack trace, a regular expression (mode literal) or an ast-grep pattern such as `foo($A)` (mode structural). Use it "
        "instead of grep and of reading files one by one.",
        (
            _QUERY, Parameter("source", "text", "default: code, else notes", choices=KNOWN),
            Parameter("mode", "text", default="auto", choices=MODES), _PATH,
            Parameter("language", "text", "such as python"),
            Parameter("library", "texts", "indexed libraries to search instead"), _LIMIT, _HIT_LINES, _BUDGET, _CURSOR,
        ),
        schemas.SEARCH, _search,
    ),
    Tool(
        "find_pattern", "Search past changes",
        "Find commits that answer a question: has this been tried, how was it fixed, when did it break. Says which were "
        "reverted or mended later. Use it before you repeat an old mistake.",
        (
            _QUERY, Parameter("since", "text", "date, tag, or age such as 6m"), Parameter("until", "text"),
            Parameter("author", "text"),
            Parameter("outcome", "texts", choices=("success", "reverted", "hotfixed")), _PATH, _LIMIT, _BUDGET, _CURSOR,
        ),
        schemas.SEARCH, _find_pattern,
    ),
    Tool(
        "explain_change", "Why lines are there",
        "Tell which commits wrote some lines, with their messages and what became of them.",
        (
            _FILE, Parameter("start_line", "int", low=1), Parameter("end_line", "int", low=1), _LIMIT, _BUDGET,
        ),
        schemas.EXPLAIN, _explain_change,
    ),
    Tool(
        "related", "Similar code",
        "Find code like that around a line: other implementations, copies, callers with the same shape.",
        (_FILE, _LINE, _LIMIT, _HIT_LINES, _BUDGET, _CURSOR),
        schemas.SEARCH, _related,
    ),
    Tool(
        "outline", "Symbols of a file or folder",
        "List the symbols of a file, nested, with lines and signatures, or the outermost ones of a folder. Cheaper than "
        "reading the file.",
        (_PATH, Parameter("kinds", "texts", "such as class, function"), _BUDGET),
        schemas.OUTLINE, _outline,
    ),
    Tool(
        "context", "Briefing on a file or folder",
        "What to know of a file or folder before working on it: purpose, main symbols, imports, dependents, tests.",
        (_PATH, _BUDGET),
        schemas.CONTEXT, _context,
    ),
    Tool(
        "impact", "What depends on a file",
        "List files that depend on a file, or on one symbol of it, through imports. Use it before changing an interface.",
        (_FILE, Parameter("symbol", "text"), Parameter("hops", "int", default=2, low=1, high=10), _BUDGET),
        schemas.IMPACT, _impact,
    ),
    Tool(
        "exists", "Whether a text occurs",
        "Tell whether a name or short text occurs anywhere. `certain` says whether that is sure; `exact` makes a yes so.",
        (Parameter("text", "text", required=True, most=1000), Parameter("exact", "bool", default=False)),
        schemas.EXISTS, _exists,
    ),
    Tool(
        "index", "Update the index",
        "Bring the index up to date and wait for it. Hardly ever needed: every question looks for changes itself.",
        (
            Parameter("history", "bool", "all commits too", default=False),
            Parameter("rebuild", "bool", "from nothing", default=False),
        ),
        schemas.INDEXED, None, read_only=False,
    ),
    Tool(
        "status", "State of the index",
        "Tell what is indexed, how current that is, and how far indexing has come.",
        (), schemas.STATUS, None,
    ),
)  # fmt: skip
