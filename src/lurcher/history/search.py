"""Answers a question about the past of one or more repositories: filter → plan → ranking → pack → Answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.budget import cursor as cursors
from lurcher.budget.pack import START, pack
from lurcher.config import Settings
from lurcher.embedding.model import Model
from lurcher.errors import ModelError
from lurcher.history.filters import allowed_commits
from lurcher.history.hits import PastShown
from lurcher.history.planning import PastPlan, plan_past
from lurcher.history.project import PastView
from lurcher.history.question import PastQuery
from lurcher.history.ranking.context import PastContext, PastRanking
from lurcher.history.ranking.stuck import lasting
from lurcher.index.vectors import Direction
from lurcher.registry import past_ranking_named
from lurcher.rerank.reranker import Candidate, Warm
from lurcher.rerank.second import Head, Second, look_again
from lurcher.types import Answer, Degraded, Hit, IndexState

if TYPE_CHECKING:
    from lurcher.history.reader import Past

SOURCE = "history"


@dataclass(frozen=True, slots=True)
class PastRoot:
    """One repository to ask: its history, what stands before its paths, and the folders of it that were asked for."""

    name: str
    label: str
    view: PastView
    model: Model
    prefixes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _Part:
    root: PastRoot
    ranking: PastRanking
    shown: PastShown


def answer(
    roots: Sequence[PastRoot], query: PastQuery, settings: Settings, lap: Callable[[str], None], options: str, warm: Warm
) -> tuple[Answer, PastPlan]:
    """The best commits of all roots together; `options` names what else than the query the order depends on."""
    parts: list[_Part] = []
    notes: list[Degraded] = []
    plan: PastPlan | None = None
    for root in roots:
        context = _context(root, query, settings, notes)
        lap("plan")
        plan = plan or context.plan
        ranking = past_ranking_named(query.order)(context)
        notes += context.notes
        parts.append(_Part(root, ranking, PastShown(context, ranking, query, root.view.verdicts)))
        lap("ranking")
    assert plan is not None, "asked without a repository"
    places = _together(parts)
    print_ = cursors.fingerprint(
        query,
        root="\0".join(root.name for root in roots),
        generation=sum(root.view.manifest.generation for root in roots),
        checksum=",".join(name for root in roots for name in root.view.manifest.segments),
        options=options,
    )
    came = cursors.decode(query.cursor, expect=print_) if query.cursor is not None else None
    second = _second(parts, places, query, settings, warm, came.said if came else None)
    if query.rerank:
        lap("rerank")

    def place(i: int) -> tuple[_Part, int]:
        number, position = places[second.before(i)]
        return parts[number], position

    def cost(i: int) -> int:
        part, position = place(i)
        return part.shown.cost(position)

    page = pack(cost, len(places), budget=query.budget, limit=query.limit, start=came.place if came else START)
    hits = tuple(second.told(i, _hit(*place(i))) for i in page.indices)
    notes += second.notes
    lap("pack")
    kept = second.said if query.rerank else None
    following = cursors.encode(cursors.CursorState(page.next, print_, kept)) if page.next else None
    if page.oversized:
        named = ", ".join(part.shown.location(position) for part, position in map(place, page.oversized[:3]))
        notes.append(
            Degraded("budget", f"larger than the whole budget: {named}", "raise the budget, or use --snippet-lines")
        )
    degraded = (*notes, *(note for root in roots for note in root.view.degraded))
    found = Answer(
        query.text, plan.mode, "question" if plan.question else "report" if "\n" in plan.text.strip() else "natural-language",
        query.order, (SOURCE,), hits, len(places), page.tokens, following, _state(roots), degraded, {},
    )  # fmt: skip
    return found, plan


def _second(
    parts: Sequence[_Part], places: Sequence[tuple[int, int]], query: PastQuery, settings: Settings, warm: Warm,
    said: tuple[tuple[int, ...], ...] | None,
) -> Second:  # fmt: skip
    """What rerankers make of the first commits of all roots together."""

    def score(i: int) -> float:
        number, position = places[i]
        return float(parts[number].ranking.scores[position])

    def candidate(i: int) -> Candidate:
        number, position = places[i]
        return parts[number].shown.candidate(position)

    def stuck(i: int) -> tuple[float, str]:
        number, position = places[i]
        part = parts[number]
        sha = part.root.view.past.sha(int(part.ranking.commits[position]))
        return lasting(part.root.view.verdicts.of(sha))

    return look_again(
        query.rerank, query.text, Head(len(places), score, candidate), settings, Path(parts[0].root.name), warm,
        said=said, factors={"outcome": (settings.past.fused, stuck)},
    )  # fmt: skip


def _context(root: PastRoot, query: PastQuery, settings: Settings, notes: list[Degraded]) -> PastContext:
    past = root.view.past
    plan = plan_past(query.text, query.mode, past, settings.past.title)
    verdicts = root.view.verdicts
    allowed = allowed_commits(past, query, root.prefixes, verdicts)
    alpha = settings.past.alpha if query.alpha is None else query.alpha
    return PastContext(past, plan, settings, allowed, _direction(past, plan, root.model, notes), query.limit, alpha, query.mmr)


def _direction(past: Past, plan: PastPlan, model: Model, notes: list[Degraded]) -> Direction | None:
    """Where a question points. Of several lines the first: the rest leads astray."""
    from lurcher.embedding.question import direction, unfit
    from lurcher.planning.groups import query_terms

    if model.path is None or not past.segments or (model.textual and plan.mode == "lexical"):
        return None
    try:
        problem = unfit(model, past.dims)
        if problem is not None:
            raise problem
        title = plan.text.strip().partition("\n")[0]
        found, _ = direction(model, query_terms(title), title, past.dims)
    except ModelError as problem:
        hint = problem.hint.replace("lurcher index", "lurcher index --history")
        notes.append(Degraded("dense", f"{problem.message}; these hits are by words", hint))
        return None
    return found if found.length > 0 else None


def _together(parts: Sequence[_Part]) -> Sequence[tuple[int, int]]:
    """(part, position) of every commit, best first; of equals the one of the earlier root."""
    if len(parts) == 1:
        return _Only(len(parts[0].ranking.commits))
    found = [
        (-score, number, position)
        for number, part in enumerate(parts)
        for position, score in enumerate(part.ranking.scores.tolist())
    ]
    return [(number, position) for _, number, position in sorted(found)]


class _Only(Sequence[tuple[int, int]]):
    """The places of the one part there is."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> tuple[int, int]:  # type: ignore[override]
        return 0, i


def _hit(part: _Part, position: int) -> Hit:
    hit = part.shown.hit(position)
    return replace(hit, path=part.root.label + hit.path) if part.root.label else hit


def _state(roots: Sequence[PastRoot]) -> IndexState:
    views = [root.view for root in roots]
    total = sum(view.past.total for view in views)
    covered = sum(view.past.commit_count for view in views) / total if total else 1.0
    fresh = all(view.fresh for view in views)
    return IndexState(sum(view.manifest.generation for view in views), fresh, 0, {SOURCE: round(min(covered, 1.0), 4)})
