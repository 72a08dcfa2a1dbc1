"""The rerank stage: runs rerankers (models that read query and text together) over the first candidates, one after the other.

A reranker is one file of this folder (or an entry point in the group `lurcher.rerank`) with

    rerank(request) -> Judged
    top(settings)   -> how many of the first candidates it reads

It raises a LurcherError if it fails; the order then stays as it was, and the answer says why.

The scores of each reranker are stored as whole numbers in the cursor, so that every page of an answer follows from the same
scores: a later page calls no model, and a server that is gone by then changes nothing. A reranker that needs no model is a
factor of each score, such as that of commits by what became of them (`outcome_factor`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.errors import CursorError, LurcherError, QueryError, ServerError, Template, UsageError
from lurcher.runtime import find
from lurcher.runtime.process import Cache
from lurcher.types import HOTFIXED, REVERTED, Degraded, Hit, StageWhy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit as a reranker reads it."""

    header: str
    """Path and symbol of code, subject of a commit, title and heading of a note."""
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Request:
    query: str
    candidates: Sequence[Candidate]
    """Best first."""
    settings: Settings
    root: Path
    """The project's folder, in which its own settings may name files."""
    warm: Cache = field(default_factory=Cache)
    """Holds loaded models from one request to the next."""


@dataclass(frozen=True, slots=True)
class Judged:
    scores: tuple[float | None, ...]
    """One for each candidate, from 0 to 1; None for one without a score, which counts as 0.5. Where most have none, the order
    stays."""
    held: frozenset[int] = frozenset()
    """Candidates that keep their place."""
    notes: tuple[Degraded, ...] = ()
    hint: str = ""
    """What to do where some have no score; the answer reports that by itself."""


def reranker_named(name: str) -> tuple[Callable[[Request], Judged], Callable[[Settings], int]]:
    """A reranker's `rerank` function, and its `top`: how many candidates it reads."""
    rerank, top = find("rerank", name, "rerank"), find("rerank", name, "top")
    if rerank is None or top is None:
        hint = "a reranker is a file of lurcher.rerank, or an entry point in that group"
        raise UsageError(f"unknown reranker '{name}'", hint)
    return rerank, top


NEUTRAL = 0.5
_SCALE = 10_000
_UNSCORED, _HELD, _FIRST = 0, 1, 2
"""How a score is encoded: no score, kept in place, or this plus the score in ten thousandths."""

StoredScores = tuple[int, ...]
"""The encoded scores of one reranker, in the order of its candidates; empty where it failed."""
Factor: TypeAlias = "Callable[[int], tuple[float, str]]"
"""What a candidate's score is multiplied by, and why: a reranker that needs no model."""


@dataclass(frozen=True, slots=True)
class RerankedOrder:
    """An order after reranking. "Earlier" positions are those before it."""

    order: tuple[int, ...] = ()
    """The earlier positions of the first hits, in their new order; all other hits stay where they are."""
    scores: tuple[float, ...] = ()
    stages: Mapping[int, tuple[StageWhy, ...]] | None = None
    judged: Mapping[int, Mapping[str, float]] | None = None
    """Scores by reranker, by earlier position."""
    stored: tuple[StoredScores, ...] = ()
    notes: tuple[Degraded, ...] = ()

    def before(self, position: int) -> int:
        return self.order[position] if position < len(self.order) else position

    def annotate(self, position: int, hit: Hit) -> Hit:
        """A hit with its new score, and the stages that changed it."""
        if not self.scores:
            return hit
        if position >= len(self.order):
            return hit.replace(score=min(hit.score, self.scores[-1]))
        earlier = self.order[position]
        why = hit.why.replace(
            stages=(*hit.why.stages, *(self.stages or {}).get(earlier, ())),
            scores={**hit.why.scores, **(self.judged or {}).get(earlier, {})},
        )
        return hit.replace(score=self.scores[position], why=why)


@dataclass(frozen=True, slots=True)
class TopHits:
    """The hits that rerankers may read: their number, and the score and text of each, computed when needed."""

    count: int
    score: Callable[[int], float]
    candidate: Callable[[int], Candidate]


