"""The tools of the MCP server, few and briefly described, and its resources: outlines of files, the state of the index."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import mcp_types as types

from lurcher.answer import add_notes
from lurcher.engine import Engine
from lurcher.errors import CursorError, IndexBuilding, PathError, StoreError, UsageError
from lurcher.inspect.inspection import split_place
from lurcher.query.validate import ALL, LIBRARIES, SOURCES
from lurcher.runtime.process import format_count
from lurcher.server.session import Session
from lurcher.surfaces import Parameter
from lurcher.surfaces.mcp import answers
from lurcher.surfaces.mcp.answers import ToolResult
from lurcher.surfaces.mcp.requests import ARGUMENTS, Access
from lurcher.types import Answer, Degraded, Progress, silent, with_headers

if TYPE_CHECKING:
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer, Section
    from lurcher.server.repositories import RepositoryEngine


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: the session and folders it may use. `progress` raises when the call is cancelled."""

    served: Session
    access: Access
    progress: Progress
    other: Callable[[Access], Session]
    """Opens the session for some of the folders."""
    structured: bool = False
    """Whether the client asked for data, which takes a part of the budget."""
    workspace: RepositoryEngine | None = None
    """Searches many folders as one, where there is a workspace."""

    def hits_budget(self, budget: int) -> int:
        """The part of a budget for the texts of hits; the rest is for their locations, or fields, and for notes."""
        return max(1, budget * 2 // 5 if self.structured else budget - min(budget // 2, 60 + budget // 20))

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for."""
        return self._in_workspace(path) or self.served.engine_at_hand.locate(path)

    def _in_workspace(self, path: str) -> Path | None:
        """The file of a hit of the workspace, whose path begins with the name of its repository."""
        name, _, rest = path.partition("/")
        known = self.workspace.repositories if self.workspace is not None else ()
        return next((Path(entry.place, rest) for entry in known if entry.name == name), None)

    def resolve(self, path: str, engine: Engine | None = None) -> Path:
        """The file or folder of a path; raises PathError if it is outside of the allowed roots."""
        place = self._in_workspace(path) if self.is_wide else None
        if place is not None:
            return self.access.check(str(place))
        engine = engine or self.served.engine
        if engine.elsewhere:  # a shared store knows its paths
            return Path(path)
        if len(engine.roots) > 1 and not Path(path).is_absolute() and "\0" not in path:
            try:
                located = engine.locate(path)
            except UsageError:
                pass
            else:
                return self.access.check(str(located))
        return self.access.check(path)

    def scope(self, path: str | None) -> Scope:
        """The session and filter for a folder or file, or for everything."""
        if path is None:
            return Scope(self.served, [], "")
        engine = self.served.engine
        if engine.elsewhere:
            return Scope(self.served, [f"/{_escape_glob(path.strip('/'))}"], "")
        place = self.resolve(path, engine)
        if not place.exists():
            raise PathError(f"{path} does not exist", "pass a folder or file as a hit has it")
        served, label = self.served, ""
        if len(engine.roots) > 1:  # a filter cannot name a root, so only the root of the path is searched
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
    def is_wide(self) -> bool:
        """Whether several folders are asked."""
        return len(self.access.folders) > 1

    @property
    def is_narrowed(self) -> bool:
        """Whether only a part of an index may be shown."""
        engine = self.served.engine
        return not engine.elsewhere and any(root not in self.access.folders for root in engine.roots)


def _escape_glob(path: str) -> str:
    """A path as a glob that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


@dataclass(frozen=True, slots=True)
class Scope:
    """A session, a filter, and the prefix of its paths in answers about several roots."""

    served: Session
    globs: list[str]
    label: str

    def with_labels(self, answer: Answer) -> Answer:
        if not self.label:
            return answer
        hits = tuple(hit.replace(path=self.label + hit.path) for hit in answer.hits)
        return answer.replace(hits=hits, usage=None if answer.usage is None else answer.usage.with_label(self.label))


Run = Callable[[Call, dict[str, Any]], ToolResult]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    output: dict[str, Any]
    run: Run | None
    """None if the server itself does it."""
    read_only: bool = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ARGUMENTS[self.name]


def _search(call: Call, given: dict[str, Any]) -> ToolResult:
    budget, scope = given["budget"], call.scope(given["path"])
    options: dict[str, Any] = {
        "limit": given["limit"], "budget": call.hits_budget(budget), "cursor": given["cursor"],
        "paths": scope.globs, "languages": [given["language"]] if given["language"] else [],
        "snippet_lines": given["lines"] or None, "progress": call.progress, "mode": given["mode"],
        "sources": None if given["source"] is None else [given["source"]], "reasons": False,
    }  # fmt: skip
    missing: tuple[Degraded, ...] = ()
    if given["library"] or given["source"] == LIBRARIES:
        if given["path"]:
            raise UsageError("'path' is not for libraries", "name one with 'library'")
        library: dict[str, Any] = {**options, "sources": [given["source"] or LIBRARIES], "libraries": given["library"] or []}
        return answers.render_search(call.served.engine.search(given["query"], **library), budget)
    if call.workspace is not None and not given["path"] and given["source"] in (None, "code", "notes") and call.is_wide:
        places = set(map(str, call.access.folders))
        names = [entry.name for entry in call.workspace.repositories if entry.place in places]
        if names:
            answer = call.workspace.search(given["query"], repositories=names, **{**options, "paths": []})
            return answers.render_search(answer, budget)
    if given["source"] in ("history", ALL):
        try:
            with scope.served.with_history() as engine:
                return answers.render_search(scope.with_labels(engine.search(given["query"], **options)), budget)
        except IndexBuilding as problem:
            if given["source"] == "history":
                raise
            # The other sources need not wait for the history.
            options["sources"] = [source for source in SOURCES if source != "history"]
            missing = (Degraded("history", problem.message, problem.hint),)
    answer = add_notes(scope.served.search(given["query"], **options), missing)
    return answers.render_search(scope.with_labels(answer), budget)


def _symbol(call: Call, given: dict[str, Any]) -> ToolResult:
    languages = [given["language"]] if given["language"] else []
    with call.served.full_index() as engine:
        answer = engine.symbol(given["name"], languages=languages, progress=call.progress)

        def read(path: str, first: int, last: int) -> str:
            try:
                place = path if engine.elsewhere else engine.locate(path)
                found = engine.file(place, first, last, refresh=False, check=False)
            except StoreError:  # the definitions are the answer, also where their texts cannot be read
                return ""
            return with_headers(found.text, found.headers)

        return answers.render_symbol(answer, read, given["budget"])


def _search_history(call: Call, given: dict[str, Any]) -> ToolResult:
    scope = call.scope(given["path"])
    with scope.served.with_history() as engine:
        answer = engine.history(
            given["query"], limit=given["limit"], budget=call.hits_budget(given["budget"]), cursor=given["cursor"],
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
            budget=call.hits_budget(given["budget"]), cursor=given["cursor"], snippet_lines=given["lines"] or None,
            progress=call.progress, flat=given["flat"],
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
            sections, text = _hide_outside(answer, lambda path: call.shows(path, engine))
            answer = replace(answer, sections=sections, text=text)
    return answers.render_context(answer, given["budget"])


_NAMING_FILES = frozenset({"imported by", "dependents", "documents"})
"""Sections whose entries begin with the path of a file."""


def _hide_outside(answer: ContextAnswer | BriefAnswer, shows: Callable[[str], bool]) -> tuple[tuple[Section, ...], str]:
    """The sections and the text of an answer without files that may not be shown."""
    hidden = {
        entry.removeprefix("- ")
        for section in answer.sections
        if section.name in _NAMING_FILES
        for entry in section.entries
        if not shows(entry.removeprefix("- ").partition(":")[0])
    }
    kept = (tuple(entry for entry in section.entries if entry.removeprefix("- ") not in hidden) for section in answer.sections)
    sections = tuple(replace(section, entries=entries) for section, entries in zip(answer.sections, kept, strict=True))
    return sections, "\n".join(line for line in answer.text.split("\n") if line.strip().removeprefix("- ") not in hidden)


def _brief(call: Call, given: dict[str, Any]) -> ToolResult:
    """Of a folder what is in it, of a file or symbol what to know before an edit."""
    with call.served.full_index() as engine:
        place = _existing(call, given["name"], engine)
        if place is not None and place.is_dir():
            return _context(call, {"path": given["name"], "budget": given["budget"]})
    with call.served.with_history() as engine:
        target = given["name"] if place is None else place
        answer = engine.brief(target, budget=answers.entry_budget(given["budget"]), progress=call.progress)
        if call.is_narrowed:
            if not call.shows(answer.path, engine):
                raise PathError("this is outside of the allowed roots", "name a file, folder or symbol inside of them")
            sections, text = _hide_outside(answer, lambda path: call.shows(path, engine))
            basis = answer.basis.replace(degraded=tuple(note for note in answer.basis.degraded if note.stage != "symbol"))
            answer = replace(answer, sections=sections, text=text, basis=basis)
    return answers.render_brief(answer, given["budget"])


def _existing(call: Call, name: str, engine: Engine) -> Path | None:
    """The file or folder of this name; None where a symbol may be meant."""
    if engine.elsewhere:
        return None
    try:
        place = call.resolve(name, engine)
    except PathError:
        if "/" in name or "\0" in name:
            raise
        return None
    return place if place.exists() else None


def _read(call: Call, given: dict[str, Any]) -> ToolResult:
    first, last = given["start_line"], given["end_line"]
    engine = call.served.engine
    path = call.resolve(given["path"], engine)
    views = call.served.views_of(path)
    if views is None:
        with call.served.full_index() as engine:
            answer = engine.file(path, first, last, progress=call.progress)
    else:
        answer = engine.file(path, first, last, progress=call.progress, views=views)
    return answers.render_lines(answer, given["budget"])


def _projects(call: Call, given: dict[str, Any]) -> ToolResult:
    engine = call.served.engine
    indexed = [project.root.path for project in engine.projects if project.has_index()]
    found = [
        {"name": name, "folder": str(folder), "indexed": any(folder.is_relative_to(root) for root in indexed)}
        for name, folder in call.access.names.items()
    ]
    return answers.render_projects(found)


def _impact(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        place = call.resolve(given["path"], engine)
        answer = engine.impact(place, symbol=given["symbol"], hops=given["hops"], progress=call.progress)
        shown = [entry for entry in answer.dependents if not call.is_narrowed or call.shows(entry.path, engine)]
    return answers.render_impact(answer, shown, given["budget"])


def _references(call: Call, given: dict[str, Any]) -> ToolResult:
    target, show = given["name"], given["show"]
    place = split_place(target)
    with call.served.full_index() as engine:
        if place is not None:
            path = place[0]
            target = f"{call.resolve(path, engine)}{target[len(path) :]}"
        if show == "uses":
            answer: Any = engine.references(target, progress=call.progress)
        elif show == "implementations":
            answer = engine.implementations(target, progress=call.progress)
        else:
            answer = engine.calls(target, direction=show, depth=given["depth"], progress=call.progress)
    return answers.render_references(answer, show, given["budget"])


def _exists(call: Call, given: dict[str, Any]) -> ToolResult:
    with call.served.full_index() as engine:
        answer = engine.exists(given["text"], exact=given["exact"], progress=call.progress)
    return answers.render_exists(answer)


def _single_folder(call: Call) -> Path:
    """The folder of a call that names none."""
    if call.served.engine.elsewhere:
        return Path()
    if len(call.access.folders) > 1:
        raise UsageError("there are several roots", f"name a path in one of them, or a project: {', '.join(call.access.names)}")
    return call.access.folders[0]


TOOLS: tuple[Tool, ...] = (
    Tool(
        "search", "Search code, notes, history, libraries",
        "Use it instead of grep unless you know both the file and the exact string: then grep is better. Finds the code for a "
        "question in plain words, a name, an error report with its stack trace, a regular expression (mode literal) or an "
        "ast-grep pattern such as `foo($A)` (mode structural), best first.",
        answers.SEARCH_SCHEMA, _search,
    ),
    Tool(
        "symbol", "Where a name is defined",
        "Use it instead of grep for a definition: shows those of a name such as `Client.retry`, whole.",
        answers.SYMBOL_SCHEMA, _symbol,
    ),
    Tool(
        "references", "Who uses a definition",
        "Use it instead of grep for uses of a name: lists who uses, calls, tests or implements a definition; `candidate`: "
        "uncertain.",
        answers.REFERENCES_SCHEMA, _references,
    ),
    Tool(
        "search_history", "Search past changes",
        "Use it instead of git log: finds commits that tell what was tried, how it was fixed, when it broke, and which were "
        "reverted or fixed later.",
        answers.SEARCH_SCHEMA, _search_history,
    ),
    Tool(
        "explain_change", "Why lines are there",
        "Use it instead of git blame: which commits wrote some lines, why, and what became of them.",
        answers.EXPLAIN_SCHEMA, _explain_change,
    ),
    Tool(
        "brief", "What to know before an edit",
        "Use it before editing: past fixes and reverts, dependents and documents of a file or symbol; what is in a folder.",
        answers.BRIEF_SCHEMA, _brief,
    ),
    Tool(
        "outline", "Symbols of a file or folder",
        "Use it instead of reading a whole file: lists its symbols, nested, with lines and signatures, or the outermost ones "
        "of a folder.",
        answers.OUTLINE_SCHEMA, _outline,
    ),
    Tool(
        "read", "Lines of a file",
        "Shows lines of a file below the signatures around them.",
        answers.READ_SCHEMA, _read,
    ),
    Tool(
        "impact", "What depends on a file",
        "Use it before changing an interface: lists files that depend on a file, or on one symbol of it.",
        answers.IMPACT_SCHEMA, _impact,
    ),
    Tool(
        "projects", "Which projects there are",
        "Lists what `project` may be in other tools; they ask all projects without it.",
        answers.PROJECTS_SCHEMA, _projects,
    ),
    Tool(
        "status", "State of the index",
        "Tells what is indexed, how current that is, and how far indexing has come.",
        answers.STATUS_SCHEMA, None,
    ),
)  # fmt: skip
UNLISTED: tuple[Tool, ...] = (
    Tool("find_pattern", "Search past changes", "The same as search_history.", answers.SEARCH_SCHEMA, _search_history),
    Tool("related", "Similar code", "Find code like that around a line.", answers.SEARCH_SCHEMA, _related),
    Tool(
        "context", "Briefing on a file or folder", "Purpose, main symbols, imports, dependents, tests.",
        answers.CONTEXT_SCHEMA, _context,
    ),
    Tool("exists", "Whether a text occurs", "Whether a name or short text occurs at all.", answers.EXISTS_SCHEMA, _exists),
    Tool("index", "Update the index", "Bring the index up to date and wait.", answers.INDEX_SCHEMA, None, read_only=False),
)  # fmt: skip
"""Answered, but not described to every agent: a description costs tokens in each of its sessions."""
BY_NAME = {tool.name: tool for tool in (*TOOLS, *UNLISTED)}


# -- resources: what agents can read by address ------------------------------------------------------------------------


STATUS_URI = "lurcher://status"
OUTLINE_URI = "lurcher://outline/"
PAGE_SIZE = 200
OUTLINE_TEMPLATE = types.ResourceTemplate(
    name="outline", title="Symbols of a file", uri_template=OUTLINE_URI + "{+path}", mime_type="text/plain",
    description="The symbols of a file or folder, with lines and signatures.",
)  # fmt: skip
_RESOURCE_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[types.Resource]
    next: str | None


def list_resources(served: Session, access: Access, cursor: str | None) -> Page:
    """The state of the index, then the files that have symbols, a page at a time."""
    start = _position(cursor)
    entries = []
    if start == 0:
        entries.append(
            types.Resource(name="status", title="State of the index", uri=STATUS_URI, mime_type="application/json")
        )
    if not served.ready(0.0):
        return Page(entries, None)
    engine = served.engine
    names = sorted(
        label + path
        for project, label in zip(engine.projects, engine.labels, strict=True)
        for path, row in project.view(silent).manifest.rows.items()
        if row.segment >= 0
    )
    shown = [name for name in names if any(engine.locate(name).is_relative_to(folder) for folder in access.folders)]
    page = shown[start : start + PAGE_SIZE]
    entries += [types.Resource(name=name, uri=OUTLINE_URI + quote(name), mime_type="text/plain") for name in page]
    return Page(entries, f"from-{start + PAGE_SIZE}" if start + PAGE_SIZE < len(shown) else None)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix("from-")
    if cursor == number or not number.isdecimal() or len(number) > 9:
        raise CursorError("the cursor is damaged", "pass it exactly as it was given")
    return int(number)


def read_resource(call: Call, uri: str) -> types.TextResourceContents:
    if uri == STATUS_URI:
        text = json.dumps(status_data(call.served), ensure_ascii=False)
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if not uri.startswith(OUTLINE_URI):
        raise PathError(f"there is no resource {uri[:200]}", f"there are {STATUS_URI} and {OUTLINE_URI}PATH")
    with call.served.full_index() as engine:
        place = call.resolve(unquote(uri.removeprefix(OUTLINE_URI), errors="replace"), engine)
        result = answers.render_outline(engine.outline(place, progress=call.progress), _RESOURCE_BUDGET)
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=result.text)


# -- the state of the index ---------------------------------------------------------------------------------------------

_KEPT = (
    "root", "exists", "generation", "files", "units", "fresh", "stale_paths", "problem", "hint", "history", "languages",
    "files_found", "skipped",
)  # fmt: skip


def status_data(served: Session) -> dict[str, Any]:
    """What matters to an agent of the engine's status, and how far a build has come."""
    status = served.engine.status()
    roots = [{name: entry[name] for name in _KEPT if name in entry} for entry in status.get("roots", [status])]
    data: dict[str, Any] = {"roots": roots, **({"shared": status["shared"]} if "shared" in status else {})}
    build = served.building
    if build is not None:
        data["building"] = {"what": build.what, "done": build.done, "total": build.total}
    return data


def _shared_text(shared: dict[str, Any]) -> list[str]:
    """What a shared store holds. It answers searches then; only `lurcher index` writes to it."""
    lines = [f"store {shared['store']} (lurcher index brings it up to date)"]
    if "problem" in shared:
        lines.append(f"  problem: {shared['problem']} ({shared.get('hint', '')})")
    for entry in shared["projects"]:
        held = f"generation {entry['generation']}, {entry['files']:,} files" if entry["exists"] else "not there"
        lines.append(f"  {entry['project']}: {held}")
    return lines


def status_text(data: dict[str, Any]) -> str:
    lines = []
    for entry in data["roots"]:
        lines.append(entry["root"])
        if "problem" in entry:
            lines.append(f"  problem: {entry['problem']} ({entry.get('hint', '')})")
        elif not entry["exists"]:
            lines.append(f"  no index yet; {format_count(entry.get('files_found', 0), 'file')} would be indexed")
        else:
            state = "fresh" if entry["fresh"] else f"{format_count(entry['stale_paths'], 'file')} changed since"
            holds = f"{format_count(entry['files'], 'file')}, {format_count(entry['units'], 'unit')}"
            lines.append(f"  generation {entry['generation']}, {state}: {holds}")
            most = list(entry["languages"].items())[:8]
            lines.append("  " + ", ".join(f"{name} {count:,}" for name, count in most))
        past = entry.get("history")
        if past and past.get("exists"):
            lines.append(f"  history: {past['commits']:,} of {format_count(past['total'], 'commit')}")
    lines += _shared_text(data["shared"]) if "shared" in data else []
    if "building" in data:
        build = data["building"]
        lines.append(f"indexing now: {build['what']}, {build['done']:,} of {build['total']:,}")
    if "seconds" in data:
        lines.append(f"done in {data['seconds']} s")
    return "\n".join(lines)
