"""What a caller may ask: every value of a query checked, with an error that says what would be right."""

from __future__ import annotations

from lurcher.errors import QueryError
from lurcher.query.filters import check_globs, resolve_languages
from lurcher.runtime.light import TYPE_CHECKING, Protocol, pattern, replace
from lurcher.runtime.terminal import without_controls
from lurcher.types import CASES, CONTEXTS, MODES, Filter, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_QUERY_CHARS = 100_000
_TERMINAL_CODE = pattern(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and the like, which come along when a terminal's output is pasted."""


def filter_of(languages: Sequence[str] = (), paths: Sequence[str] = (), excludes: Sequence[str] = ()) -> Filter:
    """What a caller lets through, checked."""
    return Filter(resolve_languages(several(languages)), check_globs(several(paths)), check_globs(several(excludes)))


def several(values: Sequence[str]) -> tuple[str, ...]:
    """One string is one value, not its letters."""
    return (values,) if isinstance(values, str) else tuple(values)


class Asked(Protocol):
    """What every query has, whatever it asks."""

    @property
    def limit(self) -> int: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def snippet_lines(self) -> int | None: ...
    @property
    def context(self) -> str: ...


def clean_text(text: str) -> str:
    """A query's text without what a terminal would act on."""
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
    """Raise for a text that no file can hold: half of a surrogate pair, which also stands for a byte that is no UTF-8."""
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise QueryError(f"{what} is not valid Unicode", "send it as UTF-8")


def check_page(query: Asked) -> None:
    """How many hits, how large, how much of each."""
    for name in ("limit", "budget", "snippet_lines"):
        value = getattr(query, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise QueryError(f"{name} is {value!r}", "pass a whole number")
    if not 1 <= query.limit <= 1000:
        raise QueryError(f"the limit is {query.limit}", "use 1 to 1000")
    if query.budget is not None and query.budget < 1:
        raise QueryError(f"the budget is {query.budget} tokens", "use 1 or more, or leave it out")
    if query.snippet_lines is not None and query.snippet_lines < 1:
        raise QueryError(f"snippet lines are {query.snippet_lines}", "use 1 or more, or --context none for no text")
    if query.context not in CONTEXTS:
        raise QueryError(f"unknown context '{query.context}'", f"known are: {', '.join(CONTEXTS)}")


class Fused(Protocol):
    """What a query says about how lanes become one order."""

    @property
    def fusion(self) -> str | None: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def mmr(self) -> float | None: ...


FUSIONS = ("rrf", "linear")


def check_fusion(query: Fused) -> None:
    if query.fusion is not None and query.fusion not in FUSIONS:
        raise QueryError(f"unknown fusion '{query.fusion}'", f"known are: {', '.join(FUSIONS)}")
    for name in ("alpha", "mmr"):
        value = getattr(query, name)
        if value is not None and not 0 <= value <= 1:
            raise QueryError(f"{name} is {value}", "use 0 to 1")
        if value is not None and query.fusion != "linear":
            raise QueryError(f"--{name} is for --fusion linear", "use both, or neither")


def checked(query: Query) -> Query:
    text = clean_text(query.text)
    check_page(query)
    if query.mode not in MODES:
        raise QueryError(f"unknown mode '{query.mode}'", f"known are: {', '.join(MODES)}")
    check_fusion(query)
    if query.case not in CASES:
        raise QueryError(f"unknown case '{query.case}'", f"known are: {', '.join(CASES)}")
    return query if text == query.text else replace(query, text=text)
