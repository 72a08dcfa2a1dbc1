"""Every question that the API answers: the same as those of the command line, with the same JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lurcher.answer.page import with_notes
from lurcher.errors import PathError, UsageError
from lurcher.surfaces.http.parameters import MAX_PATH, MAX_QUERY, Endpoint, Parameter
from lurcher.surfaces.wording import Words
from lurcher.types import CASES, CONTEXTS, MODES, Answer, Degraded

if TYPE_CHECKING:
    from lurcher.engine import Engine

Values = Mapping[str, Any]
SOURCES = ("code", "history", "notes", "all")
LIBRARIES = "libraries"
MAX_LIMIT = 200
MAX_HOPS = 6

_Q = Parameter("q", "The question: words, a name, a pattern, or a whole report.", required=True, longest=MAX_QUERY)
_PATH = Parameter("path", "A file, as a hit shows it.", required=True, longest=MAX_PATH)
_LIMIT = Parameter("limit", "How many hits.", "integer", low=1, high=MAX_LIMIT)
_PAGE = (
    _LIMIT,
    Parameter("budget", "Hard ceiling on the tokens of all hits together.", "integer", low=1, high=1_000_000),
    Parameter("cursor", "An earlier answer's `next`: goes on from there.", longest=60_000),
    Parameter("context", "How much around a match.", choices=CONTEXTS),
    Parameter("snippet_lines", "Only the lines that match best, so many.", "integer", low=1, high=1000),
)
_NARROW = (
    Parameter("lang", "Only this language.", many=True),
    Parameter("path", "Only files that match this glob.", many=True, longest=MAX_PATH),
    Parameter("exclude", "Not files that match this glob.", many=True, longest=MAX_PATH),
)
_EXACTLY = (
    Parameter("fixed", "Exact text as it stands, not a regular expression.", "boolean"),
    Parameter("case", "Whether exact text must match in case.", choices=CASES),
    Parameter("word", "Exact text as whole words.", "boolean"),
    Parameter("multiline", "Exact text may span lines.", "boolean"),
)
_SEARCH = (
    _Q,
    Parameter("in", "What to search.", choices=SOURCES),
    Parameter("mode", "How to read the question.", choices=MODES),
    Parameter("ranking", "How to order the hits: default, classic, or one that is installed."),
    Parameter("since", "History and notes: only from then on; a date, 30d, 6m, 1y or a tag."),
    Parameter("until", "History and notes: only until then."),
    Parameter("author", "History: only commits whose author's name or address has this."),
    Parameter("outcome", "History: only commits that ended so.", many=True, choices=("success", "reverted", "hotfixed")),
    Parameter("tag", "Notes: only those that have this tag.", many=True),
    *_NARROW,
)


def _narrowed(values: Values) -> dict[str, Any]:
    return {
        "languages": values.get("lang", ()), "paths": values.get("path", ()), "excludes": values.get("exclude", ()),
    }  # fmt: skip


def _paged(values: Values) -> dict[str, Any]:
    return {name: values.get(name) for name in ("limit", "budget", "cursor", "context", "snippet_lines")}


def ask(engine: Engine, values: Values, check: bool = True, *, counted: bool = False) -> Answer:
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
        **exact, **_narrowed(values), **_paged(values),
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
    return _shown(ask(engine, values, check), values)


def _search_early(engine: Engine, values: Values, search: Callable[..., Answer]) -> dict[str, Any]:
    """From a glimpse of the tree; without the history where nothing of it is indexed yet, since the others need not wait."""
    options = _options(values)
    missing: tuple[Degraded, ...] = ()
    if values.get("in") == "all" and not engine.past_indexed():
        options["sources"] = ["code", "notes"]
        options |= {"author": None, "outcomes": ()}
        missing = (Degraded("history", "nothing of the history is indexed yet", "ask again for the full answer"),)
    return _shown(with_notes(search(values["q"], **options), missing), values)


def _shown(answer: Answer, values: Values) -> dict[str, Any]:
    """As the command line prints it: without what differs from run to run, unless asked for."""
    found = answer.to_dict()
    if not values.get("timings"):
        found["timings_ms"] = {}
    return found


def _facets(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    from lurcher.surfaces.http.facets import facets

    return facets(engine, ask, values, check)


def _inside(engine: Engine, values: Values, check: bool) -> str:
    """A file as a hit has it. The index is asked for it, never the file system: any other path has the same answer, whether or
    not there is such a file."""
    path: str = values["path"]
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise PathError(f"{path[:200]} is no path of the index", "name a file as a hit shows it")
    return engine.listed(path, check=check)


def _related(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options: dict[str, Any] = {name: values.get(name) for name in ("limit", "budget", "cursor", "context", "snippet_lines")}
    return _shown(engine.related(_inside(engine, values, check), values["line"], **options, check=check), values)


def _why(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    options: dict[str, Any] = {name: values.get(name) for name in ("line", "limit", "mode", "ranking")}
    return engine.why(_inside(engine, values, check), values["q"], **options, check=check).to_dict()


def _explain(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _inside(engine, values, check)  # only what is in the index has its past told
    return engine.explain(path, values.get("first"), values.get("last"), limit=values.get("limit", 10)).to_dict()


def _file(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    found = engine.file(_inside(engine, values, check), check=check)
    return {**found.to_dict(), "location": str(engine.locate(found.path))}


def _outline(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.outline(_inside(engine, values, check), check=check).to_dict()


def _graph(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _inside(engine, values, check)
    return engine.graph(path, hops=values.get("hops", 1), most=values.get("most"), check=check).to_dict()


def _impact(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    path = _inside(engine, values, check)
    return engine.impact(path, symbol=values.get("symbol"), hops=values.get("hops"), check=check).to_dict()


def _blame(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.heat(_inside(engine, values, check)).to_dict()


def _symbol(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.symbol(values["name"], limit=values.get("limit", 20), languages=values.get("lang", ())).to_dict()


def _examples(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.examples(check=check).to_dict()


def _status(engine: Engine, values: Values, check: bool) -> dict[str, Any]:
    return engine.status(skipped=values.get("skipped", False))


def _of_history(values: Values) -> bool:
    return values.get("in") in ("history", "all")


def _of_tree(values: Values) -> bool:
    """Whether the tree's index is needed: commits and libraries have indexes of their own."""
    return values.get("in") not in ("history", LIBRARIES) and not values.get("library")


