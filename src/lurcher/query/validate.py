"""Checks every value of a query; an error says which values are allowed, in the words that all surfaces use."""

from __future__ import annotations

from lurcher.errors import QueryError, Template, UsageError
from lurcher.query.filters import check_globs, resolve_languages
from lurcher.runtime.light import TYPE_CHECKING, Protocol, pattern, replace
from lurcher.runtime.terminal import without_controls
from lurcher.types import CASES, CONTEXTS, MODES, Filter, Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    return query if text == query.text else replace(query, text=text)
