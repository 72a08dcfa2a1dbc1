"""The tools that agents get: few, each described in as few words as serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lurcher.answer.page import add_notes
from lurcher.engine import Engine
from lurcher.errors import IndexBuilding, PathError, UsageError
from lurcher.inspect.answers import ContextAnswer
from lurcher.query.validate import ALL, LIBRARIES, SOURCES
from lurcher.server.session import Session
from lurcher.surfaces.mcp import answers, schemas
from lurcher.surfaces.mcp.access import Access
from lurcher.surfaces.mcp.answers import ToolResult
from lurcher.surfaces.mcp.arguments import ARGUMENTS
from lurcher.surfaces.parameters import Parameter
from lurcher.types import Answer, Degraded, Progress


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: what it may look at, and how it tells how far it is and hears that nobody waits any more."""

    served: Session
    access: Access
    progress: Progress
    other: Callable[[Access], Session]
    """Another engine, for a part of what may be looked at."""

    def resolve(self, path: str, engine: Engine | None = None) -> Path:
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

    def scope(self, path: str | None) -> Scope:
        """Whom to ask about a folder or file, or about everything."""
        if path is None:
            return Scope(self.served, [], "")
        engine = self.served.engine
        if engine.elsewhere:  # the path is one of the store's, which says what is there
            return Scope(self.served, [f"/{_escape_glob(path.strip('/'))}"], "")
        place = self.resolve(path, engine)
        if not place.exists():
            raise PathError(f"{path} does not exist", "pass a folder or file as a hit has it")
        served, label = self.served, ""
        if len(engine.roots) > 1:  # filters do not tell roots apart: only the one that is meant is asked
            number = next(i for i, root in enumerate(engine.roots) if place.is_relative_to(root))
            label = engine.labels[number]
            served = self.other(Access(tuple(folder for folder in self.access.folders if place.is_relative_to(folder))[:1]))
        name = served.engine.name_of(place)
        return Scope(served, [f"/{_escape_glob(name)}"] if name else [], label)

    def shows(self, path: str, engine: Engine) -> bool:
        """Whether a path of an answer may be shown."""
        place = engine.locate(path)
        return any(place.is_relative_to(folder) for folder in self.access.folders)

    @property
    def is_narrowed(self) -> bool:
        """Whether only a part of an index may be shown."""
        return any(root not in self.access.folders for root in self.served.engine.roots)


