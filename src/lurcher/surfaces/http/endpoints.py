"""The endpoints of the HTTP API: the questions of the command line, with the same JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lurcher.answer.page import add_notes
from lurcher.errors import PathError, QueryError, UsageError
from lurcher.surfaces import parameters as p
from lurcher.surfaces.parameters import HTTP, Parameter, check_all
from lurcher.surfaces.wording import PageWording, Wording
from lurcher.types import Answer, Degraded

if TYPE_CHECKING:
    from lurcher.engine import Engine

Values = Mapping[str, Any]
LIBRARIES = "libraries"

@dataclass(frozen=True, slots=True)
class Endpoint:
    """`GET /api/<name>`."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., Any]
    """Called with the engine, the checked values and whether to look at the tree; gives what becomes JSON."""
    example: Mapping[str, Any] = field(default_factory=dict)
    depends_on_history: Callable[[Mapping[str, Any]], bool] = lambda values: False
    asks_index: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the answer is about the index of the tree, and can be had without looking at the tree."""
    slow: bool = False
    """Whether it may take a second or more."""
    asks_tree: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether it takes an index of the tree to answer."""
    early: Callable[..., Any] | None = None
    """Answers while there is no index: called with the engine, the values, and what searches without one."""
    cached: bool = True
    """Whether the same question has the same answer as long as tree and history are as they were."""
    lasts: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether that holds for this question."""

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


_PAGE = _take(*p.PAGE, p.CONTEXT, p.SNIPPET_LINES)
_EXACTLY = _take(p.FIXED, p.CASE, p.WORD, p.MULTILINE)
_FILTERS = _take(p.RANKING, p.SINCE, p.UNTIL, p.AUTHOR, p.OUTCOME, p.TAG, *p.FILTERS)
_OWN_SOURCES = tuple(source for source in p.SOURCES if source != LIBRARIES)


def _filter_options(values: Values) -> dict[str, Any]:
    return {
        "languages": values.get("lang", ()), "paths": values.get("path", ()), "excludes": values.get("exclude", ()),
    }  # fmt: skip


def _page_options(values: Values) -> dict[str, Any]:
    return {name: values.get(name) for name in ("limit", "budget", "cursor", "context", "snippet_lines")}


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


def _search_early(engine: Engine, values: Values, search: Callable[..., Answer]) -> dict[str, Any]:
    """From a glimpse of the tree; without the history where nothing of it is indexed yet, since the others need not wait."""
    options = _options(values)
    missing: tuple[Degraded, ...] = ()
    if values.get("in") == "all" and not engine.past_indexed():
        options["sources"] = ["code", "notes"]
        options |= {"author": None, "outcomes": ()}
        missing = (Degraded("history", "nothing of the history is indexed yet", "ask again for the full answer"),)
    return _answer_data(add_notes(search(values["q"], **options), missing), values)


def _answer_data(answer: Answer, values: Values) -> dict[str, Any]:
    """As the command line prints it: without what differs from run to run, unless asked for."""
    found = answer.to_dict()
    if not values.get("timings"):
        found["timings_ms"] = {}
    return found


def _facets(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    from lurcher.surfaces.http.facets import facets

    return facets(engine, run_search, values, check)


def _listed_path(engine: Engine, values: Values, check: bool) -> str:
    """A file as a hit has it. The index is asked for it, never the file system: any other path has the same answer, whether or
    not there is such a file."""
    path: str = values["path"]
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise PathError(f"{path[:200]} is no path of the index", "name a file as a hit shows it")
    return engine.listed(path, check=check)


def _related(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options: dict[str, Any] = {name: values.get(name) for name in ("limit", "budget", "cursor", "context", "snippet_lines")}
    return _answer_data(engine.related(_listed_path(engine, values, check), values["line"], **options, check=check), values)


def _why(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options: dict[str, Any] = {name: values.get(name) for name in ("line", "limit", "mode", "ranking")}
    return engine.why(_listed_path(engine, values, check), values["q"], **options, check=check).to_dict()


def _explain(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)  # only what is in the index has its past told
    return engine.explain(path, values.get("first"), values.get("last"), limit=values.get("limit", 10)).to_dict()


def _file(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    found = engine.file(_listed_path(engine, values, check), check=check)
    return {**found.to_dict(), "location": str(engine.locate(found.path))}


def _outline(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.outline(_listed_path(engine, values, check), check=check).to_dict()


def _graph(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)
    return engine.graph(path, hops=values.get("hops", 1), most=values.get("most"), check=check).to_dict()


def _impact(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _listed_path(engine, values, check)
    return engine.impact(path, symbol=values.get("symbol"), hops=values.get("hops"), check=check).to_dict()


def _blame(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.heat(_listed_path(engine, values, check)).to_dict()


def _symbol(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.symbol(values["name"], limit=values.get("limit", 20), languages=values.get("lang", ())).to_dict()


def _examples(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.examples(check=check).to_dict()


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
    Endpoint("file", "The text of a file of the index.", _take(p.FILE), _file),
    Endpoint("outline", "The symbols of a file, nested.", _take(p.FILE), _outline),
    Endpoint(
        "graph", "A file among the files it imports and those that depend on it.",
        (*_take(p.FILE, p.HOPS), Parameter("most", "int", "number of files at most", low=1, high=400)), _graph,
    ),
    Endpoint(
        "impact", "What depends on a file, hop by hop.",
        _take(p.FILE, p.HOPS, p.SYMBOL), _impact,
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
