"""The second look at an order: runs rerankers over its first candidates, one after the other.

What each reranker said is kept as whole numbers and goes out with the cursor, so that every page of an answer follows from
the same scores: a later page asks no model, and a server that is gone by then changes nothing.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import CursorError, LurcherError, QueryError, ServerError, Template, UsageError
from lurcher.rerank.base import Candidate, Judged, Request, reranker_named
from lurcher.runtime.light import TYPE_CHECKING, dataclass, replace
from lurcher.types import Degraded, Hit, StageWhy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from lurcher.runtime.cache import Cache

NEUTRAL = 0.5
_SCALE = 10_000
_UNSCORED, _HELD, _FIRST = 0, 1, 2
"""How a score is written: none, held where it is, else this and the score in ten thousandths."""

Said = tuple[int, ...]
"""What one reranker said of its candidates, in the order it saw them; empty where it failed."""
Factor: TypeAlias = "Callable[[int], tuple[float, str]]"
"""What a candidate's score is multiplied by, and why: a second look that needs no model."""


@dataclass(frozen=True, slots=True)
class Second:
    """An order after its second look. Positions are those of hits: earlier ones in the order before, later ones in this one."""

    order: tuple[int, ...] = ()
    """The earlier positions of the first hits, in their new order; all others stay where they are."""
    scores: tuple[float, ...] = ()
    stages: Mapping[int, tuple[StageWhy, ...]] | None = None
    judged: Mapping[int, Mapping[str, float]] | None = None
    """Scores by reranker, by earlier position."""
    said: tuple[Said, ...] = ()
    notes: tuple[Degraded, ...] = ()

    def before(self, position: int) -> int:
        return self.order[position] if position < len(self.order) else position

    def told(self, position: int, hit: Hit) -> Hit:
        """A hit with its new score and what became of it."""
        if not self.scores:
            return hit
        if position >= len(self.order):
            return replace(hit, score=min(hit.score, self.scores[-1]))
        earlier = self.order[position]
        why = replace(
            hit.why,
            stages=(*hit.why.stages, *(self.stages or {}).get(earlier, ())),
            scores={**hit.why.scores, **(self.judged or {}).get(earlier, {})},
        )
        return replace(hit, score=self.scores[position], why=why)


@dataclass(frozen=True, slots=True)
class Head:
    """The hits that a second look may see: how many there are, and each one's score and text, worked out when asked for."""

    count: int
    score: Callable[[int], float]
    candidate: Callable[[int], Candidate]


def look_again(
    names: Sequence[str],
    query: str,
    head: Head,
    settings: Settings,
    root: str,
    cache: Cache,
    *,
    said: tuple[Said, ...] | None = None,
    factors: Mapping[str, tuple[int, Factor]] | None = None,
) -> Second:
    """The order that the named rerankers give. With `said` they are not asked: that is what they said on the first page.

    `factors` are a source's own rerankers by name: how many of the first hits each looks at, and what it multiplies by.
    """
    if not names or not head.count:
        return Second(said=said or ())
    factors = factors or {}
    asked = [name for name in names if name not in factors]
    if said is not None and len(said) != len(asked):
        raise CursorError("the cursor does not fit the rerankers", "run the query again without the cursor")
    order: list[int] = []
    scores: list[float] = []
    stages: dict[int, list[StageWhy]] = {}
    judged: dict[int, dict[str, float]] = {}
    kept: list[Said] = []
    notes: list[Degraded] = []

    def grow(most: int) -> int:
        for position in range(len(order), min(most, head.count)):
            order.append(position)
            scores.append(min(head.score(position), scores[-1]) if scores else head.score(position))
        return min(most, head.count)

    for name in names:
        if name in factors:
            most, factor = factors[name]
            count = grow(most)
            found = [factor(position) for position in order[:count]]
            for position, (value, note) in zip(order, found, strict=False):
                if value != 1.0:
                    stages.setdefault(position, []).append(StageWhy(name, factor=value, note=note))
            _arrange(order, scores, [value * times for value, (times, _) in zip(scores, found, strict=False)], frozenset())
            continue
        rerank, top = reranker_named(name)
        count = grow(top(settings))
        if said is None:
            from pathlib import Path

            request = Request(query, [_scored(head, order[i], scores[i]) for i in range(count)], settings, Path(root), cache)
            entry, new, hint = _asked(name, rerank, request)
            notes += new
        else:
            entry, hint = said[len(kept)], ""
            if not entry:
                notes.append(Degraded(name, "there was no second look at the first page, so there is none at the others", ""))
            elif len(entry) != count:
                raise CursorError("the cursor does not fit the hits", "run the query again without the cursor")
        kept.append(entry)
        if not entry:
            continue
        notes += _missed(name, entry, hint)
        values = [NEUTRAL if number < _FIRST else (number - _FIRST) / _SCALE for number in entry]
        held = frozenset(i for i, number in enumerate(entry) if number == _HELD)
        seen = list(order[:count])
        _arrange(order, scores, values, held)
        after = {position: rank for rank, position in enumerate(order[:count], 1)}
        for i, position in enumerate(seen):
            told = _note(entry[i], i + 1, after[position])
            stages.setdefault(position, []).append(StageWhy(name, note=told))
            if entry[i] >= _FIRST:
                judged.setdefault(position, {})[name] = values[i]
    told_of = {position: tuple(found) for position, found in stages.items()}
    return Second(tuple(order), tuple(scores), told_of, judged, tuple(kept), tuple(notes))


