"""The endpoints of the HTTP API, which answer as the command line does with `--json`, and the OpenAPI document made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lurcher import surfaces as p
from lurcher.answer import add_notes
from lurcher.errors import LurcherError, PathError, QueryError, UsageError
from lurcher.inspect.inspection import split_place
from lurcher.runtime import VERSION
from lurcher.surfaces import HTTP, MAX_VALUES, Parameter, check_all, json_schema, sentence
from lurcher.surfaces.wording import PageWording, Wording
from lurcher.types import Answer, Degraded, Hit

if TYPE_CHECKING:
    from lurcher.engine import Engine
    from lurcher.inspect.outline import FileAnswer
    from lurcher.server.repositories import RepositoryEngine
    from lurcher.server.unindexed import Glimpse


Values = Mapping[str, Any]
LIBRARIES = "libraries"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`GET /api/<name>`."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., Any]
    """Called with the engine, the checked values and whether to check the tree for changes; returns what becomes JSON."""
    example: Mapping[str, Any] = field(default_factory=dict)
    depends_on_history: Callable[[Mapping[str, Any]], bool] = lambda values: False
    asks_index: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the answer comes from the index, so that the tree need not be checked for changes."""
    slow: bool = False
    """Whether it may take a second or more."""
    asks_tree: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether it needs an index of the tree."""
    early: Callable[..., Any] | None = None
    """Answers while there is no index: called with the engine, the values, and what can be had without one."""
    cached: bool = True
    """Whether the answer may be cached until the tree or the history changes."""
    lasts: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether that holds for these values."""
    of_workspace: bool = False
    """Whether it asks the user's workspace, which is called in the place of the engine."""

    @property
    def path(self) -> str:
        return f"/api/{self.name}"

    def values(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The checked values of a query string. An unknown or a repeated name is an error, not ignored."""
        many = {parameter.name for parameter in self.parameters if parameter.many}
        given: dict[str, Any] = {}
        for name, text in pairs:
            if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
                raise QueryError(f"'{name[:60]}' is not valid text", "send UTF-8 without zero bytes")
            if name in many:
                given.setdefault(name, []).append(text)
            elif name in given:
                raise QueryError(f"'{name[:60]}' is given twice", "give it once")
            else:
                given[name] = text
        return check_all(self.parameters, given, QueryError, texts=True)


def _take(*parameters: Parameter) -> tuple[Parameter, ...]:
    return tuple(parameter.on(HTTP) for parameter in parameters)


_PAGE = _take(*p.PAGE, p.CONTEXT, p.SNIPPET_LINES, p.FLAT)
_EXACTLY = _take(p.FIXED, p.CASE, p.WORD, p.MULTILINE)
_FILTERS = _take(p.RANKING, p.SINCE, p.UNTIL, p.AUTHOR, p.OUTCOME, p.TAG, *p.FILTERS)
_OWN_SOURCES = tuple(source for source in p.SOURCES if source != LIBRARIES)


def _filter_options(values: Values) -> dict[str, Any]:
    return {
        "languages": values.get("lang", ()), "paths": values.get("path", ()), "excludes": values.get("exclude", ()),
    }  # fmt: skip


def _page_options(values: Values) -> dict[str, Any]:
    given = {name: values.get(name) for name in ("limit", "budget", "cursor", "context", "snippet_lines")}
    return {**given, "flat": values.get("flat", False)}


def run_search(engine: Engine, values: Values, check: bool = True, *, counted: bool = False) -> Answer:
    """The search that is meant, of whichever source; a filter that the source does not know is an error. Hits that are only
    `counted` tell neither why they are there nor what they have to do with others, which takes longer than to find them."""
    return engine.search(values["q"], **_options(values), check=check, reasons=not counted, links=not counted)


def _options(values: Values) -> dict[str, Any]:
    source = values.get("in") or (LIBRARIES if values.get("library") else None)
    _check_source(source or "code", values)
    exact = {name: values[name] for name in _EXACT if name in values}
    return {
        "sources": None if source is None else [source], "mode": values.get("mode"), "ranking": values.get("ranking"),
        "since": values.get("since"), "until": values.get("until"), "author": values.get("author"),
        "outcomes": values.get("outcome", ()), "tags": values.get("tag", ()), "libraries": values.get("library", ()),
        **exact, **_filter_options(values), **_page_options(values),
    }  # fmt: skip


_EXACT = ("fixed", "case", "word", "multiline")
_ONLY_FOR = {
    "since": ("history", "notes", "all"), "until": ("history", "notes", "all"), "author": ("history", "all"),
    "outcome": ("history", "all"), "tag": ("notes", "all"), "library": (LIBRARIES,),
    "ranking": ("code", "history", LIBRARIES, "all"), **dict.fromkeys(_EXACT, ("code", LIBRARIES, "all")),
}  # fmt: skip


def _check_source(source: str, values: Values) -> None:
    for name, sources in _ONLY_FOR.items():
        if name in values and source not in sources:
            raise UsageError(f"'{name}' is not for in={source}", f"it is for: {', '.join(sources)}")


def _search(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return _answer_data(run_search(engine, values, check), values)


def _search_workspace(workspace: RepositoryEngine, values: Values, check: bool) -> dict[str, Any]:
    options = {name: value for name, value in _options(values).items() if name != "libraries"}
    return _answer_data(workspace.search(values["q"], repositories=values.get("repo", ()), check=check, **options), values)


def _repositories(workspace: RepositoryEngine, values: Values, check: bool) -> dict[str, Any]:
    return {"repositories": workspace.status()}


def _search_early(engine: Engine, values: Values, glimpse: Glimpse) -> dict[str, Any]:
    """From a glimpse of the tree; without the history where nothing of it is indexed yet, since the others need not wait."""
    options = _options(values)
    missing: tuple[Degraded, ...] = ()
    if values.get("in") == "all" and not engine.past_indexed():
        options["sources"] = ["code", "notes"]
        options |= {"author": None, "outcomes": ()}
        missing = (Degraded("history", "nothing of the history is indexed yet", "ask again for the full answer"),)
    return _answer_data(add_notes(glimpse.search(values["q"], **options), missing), values)


def _answer_data(answer: Answer, values: Values) -> dict[str, Any]:
    """As the command line prints it: timings, which differ from run to run, only on request."""
    found = answer.to_dict()
    if not values.get("timings"):
        found["timings_ms"] = {}
    return found


def _listed_path(engine: Engine, values: Values, check: bool) -> str:
    return _check_listed(engine, values["path"], check)


def _check_listed(engine: Engine, path: str, check: bool) -> str:
    """A path as hits have it. It is looked up in the index, never in the file system, so that an error does not tell whether
    some other file exists."""
    return engine.listed(_check_path(path), check=check)


def _check_path(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise PathError(f"{path[:200]} is not a path of the index", "name a file as a hit shows it")
    return path


def _related(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options = _page_options(values)
    return _answer_data(engine.related(_listed_path(engine, values, check), values["line"], **options, check=check), values)


def _why(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options: dict[str, Any] = {name: values.get(name) for name in ("line", "limit", "mode", "ranking")}
    return engine.why(_listed_path(engine, values, check), values["q"], **options, check=check).to_dict()


def _explain(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)  # history is shown only of files that are in the index
    return engine.explain(path, values.get("first"), values.get("last"), limit=values.get("limit", 10)).to_dict()


def _file(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return _file_data(engine, engine.file(_listed_path(engine, values, check), names=values.get("names", False), check=check))


def _file_early(engine: Engine, values: Values, glimpse: Glimpse) -> dict[str, Any]:
    path = _check_path(values["path"])
    return _file_data(engine, engine.file(path, names=values.get("names", False), views=glimpse.views(path)))


def _file_data(engine: Engine, found: FileAnswer) -> dict[str, Any]:
    return {**found.to_dict(), "location": str(engine.locate(found.path))}


def _outline(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.outline(_listed_path(engine, values, check), check=check).to_dict()


def _outline_early(engine: Engine, values: Values, glimpse: Glimpse) -> dict[str, Any]:
    path = _check_path(values["path"])
    return engine.outline(path, views=glimpse.views(path)).to_dict()


def _graph(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)
    return engine.graph(path, hops=values.get("hops", 1), most=values.get("most"), check=check).to_dict()


def _impact(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)
    return engine.impact(path, symbol=values.get("symbol"), hops=values.get("hops"), check=check).to_dict()


def _references(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    target, show, limit = values["name"], values["show"], values.get("limit", 100)
    place = split_place(target)
    if place is not None:
        path = place[0]
        target = _check_listed(engine, path, check) + target[len(path) :]
    if show == "uses":
        return engine.references(target, kinds=values.get("kind", ()), limit=limit, check=check).to_dict()
    if show == "implementations":
        return engine.implementations(target, limit=limit, check=check).to_dict()
    return engine.calls(target, direction=show, depth=values.get("depth"), limit=limit, check=check).to_dict()


def _blame(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.heat(_listed_path(engine, values, check)).to_dict()


def _symbol(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.symbol(values["name"], limit=values.get("limit", 20), languages=values.get("lang", ())).to_dict()


def _examples(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.examples(check=check).to_dict()


# -- how many hits each value of a filter has --------------------------------------------------------------------------


COUNTED_HITS = 100
"""Hits that facets are counted over."""
_MOST_VALUES = 12
Read = Callable[[Hit], Sequence[str]]


def _facets(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    """How many hits each language, folder, outcome, year, author and tag has.

    A facet ignores its own filter, so that another value of it can be chosen.
    """
    page = {"limit": COUNTED_HITS, "context": "none", "flat": True}
    full = run_search(engine, {**values, **page}, check, counted=True)
    counted = {}
    for name, (filters, read) in _FACETS.items():
        mine = [key for key in filters if key in values]
        wide = full
        if mine:
            others = {key: values[key] for key in values if key not in mine}
            wide = run_search(engine, {**others, **page}, check, counted=True)
        counts = Counter(value for hit in wide.hits for value in read(hit) if value)
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        counted[name] = [{"value": value, "count": count} for value, count in order[:_MOST_VALUES]]
    sources, coverage = _count_sources(engine, values, full, check)
    return {
        "query": full.query, "in": values.get("in") or full.sources[0], "looked_at": len(full.hits), "total": full.total,
        "facets": counted, "sources": sources, "index": {**full.index.to_dict(), "coverage": coverage},
    }  # fmt: skip


def _count_sources(
    engine: Engine, values: Values, full: Answer, check: bool
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """How many hits each source has, or why it cannot be searched (history outside of git), and how much of it is indexed."""
    found: list[dict[str, Any]] = []
    coverage = dict(full.index.coverage)
    for name in ("code", "history", "notes"):
        if full.sources == (name,):
            found.append({"value": name, "count": full.total})
            continue
        try:
            query = {"q": values["q"], "in": name, "limit": 1, "context": "none"}
            answer = run_search(engine, query, check, counted=True)
        except LurcherError as problem:
            found.append({"value": name, "count": None, "problem": problem.message})
            continue
        coverage |= answer.index.coverage
        found.append({"value": name, "count": answer.total})
    return found, coverage


def _folders_of(hit: Hit) -> Sequence[str]:
    """The first two folders of the path, each as a pattern for the filter."""
    parts = hit.path.split("/")[:-1]
    if not parts:
        return ("*",) if hit.path else ()
    return tuple(f"{'/'.join(parts[:depth])}/**" for depth in range(1, min(2, len(parts)) + 1))


def _outcome_of(hit: Hit) -> Sequence[str]:
    verdict = None if hit.commit is None else hit.commit.outcome.verdict
    return (verdict,) if verdict else ()


def _year_of(hit: Hit) -> Sequence[str]:
    date = (hit.commit.date if hit.commit else "") or (hit.note or {}).get("date") or ""
    return (date[:4],) if date[:4].isdigit() else ()


_FACETS: dict[str, tuple[tuple[str, ...], Read]] = {
    "lang": (("lang",), lambda hit: (hit.language,)),
    "path": (("path",), _folders_of),
    "outcome": (("outcome",), _outcome_of),
    "year": (("since", "until"), _year_of),
    "author": (("author",), lambda hit: (hit.commit.author,) if hit.commit else ()),
    "tag": (("tag",), lambda hit: tuple((hit.note or {}).get("tags", ()))),
}
"""Each facet with its filters and how to read its values from a hit."""


def _status(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.status(skipped=values.get("skipped", False))


def _needs_history(values: Values) -> bool:
    return values.get("in") in ("history", "all")


def _needs_tree(values: Values) -> bool:
    """Whether the tree's index is needed: commits and libraries have indexes of their own."""
    return values.get("in") not in ("history", LIBRARIES) and not values.get("library")


def _only_here(values: Values) -> bool:
    """Whether only this tree and its history decide: libraries have indexes of their own."""
    return values.get("in") != LIBRARIES and not values.get("library")


def _always(values: Values) -> bool:
    return True


def _never(values: Values) -> bool:
    return False


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "search", "The best answer to a question: hits in order, each with its reason.",
        (
            *_take(p.QUERY, p.SOURCE, p.LIBRARY, p.MODE), *_FILTERS, *_PAGE, *_EXACTLY, p.TIMINGS.on(HTTP),
        ),
        _search, {"q": "how are redirects followed"}, _needs_history, lambda values: not _needs_history(values),
        lasts=_only_here, asks_tree=_needs_tree, early=_search_early,
    ),
    Endpoint(
        "workspace", "The best answer of all repositories of the workspace; `lurcher serve --workspace` has it.",
        (
            *_take(p.QUERY, p.REPO, p.MODE, p.RANKING, *p.FILTERS), *_PAGE, *_EXACTLY, p.TIMINGS.on(HTTP),
        ),
        _search_workspace, asks_index=_never, asks_tree=_never, cached=False, of_workspace=True,
    ),
    Endpoint(
        "repositories", "The repositories of the workspace: name, folder, and whether each has an index.", (), _repositories,
        asks_index=_never, asks_tree=_never, cached=False, of_workspace=True,
    ),
    Endpoint(
        "facets", "How the first hits spread over sources, languages, folders, outcomes, years, tags and authors.",
        (p.QUERY.on(HTTP), p.SOURCE.on(HTTP, choices=_OWN_SOURCES), p.MODE.on(HTTP), *_FILTERS, *_EXACTLY), _facets,
        {"q": "how are redirects followed"}, _always, lambda values: not _needs_history(values),
        slow=True,
    ),
    Endpoint(
        "why", "Why a file, or the unit around a line of it, is or is not among the hits.",
        _take(p.FILE, p.QUERY, p.LINE, p.LIMIT, p.MODE, p.RANKING), _why,
    ),
    Endpoint(
        "explain", "The commits that wrote these lines, each with what it said and changed.",
        (
            p.FILE.on(HTTP), p.LINE.on(HTTP, name="first", help="the first line"),
            p.LINE.on(HTTP, name="last", help="the last line"),
            p.LIMIT.on(HTTP, help="number of commits, newest first", high=100),
        ),
        _explain, {}, _always, _never, slow=True,
    ),
    Endpoint(
        "blame", "Which commit wrote which lines of a file, and when.", _take(p.FILE), _blame, {}, _always, _never, slow=True,
    ),
    Endpoint(
        "file", "The text of a file of the index.",
        (p.FILE.on(HTTP), Parameter("names", "switch", "also where names stand, whose references can be asked for")), _file,
        early=_file_early,
    ),
    Endpoint("outline", "The symbols of a file, nested.", _take(p.FILE), _outline, early=_outline_early),
    Endpoint(
        "graph", "A file among the files it imports and those that depend on it.",
        (*_take(p.FILE, p.HOPS), Parameter("most", "int", "number of files at most", low=1, high=400)), _graph,
    ),
    Endpoint(
        "impact", "What depends on a file, hop by hop.",
        _take(p.FILE, p.HOPS, p.SYMBOL), _impact,
    ),
    Endpoint(
        "references", "Who uses a definition, who calls it, what it calls, which tests reach it, or what implements it.",
        (*_take(p.TARGET, p.SHOW, p.USE_KIND, p.DEPTH), p.LIMIT.on(HTTP, help="number of entries", high=2000)), _references,
    ),
    Endpoint(
        "related", "Units like the one around a line of a file.",
        (p.FILE.on(HTTP), p.LINE.on(HTTP, required=True), *_PAGE), _related,
    ),
    Endpoint(
        "symbol", "Where a name is defined.",
        (
            Parameter("name", help="Client, Client.retry, Foo::bar or Foo#bar", required=True), *_take(p.LIMIT, p.LANG),
        ),
        _symbol, asks_index=_never,
    ),
    Endpoint(
        "examples", "Questions to begin with, made of this repository's own names, commits and documents.",
        (), _examples, {}, _always,
    ),
    Endpoint(
        "status", "What the index holds, and how it stands to the tree.",
        _take(p.SKIPPED), _status, slow=True, cached=False,
    ),
)  # fmt: skip


