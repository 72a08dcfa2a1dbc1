"""Facets: how many hits each language, folder, outcome, year, author and tag has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.types import Answer, Hit

if TYPE_CHECKING:
    from lurcher.engine import Engine

LOOKED_AT = 100
"""Hits that are counted."""
_MOST = 12

Ask = Callable[..., Answer]
Read = Callable[[Hit], Sequence[str]]


def facets(engine: Engine, ask: Ask, values: Mapping[str, Any], check: bool) -> dict[str, Any]:
    """Each facet counts what the other filters leave, so that another value of it can be chosen."""
    page = {"limit": LOOKED_AT, "context": "none"}
    full = ask(engine, {**values, **page}, check, counted=True)
    counted = {}
    for name, (filters, read) in _KINDS.items():
        mine = [key for key in filters if key in values]
        wide = full
        if mine:
            wide = ask(engine, {**{key: values[key] for key in values if key not in mine}, **page}, check, counted=True)
        counts = Counter(value for hit in wide.hits for value in read(hit) if value)
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        counted[name] = [{"value": value, "count": count} for value, count in order[:_MOST]]
    sources, coverage = _sources(engine, ask, values, full, check)
    return {
        "query": full.query, "in": values.get("in") or full.sources[0], "looked_at": len(full.hits), "total": full.total,
        "facets": counted, "sources": sources, "index": {**full.index.to_dict(), "coverage": coverage},
    }  # fmt: skip


def _sources(
    engine: Engine, ask: Ask, values: Mapping[str, Any], full: Answer, check: bool
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """How many hits each source has, and how much of the history is known. One that cannot be asked, as history outside of
    git, says why."""
    found: list[dict[str, Any]] = []
    coverage = dict(full.index.coverage)
    for name in ("code", "history", "notes"):
        if full.sources == (name,):
            found.append({"value": name, "count": full.total})
            continue
        try:
            answer = ask(engine, {"q": values["q"], "in": name, "limit": 1, "context": "none"}, check, counted=True)
        except LurcherError as problem:
            found.append({"value": name, "count": None, "problem": problem.message})
            continue
        coverage |= answer.index.coverage
        found.append({"value": name, "count": answer.total})
    return found, coverage


def _folders(hit: Hit) -> Sequence[str]:
    """The folder of the hit as a pattern that the filter takes: the first two parts of it."""
    parts = hit.path.split("/")[:-1]
    if not parts:
        return ("*",) if hit.path else ()
    return tuple(f"{'/'.join(parts[:depth])}/**" for depth in range(1, min(2, len(parts)) + 1))


def _outcome(hit: Hit) -> Sequence[str]:
    verdict = ((hit.commit or {}).get("outcome") or {}).get("verdict")
    return (verdict,) if verdict else ()


def _year(hit: Hit) -> Sequence[str]:
    date = (hit.commit or {}).get("date") or (hit.note or {}).get("date") or ""
    return (date[:4],) if date[:4].isdigit() else ()


_KINDS: dict[str, tuple[tuple[str, ...], Read]] = {
    "lang": (("lang",), lambda hit: (hit.language,)),
    "path": (("path",), _folders),
    "outcome": (("outcome",), _outcome),
    "year": (("since", "until"), _year),
    "author": (("author",), lambda hit: (hit.commit.get("author", ""),) if hit.commit else ()),
    "tag": (("tag",), lambda hit: tuple((hit.note or {}).get("tags", ()))),
}
"""Each facet with its filters and how to read its values from a hit."""
