"""How the hits of a question spread over languages, folders, outcomes and dates: what a filter would leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.types import Answer, Hit

if TYPE_CHECKING:
    from lurcher.engine import Engine

LOOKED_AT = 100
"""So many first hits are counted: further ones nobody reads."""
_MOST = 12
_GENERAL = ("mode", "ranking", "since", "until", "author", "exclude", "tag")

Ask = Callable[..., Answer]


def facets(engine: Engine, ask: Ask, values: Mapping[str, Any], check: bool) -> dict[str, Any]:
    """Each facet counts what the other filters leave, so that another value of it can be chosen."""
    source = values.get("in", "code")
    base = {name: values[name] for name in ("q", *_GENERAL) if name in values}
    wide = ask(engine, {**base, "in": source, "limit": LOOKED_AT, "context": "none"}, check)
    chosen = {name: set(values.get(name, ())) for name in ("lang", "path", "outcome")}
    kinds: dict[str, Callable[[Hit], Sequence[str]]] = {
        "lang": lambda hit: (hit.language,),
        "path": _folders,
        "outcome": _outcome,
        "year": _year,
        "tag": lambda hit: tuple((hit.note or {}).get("tags", ())),
        "author": lambda hit: ((hit.commit or {}).get("author", ""),) if hit.commit else (),
    }
    counted = {}
    for name, read in kinds.items():
        kept = (hit for hit in wide.hits if all(_passes(kinds[other], hit, chosen[other]) for other in chosen if other != name))
        counts = Counter(value for hit in kept for value in read(hit) if value)
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        counted[name] = [{"value": value, "count": count} for value, count in order[:_MOST]]
    sources, coverage = _sources(engine, ask, base, source, wide, check)
    index = {**wide.index.to_dict(), "coverage": coverage}
    return {
        "query": wide.query, "in": source, "looked_at": len(wide.hits), "total": wide.total, "facets": counted,
        "sources": sources, "index": index,
    }  # fmt: skip


def _passes(read: Callable[[Hit], Sequence[str]], hit: Hit, chosen: set[str]) -> bool:
    return not chosen or any(value in chosen for value in read(hit))


def _sources(
    engine: Engine, ask: Ask, base: Mapping[str, Any], source: str, wide: Answer, check: bool
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """How many hits each source has, and how much of the history is known. One that cannot be asked, as history outside of
    git, says why."""
    found: list[dict[str, Any]] = []
    coverage = dict(wide.index.coverage)
    for name in ("code", "history", "notes"):
        if name == source:
            found.append({"value": name, "count": wide.total})
            continue
        try:
            answer = ask(engine, {"q": base["q"], "in": name, "limit": 1, "context": "none"}, check)
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
