"""Which sources a query is sent to."""

from __future__ import annotations

from lurcher.errors import Template, UsageError
from lurcher.query.validate import as_tuple
from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@dataclass(frozen=True, slots=True)
class Chosen:
    sources: tuple[str, ...]
    notes: tuple[Degraded, ...] = ()


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
    from lurcher.registry import installed

    if not installed("sources", unknown[0]):
        return None
    if len(named) > 1:
        raise UsageError(f"{unknown[0]} cannot be searched with other sources", "leave the others out, or search twice")
    return unknown[0]