def _scored(head: Head, position: int, score: float) -> Candidate:
    return replace(head.candidate(position), score=score)


def _asked(name: str, rerank: Callable[[Request], Judged], request: Request) -> tuple[Said, list[Degraded], str]:
    """What a reranker says, checked, and what to do where it forgot some. One that fails is told of and says nothing."""
    try:
        found = rerank(request)
        if len(found.scores) != len(request.candidates):
            raise ValueError(f"{len(found.scores)} scores for {len(request.candidates)} candidates")
        entry = tuple(_written(score, i in found.held) for i, score in enumerate(found.scores))
        judged, scored = _counts(entry)
        if judged and 2 * scored <= judged:
            # An order by the scores of a few would look like one by the scores of all.
            raise ServerError(f"only {scored} of {judged} hits got a score", found.hint)
        return entry, list(found.notes), found.hint
    except LurcherError as problem:
        return (), [Degraded(name, f"{problem.message}; the order is as it was before", problem.hint)], ""
    except Exception as error:  # a model or a plugin may fail in any way, and the hits are there already
        said = f"the reranker failed: {type(error).__name__}: {error}; the order is as it was before"
        return (), [Degraded(name, said, "")], ""


def _counts(entry: Said) -> tuple[int, int]:
    """How many hits were to be judged, and how many of them were."""
    judged = sum(number != _HELD for number in entry)
    return judged, judged - sum(number == _UNSCORED for number in entry)


def _missed(name: str, entry: Said, hint: str) -> list[Degraded]:
    """Says so where not every hit was reranked, on each page."""
    judged, scored = _counts(entry)
    if scored == judged:
        return []
    return [Degraded(name, f"{judged - scored} of {judged} hits got no score, and count as the middle", hint)]


def _written(score: float | None, held: bool) -> int:
    if held:
        return _HELD
    if score is None:
        return _UNSCORED
    if not 0 <= score <= 1:
        raise ValueError(f"a score of {score}")
    return _FIRST + round(score * _SCALE)


def _arrange(order: list[int], scores: list[float], values: Sequence[float], held: frozenset[int]) -> None:
    """Put the first items in the order of their new values; of equals the one that was ahead, and held ones where they are."""
    count = len(values)
    free = sorted((i for i in range(count) if i not in held), key=lambda i: (-values[i], i))
    for i in sorted(held):
        free.insert(i, i)
    new = [order[i] for i in free]
    order[:count] = new
    # An order shows scores that do not rise, also where a held one stands between others and behind the last that was seen.
    ceiling = max((values[i] for i in free if i not in held), default=max(values, default=0.0))
    for place, i in enumerate(free):
        ceiling = ceiling if i in held else min(ceiling, values[i])
        scores[place] = ceiling
    for place in range(count, len(scores)):
        scores[place] = min(scores[place], ceiling)


def _note(number: int, before: int, after: int) -> str:
    place = f"stays at {after}" if before == after else f"from {before} to {after}"
    if number == _HELD:
        return f"its text addresses the judge, so it is not judged: {place}"
    if number == _UNSCORED:
        return f"got no score, so the middle: {place}"
    return f"scored {(number - _FIRST) / _SCALE:.4g}: {place}"


def checked_names(names: Sequence[str], own: Sequence[str] = ()) -> tuple[str, ...]:
    """The rerankers asked for, each once and known; `none` takes back those before it."""
    found: list[str] = []
    for name in names:
        if name == "none":
            found.clear()
            continue
        if name in found:
            continue
        if name not in own:
            _check_known(name, own)
        found.append(name)
    return tuple(found)


def _check_known(name: str, own: Sequence[str]) -> None:
    if name == "outcome":
        message = Template("{rerank=outcome} needs commits, which only history has")
        raise QueryError(message, Template("add {in=history}, or use another"))
    try:
        reranker_named(name)
    except UsageError:
        known = ("cross", "llm", *own, "none")
        raise QueryError(f"unknown reranker '{name}'", f"known are: {', '.join(known)}") from None