_PARAMETERS = {endpoint.name: endpoint.parameters for endpoint in ENDPOINTS}
WORDING = Wording(HTTP, _PARAMETERS)
PAGE_WORDING = PageWording(HTTP, _PARAMETERS)


# -- the OpenAPI document ----------------------------------------------------------------------------------------------


_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
        }
    },
}
_FAILURES = {
    "400": "The request is wrong; the hint says what is allowed.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another site, or for another host.",
    "404": "No such file in the index.",
    "413": "The request is too large.",
    "429": "Too many wrong tokens.",
    "500": "The server failed.",
    "501": "An extra is not installed, or there is no model.",
    "503": "Too many requests at once, no index yet, or a folder that is gone; see Retry-After.",
}


def openapi_document(endpoints: Sequence[Endpoint], *, token: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "lurcher", "version": VERSION,
            "description": "Finds the code, the past change and the note that answer a question; the JSON of `--json`.",
        },
        "paths": {endpoint.path: {"get": _operation(endpoint)} for endpoint in endpoints},
        "components": {"schemas": {"Error": _ERROR}},
    }  # fmt: skip
    if token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "operationId": endpoint.name,
        "summary": endpoint.doc,
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}},
            **{status: _failure(text) for status, text in _FAILURES.items()},
        },
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name, "in": "query", "description": sentence(parameter.help), "required": parameter.required,
        "schema": _schema(parameter),
    }  # fmt: skip


def _schema(parameter: Parameter) -> dict[str, Any]:
    schema = json_schema(parameter)
    value = schema["items"] if parameter.many else schema
    if parameter.kind == "text" and "enum" not in value:
        value["maxLength"] = parameter.longest
        if parameter.required:
            value["minLength"] = 1
    bounds = {"minimum": parameter.low, "maximum": parameter.high}
    value |= {name: bound for name, bound in bounds.items() if bound is not None}
    return {**schema, "maxItems": MAX_VALUES} if parameter.many else schema


def _failure(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