def run_rerankers(
    names: Sequence[str],
    query: str,
    head: TopHits,
    settings: Settings,
    root: str,
    cache: Cache,
    *,
    stored: tuple[StoredScores, ...] | None = None,
    factors: Mapping[str, tuple[int, Factor]] | None = None,
) -> RerankedOrder:
    """The order that the named rerankers give. With `stored` scores, those of the first page, they are not called.

    `factors` are a corpus's own rerankers by name: how many of the first hits each reads, and its factor.
    """
    if not names or not head.count:
        return RerankedOrder(stored=stored or ())
    factors = factors or {}
    models = [name for name in names if name not in factors]
    if stored is not None and len(stored) != len(models):
        raise CursorError("the cursor does not fit the rerankers", "run the query again without the cursor")
    order: list[int] = []
    scores: list[float] = []
    stages: dict[int, list[StageWhy]] = {}
    judged: dict[int, dict[str, float]] = {}
    new_scores: list[StoredScores] = []
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
        if stored is None:
            from pathlib import Path

            candidates = [_candidate_with_score(head, order[i], scores[i]) for i in range(count)]
            request = Request(query, candidates, settings, Path(root), cache)
            entry, new, hint = _run_reranker(name, rerank, request)
            notes += new
        else:
            entry, hint = stored[len(new_scores)], ""
            if not entry:
                notes.append(Degraded(name, "the first page was not reranked, so the others are not either", ""))
            elif len(entry) != count:
                raise CursorError("the cursor does not fit the hits", "run the query again without the cursor")
        new_scores.append(entry)
        if not entry:
            continue
        notes += _unscored_notes(name, entry, hint)
        values = [NEUTRAL if number < _FIRST else (number - _FIRST) / _SCALE for number in entry]
        held = frozenset(i for i, number in enumerate(entry) if number == _HELD)
        seen = list(order[:count])
        _arrange(order, scores, values, held)
        after = {position: rank for rank, position in enumerate(order[:count], 1)}
        for i, position in enumerate(seen):
            note = _note(entry[i], i + 1, after[position])
            stages.setdefault(position, []).append(StageWhy(name, note=note))
            if entry[i] >= _FIRST:
                judged.setdefault(position, {})[name] = values[i]
    stages_by_position = {position: tuple(found) for position, found in stages.items()}
    return RerankedOrder(tuple(order), tuple(scores), stages_by_position, judged, tuple(new_scores), tuple(notes))


def _candidate_with_score(head: TopHits, position: int, score: float) -> Candidate:
    return replace(head.candidate(position), score=score)


def _run_reranker(name: str, rerank: Callable[[Request], Judged], request: Request) -> tuple[StoredScores, list[Degraded], str]:
    """Call a reranker and check its scores; returns them, notes, and a hint for missing ones. A failure becomes a note."""
    try:
        found = rerank(request)
        if len(found.scores) != len(request.candidates):
            raise ValueError(f"{len(found.scores)} scores for {len(request.candidates)} candidates")
        entry = tuple(_encode_score(score, i in found.held) for i, score in enumerate(found.scores))
        judged, scored = _counts(entry)
        if judged and 2 * scored <= judged:
            # An order by a few scores would look like one by all.
            raise ServerError(f"only {scored} of {judged} hits got a score", found.hint)
        return entry, list(found.notes), found.hint
    except LurcherError as problem:
        return (), [Degraded(name, f"{problem.message}; the order is as it was before", problem.hint)], ""
    except Exception as error:  # a model or a plugin may fail in any way, and there are hits already
        stored = f"the reranker failed: {type(error).__name__}: {error}; the order is as it was before"
        return (), [Degraded(name, stored, "")], ""


def _counts(entry: StoredScores) -> tuple[int, int]:
    """How many hits should have a score, and how many have one."""
    judged = sum(number != _HELD for number in entry)
    return judged, judged - sum(number == _UNSCORED for number in entry)


def _unscored_notes(name: str, entry: StoredScores, hint: str) -> list[Degraded]:
    """A note where not every hit has a score, repeated on each page."""
    judged, scored = _counts(entry)
    if scored == judged:
        return []
    return [Degraded(name, f"{judged - scored} of {judged} hits got no score, and count as {NEUTRAL}", hint)]


def _encode_score(score: float | None, held: bool) -> int:
    if held:
        return _HELD
    if score is None:
        return _UNSCORED
    if not 0 <= score <= 1:
        raise ValueError(f"a score of {score}")
    return _FIRST + round(score * _SCALE)


def _arrange(order: list[int], scores: list[float], values: Sequence[float], held: frozenset[int]) -> None:
    """Sort the first items by their new values. Equal ones keep their order, held ones their place."""
    count = len(values)
    free = sorted((i for i in range(count) if i not in held), key=lambda i: (-values[i], i))
    for i in sorted(held):
        free.insert(i, i)
    new = [order[i] for i in free]
    order[:count] = new
    # Scores never rise along the order, also where a held item stands between others, and after the last item that was read.
    ceiling = max((values[i] for i in free if i not in held), default=max(values, default=0.0))
    for place, i in enumerate(free):
        ceiling = ceiling if i in held else min(ceiling, values[i])
        scores[place] = ceiling
    for place in range(count, len(scores)):
        scores[place] = min(scores[place], ceiling)


def _note(number: int, before: int, after: int) -> str:
    place = f"stays at {after}" if before == after else f"from {before} to {after}"
    if number == _HELD:
        return f"its text addresses the judge, so it was not rated: {place}"
    if number == _UNSCORED:
        return f"got no score, so it counts as {NEUTRAL}: {place}"
    return f"scored {(number - _FIRST) / _SCALE:.4g}: {place}"


def check_reranker_names(names: Sequence[str], own: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of known rerankers, each once; `none` removes those before it."""
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


PENALTIES = {REVERTED: 0.6, HOTFIXED: 0.3}
"""The share of its score that a commit loses if its verdict is certain."""


def outcome_factor(verdict: str, confidence: float) -> float:
    """What the score of a commit with this verdict is multiplied by; the less certain the verdict, the nearer to 1."""
    return 1 - PENALTIES.get(verdict, 0.0) * confidence
