"""Checks every value of a query, chooses the sources it is sent to, and filters the files that may answer.

An error says which values are allowed, in the words that all surfaces use. A filter that matches no file yields no hits.
"""

from __future__ import annotations

from lurcher.errors import FilterError, QueryError, Template, UsageError
from lurcher.query import Query
from lurcher.runtime.kernel import np
from lurcher.runtime.process import without_controls
from lurcher.runtime.stdlib import Protocol, pattern
from lurcher.storage.snapshot import Snapshot
from lurcher.types import CASES, CONTEXTS, MODES, Degraded, Filter, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


MAX_QUERY_CHARS = 100_000
MAX_LIMIT = 1000
_TERMINAL_CODE = pattern(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and other codes in pasted terminal output."""


def make_filter(languages: Sequence[str] = (), paths: Sequence[str] = (), excludes: Sequence[str] = ()) -> Filter:
    """The filter of these globs and languages, checked."""
    return Filter(resolve_languages(as_tuple(languages)), check_globs(as_tuple(paths)), check_globs(as_tuple(excludes)))


def as_tuple(values: Sequence[str]) -> tuple[str, ...]:
    """A tuple of values; a single string is one value, not a sequence of letters."""
    return (values,) if isinstance(values, str) else tuple(values)


class PageQuery(Protocol):
    """What queries of every corpus have: how many hits, and how much of each."""

    @property
    def limit(self) -> int: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def snippet_lines(self) -> int | None: ...
    @property
    def context(self) -> str: ...


def clean_text(text: str) -> str:
    """A query's text without control characters and escape sequences."""
    if not isinstance(text, str):
        raise QueryError(f"a query is text, not {type(text).__name__}", "pass a string")
    if len(text) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(text):,} characters", f"a query has at most {MAX_QUERY_CHARS:,}; send the part that matters"
        )
    check_unicode(text, "the query")
    if "\x1b" in text:
        text = _TERMINAL_CODE.sub("", text)
    clean = without_controls(text)
    if not clean.strip():
        raise QueryError("the query is empty", 'for example: lurcher search "how are redirects followed"')
    return clean


def check_unicode(text: str, what: str) -> None:
    """Raise for an unpaired surrogate, which no file can hold; it also stands for a byte that is not UTF-8."""
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise QueryError(f"{what} is not valid Unicode", "send it as UTF-8")


def type_error(label: str, value: object, kind: str, error: type[UsageError] = QueryError) -> UsageError:
    """`label` is what the caller calls the parameter."""
    return error(f"{label} is {value!r}", f"pass {kind}")


def range_error(
    label: str, value: float, low: float | None, high: float | None, error: type[UsageError] = QueryError
) -> UsageError:
    return error(f"{label} is {value}", f"use {low} or more" if high is None else f"use {low} to {high}")


def choice_error(noun: str, value: str, choices: Iterable[str], error: type[UsageError] = QueryError) -> UsageError:
    return error(f"unknown {noun} '{value}'", f"known are: {', '.join(choices)}")