def _escape_glob(path: str) -> str:
    """A path as a glob that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


@dataclass(frozen=True, slots=True)
class Scope:
    """An engine to ask, the filter for what is meant, and what its paths begin with elsewhere."""

    served: Session
    globs: list[str]
    label: str

    def with_labels(self, answer: Answer) -> Answer:
        hits = tuple(replace(hit, path=self.label + hit.path) for hit in answer.hits) if self.label else answer.hits
        return replace(answer, hits=hits)


Run = Callable[[Call, dict[str, Any]], ToolResult]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    output: dict[str, Any]
    run: Run | None
    """None for what the server itself does."""
    read_only: bool = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ARGUMENTS[self.name]


def _search(call: Call, given: dict[str, Any]) -> ToolResult:
    budget, scope = given["budget"], call.scope(given["path"])
    options: dict[str, Any] = {
        "limit": given["limit"], "budget": answers.hits_budget(budget), "cursor": given["cursor"],
        "paths": scope.globs, "languages": [given["language"]] if given["language"] else [],
        "snippet_lines": given["lines"] or None, "progress": call.progress, "mode": given["mode"],
        "sources": None if given["source"] is None else [given["source"]], "reasons": False,
    }  # fmt: skip
    missing: tuple[Degraded, ...] = ()
    if given["library"] or given["source"] == LIBRARIES:
        if given["path"]:
            raise UsageError("'path' is not for libraries", "name one with 'library'")
        asked: dict[str, Any] = {**options, "sources": [given["source"] or LIBRARIES], "libraries": given["library"] or []}
        return answers.render_search(call.served.engine.search(given["query"], **asked), budget)
    if given["source"] in ("history", ALL):
        try:
            with scope.served.with_history() as engine:
                return answers.render_search(scope.with_labels(engine.search(given["query"], **options)), budget)
        except IndexBuilding as problem:
            if given["source"] == "history":
                raise
            # The others need not wait for it.
            options["sources"] = [source for source in SOURCES if source != "history"]
            missing = (Degraded("history", problem.message, problem.hint),)
    answer = add_notes(scope.served.search(given["query"], **options), missing)
    return answers.render_search(scope.with_labels(answer), budget)


def _find_pattern(call: Call, given: dict[str, Any]) -> ToolResult:
    scope = call.scope(given["path"])
    with scope.served.with_history() as engine:
        answer = engine.history(
            given["query"], limit=given["limit"], budget=answers.hits_budget(given["budget"]), cursor=given["cursor"],
            since=given["since"], until=given["until"], author=given["author"], outcomes=given["outcome"] or [],
            paths=scope.globs, progress=call.progress,
        )  # fmt: skip
    return answers.render_search(scope.with_labels(answer), given["budget"])


def _explain_change(call: Call, given: dict[str, Any]) -> ToolResult:
    engine = call.served.engine
    first, last = given["start_line"], given["end_line"]
    answer = engine.explain(call.resolve(given["path"], engine), first, last or first, limit=given["limit"])
    return answers.render_explain(answer, given["budget"])


def _related(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        answer = engine.related(
            call.resolve(given["path"], engine), given["line"], limit=given["limit"],
            budget=answers.hits_budget(given["budget"]), cursor=given["cursor"], snippet_lines=given["lines"] or None,
            progress=call.progress,
        )  # fmt: skip
    return answers.render_search(answer, given["budget"])


def _outline(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        place = call.resolve(given["path"], engine) if given["path"] else _single_folder(call)
        answer = engine.outline(place, kinds=given["kinds"] or [], progress=call.progress)
    return answers.render_outline(answer, given["budget"])


def _context(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        place = call.resolve(given["path"], engine) if given["path"] else _single_folder(call)
        answer = engine.context(place, budget=answers.entry_budget(given["budget"]), progress=call.progress)
        if call.is_narrowed:
            answer = _hide_outside(answer, lambda path: call.shows(path, engine))
    return answers.render_context(answer, given["budget"])


def _hide_outside(answer: ContextAnswer, shows: Callable[[str], bool]) -> ContextAnswer:
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


def _impact(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        place = call.resolve(given["path"], engine)
        answer = engine.impact(place, symbol=given["symbol"], hops=given["hops"], progress=call.progress)
        shown = [entry for entry in answer.dependents if not call.is_narrowed or call.shows(entry.path, engine)]
    return answers.render_impact(answer, shown, given["budget"])


def _exists(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        answer = engine.exists(given["text"], exact=given["exact"], progress=call.progress)
    return answers.render_exists(answer)


def _single_folder(call: Call) -> Path:
    """The folder that is meant where none is named."""
    if len(call.access.folders) > 1:
        raise UsageError("there are several roots", f"name a path in one of {', '.join(map(str, call.access.folders))}")
    return call.access.folders[0]


TOOLS: tuple[Tool, ...] = (
    Tool(
        "search", "Search code, notes or history",
        "Find the code that answers a question, best first. Takes a question in plain words, a name, an error report with its "
        "stack trace, a regular expression (mode literal) or an ast-grep pattern such as `foo($A)` (mode structural). Use it "
        "instead of grep and of reading files one by one.",
        schemas.SEARCH, _search,
    ),
    Tool(
        "find_pattern", "Search past changes",
        "Find commits that answer a question: has this been tried, how was it fixed, when did it break. Says which were "
        "reverted or fixed later. Use it before you repeat an old mistake.",
        schemas.SEARCH, _find_pattern,
    ),
    Tool(
        "explain_change", "Why lines are there",
        "Tell which commits wrote some lines, with their messages and what became of them.",
        schemas.EXPLAIN, _explain_change,
    ),
    Tool(
        "related", "Similar code",
        "Find code like that around a line: other implementations, copies, callers with the same shape.",
        schemas.SEARCH, _related,
    ),
    Tool(
        "outline", "Symbols of a file or folder",
        "List the symbols of a file, nested, with lines and signatures, or the outermost ones of a folder. Cheaper than "
        "reading the file.",
        schemas.OUTLINE, _outline,
    ),
    Tool(
        "context", "Briefing on a file or folder",
        "What to know of a file or folder before working on it: purpose, main symbols, imports, dependents, tests.",
        schemas.CONTEXT, _context,
    ),
    Tool(
        "impact", "What depends on a file",
        "List files that depend on a file, or on one symbol of it, through imports. Use it before changing an interface.",
        schemas.IMPACT, _impact,
    ),
    Tool(
        "exists", "Whether a text occurs",
        "Tell whether a name or short text occurs anywhere. `certain` says whether that is sure; `exact` makes a yes so.",
        schemas.EXISTS, _exists,
    ),
    Tool(
        "index", "Update the index",
        "Bring the index up to date and wait for it. Hardly ever needed: every question looks for changes itself.",
        schemas.INDEXED, None, read_only=False,
    ),
    Tool(
        "status", "State of the index",
        "Tell what is indexed, how current that is, and how far indexing has come.",
        schemas.STATUS, None,
    ),
)  # fmt: skip