def _of_here(values: Values) -> bool:
    """Whether only this tree and its history decide: libraries have indexes of their own."""
    return values.get("in") != LIBRARIES and not values.get("library")


def _always(values: Values) -> bool:
    return True


def _never(values: Values) -> bool:
    return False


_HOPS = Parameter("hops", "How many imports away to look.", "integer", low=1, high=MAX_HOPS)

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "search", "The best answer to a question: hits in order, each with its reason.",
        (
            _Q,
            Parameter("in", "What to search.", choices=(*SOURCES, LIBRARIES)),
            Parameter("library", "Only this indexed library, as in=libraries.", many=True),
            *_SEARCH[2:],
            *_PAGE,
            *_EXACTLY,
            Parameter("timings", "Include timings; they differ from run to run.", "boolean"),
        ),
        _search, {"q": "how are redirects followed"}, _of_history, lambda values: not _of_history(values), lasts=_of_here,
        asks_tree=_of_tree, early=_search_early,
    ),
    Endpoint(
        "facets", "How the first hits spread over sources, languages, folders, outcomes, years, tags and authors.",
        (*_SEARCH, *_EXACTLY), _facets, {"q": "how are redirects followed"}, _always, lambda values: not _of_history(values),
        slow=True,
    ),
    Endpoint(
        "why", "Why a file, or the unit around a line of it, is or is not among the hits.",
        (
            _PATH, _Q, Parameter("line", "A line of the file.", "integer", low=1, high=10_000_000), _LIMIT,
            Parameter("mode", "How to read the question.", choices=MODES),
            Parameter("ranking", "How to order the hits: default, classic, or one that is installed."),
        ),
        _why,
    ),
    Endpoint(
        "explain", "The commits that wrote these lines, each with what it said and changed.",
        (
            _PATH, Parameter("first", "The first line.", "integer", low=1, high=10_000_000),
            Parameter("last", "The last line.", "integer", low=1, high=10_000_000),
            Parameter("limit", "How many commits, the newest first.", "integer", low=1, high=100),
        ),
        _explain, {}, _always, _never, slow=True,
    ),
    Endpoint("blame", "Which commit wrote which lines of a file, and when.", (_PATH,), _blame, {}, _always, _never, slow=True),
    Endpoint("file", "The text of a file of the index.", (_PATH,), _file),
    Endpoint("outline", "The symbols of a file, nested.", (_PATH,), _outline),
    Endpoint(
        "graph", "A file among the files it imports and those that depend on it.",
        (_PATH, _HOPS, Parameter("most", "How many files at most.", "integer", low=1, high=400)), _graph,
    ),
    Endpoint(
        "impact", "What depends on a file, hop by hop.",
        (_PATH, _HOPS, Parameter("symbol", "Only what uses this name of the file.")), _impact,
    ),
    Endpoint(
        "related", "Units like the one around a line of a file.",
        (_PATH, Parameter("line", "The line.", "integer", required=True, low=1, high=10_000_000), *_PAGE), _related,
    ),
    Endpoint(
        "symbol", "Where a name is defined.",
        (
            Parameter("name", "Client, Client.retry, Foo::bar or Foo#bar.", required=True),
            _LIMIT, Parameter("lang", "Only this language.", many=True),
        ),
        _symbol, asks_index=_never,
    ),
    Endpoint(
        "examples", "Questions to begin with, made of this repository's own names, commits and documents.",
        (), _examples, {}, _always,
    ),
    Endpoint(
        "status", "What the index holds, and how it stands to the tree.",
        (Parameter("skipped", "Also the paths that were read and left out.", "boolean"),), _status, slow=True, cached=False,
    ),
)  # fmt: skip


def _words() -> Words:
    """What the parameters are called that the command line has flags for."""
    declared = {parameter.name.replace("_", "-"): parameter for endpoint in ENDPOINTS for parameter in endpoint.parameters}
    names = {flag: parameter.name for flag, parameter in declared.items()}
    modes = {mode: f"mode={mode}" for mode in MODES}
    switches = frozenset(flag for flag, parameter in declared.items() if parameter.kind == "boolean")
    choices = {flag: parameter.choices for flag, parameter in declared.items() if parameter.choices}
    return Words({**modes, **names}, switches, {**choices, "in": (*SOURCES, LIBRARIES)}, frozenset({"status"}))


WORDS = _words()