def check_page(query: PageQuery) -> None:
    for name in ("limit", "budget", "snippet_lines"):
        value = getattr(query, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise type_error(name, value, "a whole number")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise range_error("the limit", query.limit, 1, MAX_LIMIT)
    if query.budget is not None and query.budget < 1:
        raise QueryError(f"the budget is {query.budget} tokens", "use 1 or more, or leave it out")
    if query.snippet_lines is not None and query.snippet_lines < 1:
        raise QueryError(f"snippet lines are {query.snippet_lines}", Template("use 1 or more, or {context=none} for no text"))
    if query.context not in CONTEXTS:
        raise choice_error("context", query.context, CONTEXTS)


class FusionQuery(Protocol):
    """How a query combines the lanes' orders into one."""

    @property
    def fusion(self) -> str | None: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def mmr(self) -> float | None: ...


FUSIONS = ("rrf", "linear")


def check_fusion(query: FusionQuery) -> None:
    if query.fusion is not None and query.fusion not in FUSIONS:
        raise choice_error("fusion", query.fusion, FUSIONS)
    for name in ("alpha", "mmr"):
        value = getattr(query, name)
        if value is not None and not 0 <= value <= 1:
            raise range_error(name, value, 0, 1)
        if value is not None and query.fusion != "linear":
            raise QueryError(Template(f"{{{name}}} is for {{fusion=linear}}"), "use both, or neither")


def check_query(query: Query) -> Query:
    """The query with cleaned text, or the error for its first bad value."""
    text = clean_text(query.text)
    check_page(query)
    if query.mode not in MODES:
        raise choice_error("mode", query.mode, MODES)
    check_fusion(query)
    if query.case not in CASES:
        raise choice_error("case", query.case, CASES)
    return query if text == query.text else query.replace(text=text)


SOURCES = ("code", "history", "notes")
ALL = "all"
LIBRARIES = "libraries"
"""Searched only on their own: code of others would outnumber the project's."""
KNOWN = (*SOURCES, LIBRARIES, ALL)
_KNOWN_TO = {
    "since": ("history", "notes"), "until": ("history", "notes"), "author": ("history",), "outcomes": ("history",),
    "tags": ("notes",), "libraries": (LIBRARIES,),
}  # fmt: skip
"""Filter → the sources that support it."""
_PARAMETERS = {"outcomes": "outcome", "tags": "tag", "libraries": "library"}


class Chosen(Record):
    __slots__ = ("sources", "notes")

    def __init__(self, sources: tuple[str, ...], notes: tuple[Degraded, ...] = ()) -> None:
        self.sources, self.notes = sources, notes


def choose_sources(sources: Sequence[str] | None, **filters: object) -> Chosen:
    """The sources to search. With `all`, those that have every filter of the query; a source that is named must have them."""
    named = ("code",) if sources is None else as_tuple(sources)
    for source in named:
        if source not in KNOWN:
            raise UsageError(f"unknown source '{source}'", f"known are: {', '.join(KNOWN)}")
    if not named:
        raise UsageError("no source was given", f"name one of {', '.join(KNOWN)}")
    if LIBRARIES in named and len(set(named)) > 1:
        raise UsageError("libraries cannot be searched with other sources", "leave the others out, or search twice")
    if filters.get("libraries") and LIBRARIES not in named:
        raise UsageError(Template("{library} is for {in=libraries}"), "leave one of them out")
    found = named[:1] if LIBRARIES in named else tuple(source for source in SOURCES if source in named or ALL in named)
    notes: tuple[Degraded, ...] = ()
    for name, value in filters.items():
        unable = [source for source in found if value not in (None, (), []) and source not in _KNOWN_TO[name]]
        if not unable:
            continue
        parameter = Template(f"{{{_PARAMETERS.get(name, name)}}}")
        if ALL not in named:
            message = Template("{*} is not for {*}", parameter, unable[0])
            raise UsageError(message, f"only {' and '.join(_KNOWN_TO[name])} have it")
        found = tuple(source for source in found if source not in unable)
        notes += (Degraded(unable[0], Template("{*} left out: not known to {*}", " and ".join(unable), parameter), ""),)
    if not found:
        raise UsageError("no source has all of these filters", "leave one of them out")
    return Chosen(found, notes)


def installed_source(sources: Sequence[str] | None) -> str | None:
    """The source of an installed package, if `sources` names one."""
    named = () if sources is None else as_tuple(sources)
    unknown = [name for name in named if name not in KNOWN]
    if not unknown:
        return None
    from lurcher.runtime import installed

    if not installed("sources", unknown[0]):
        return None
    if len(named) > 1:
        raise UsageError(f"{unknown[0]} cannot be searched with other sources", "leave the others out, or search twice")
    return unknown[0]


_MAX_GLOB = 1000


def resolve_languages(names: tuple[str, ...]) -> tuple[str, ...]:
    """Canonical language names; FilterError for an unknown one, with similar names."""
    if not names:
        return ()
    from lurcher.languages.detect import LANGUAGES, resolve

    found: list[str] = []
    for name in names:
        language = resolve(name)
        if language is None:
            import difflib

            near = difflib.get_close_matches(name.lower(), LANGUAGES, 3)
            some = f"some that are known: {', '.join(sorted(LANGUAGES)[:12])}, …"
            raise FilterError(f"unknown language '{name}'", f"did you mean {' or '.join(near)}?" if near else some)
        found += (language, *LANGUAGES[language].also)
    return tuple(dict.fromkeys(found))


def check_globs(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        broken = not glob.isascii() and any("\ud800" <= c <= "\udfff" for c in glob)
        if not glob or len(glob) > _MAX_GLOB or "\0" in glob or glob.count("**") > 8 or broken:
            raise FilterError(f"not a usable glob: {glob[:40]!r}", Template("for example: {path='src/**/*.py'}"))
    return globs


def filter_files(snapshot: Snapshot, filter: Filter) -> NDArray[np.bool_]:
    """Live files that pass the filter."""
    allowed: NDArray[np.bool_] = snapshot.live_files.copy()
    if filter.prefixes is None and not filter.languages and not filter.globs and not filter.excludes:
        return allowed
    for file in np.flatnonzero(allowed).tolist():
        allowed[file] = _passes_filter(snapshot, file, filter)
    return allowed


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these, or below one; the folder of no name has them all."""
    return any(not folder or path == folder or path.startswith(folder + "/") for folder in folders)


def _passes_filter(snapshot: Snapshot, file: int, filter: Filter) -> bool:
    if filter.prefixes is not None and not is_below(snapshot.path(file), filter.prefixes):
        return False
    if filter.languages and snapshot.language(file) not in filter.languages:
        return False
    bare = snapshot.bare_path(file)
    if filter.globs and not any(matches_glob(glob, bare) for glob in filter.globs):
        return False
    return not any(matches_glob(glob, bare) for glob in filter.excludes)


def matches_glob(glob: str, path: str) -> bool:
    """As in .gitignore: without a slash a glob matches any component, with one it is anchored; a folder matches its files."""
    from fnmatch import fnmatchcase

    parts = path.split("/")
    glob = glob.removeprefix("./").rstrip("/")
    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in parts)
    return _matches_components(glob.lstrip("/").split("/"), parts)


def _matches_components(pattern: list[str], parts: list[str]) -> bool:
    """Whether the pattern matches the path or one of the folders above it; `**` matches any number of folders."""
    from fnmatch import fnmatchcase

    reachable = {0}
    for component in pattern:
        following: set[int] = set()
        for position in reachable:
            if component == "**":
                following.update(range(position, len(parts) + 1))
            elif position < len(parts) and fnmatchcase(parts[position], component):
                following.add(position + 1)
        reachable = following
    return bool(reachable)
