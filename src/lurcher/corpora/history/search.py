"""Finds the commits of one or more repositories that answer a question: filter → plan → ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lurcher.answer import cursor as cursors
from lurcher.answer.page import Findings, Lap
from lurcher.config import Settings
from lurcher.corpora.history.filters import allowed_commits
from lurcher.corpora.history.hits import PastShown
from lurcher.corpora.history.index import PastView
from lurcher.corpora.history.query import PastPlan, PastQuery, plan_past
from lurcher.corpora.history.ranking.base import PastContext, PastRanking, past_ranking_named
from lurcher.errors import ModelError, PathError, Template
from lurcher.rerank.base import Candidate
from lurcher.rerank.outcome import lasting
from lurcher.storage.vectors import Direction
from lurcher.types import Degraded, Hit, IndexState, Why
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from lurcher.corpora.history.reader import Past

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


def found(
    roots: Sequence[PastRoot], query: PastQuery, settings: Settings, lap: Lap, options: str,
    problems: Sequence[PathError] = (),
) -> Findings:  # fmt: skip
    """The commits of all roots that answer; `options` names what else than the query their order depends on.

    `problems` are of roots that have no history.
    """
    parts: list[_Part] = []
    notes = [Degraded(SOURCE, problem.message, "") for problem in problems]
    plan: PastPlan | None = None
    name = ""
    for root in roots:
        context = _context(root, query, settings, notes)
        lap("plan")
        order = query.order
        if context.plan.mode == "dense" and context.direction is None:
            # Nearness alone was asked for and cannot be had: words are better than nothing, and the answer says so.
            context.plan = replace(context.plan, mode="lexical")
            order = replace(query, mode="lexical").order
        plan, name = plan or context.plan, name or order
        ranking = past_ranking_named(order)(context)
        notes += context.notes
        parts.append(_Part(root, ranking, PastShown(context, ranking, query, root.view.verdicts)))
        lap("ranking")
    assert plan is not None, "asked without a repository"
    listing = _Commits(parts)
    print_ = cursors.make_fingerprint(
        query,
        root="\0".join(root.name for root in roots),
        generation=sum(root.view.manifest.generation for root in roots),
        checksum=",".join(name for root in roots for name in root.view.manifest.segments),
        options=options,
    )
    return Findings(
        (SOURCE,), listing, plan.mode,
        "question" if plan.question else "report" if "\n" in plan.text.strip() else "natural-language",
        name, _state(roots), print_, (*notes, *(note for root in roots for note in root.view.degraded)),
        factors={"outcome": (settings.history.candidates, listing.stuck)},
    )  # fmt: skip


class _Commits:
    """The commits of all roots together, best first; of equals the one of the earlier root."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._places: Sequence[tuple[int, int]] = ()
        if len(parts) > 1:
            found = [
                (-score, number, position)
                for number, part in enumerate(parts)
                for position, score in enumerate(part.ranking.scores.tolist())
            ]
            self._places = [(number, position) for _, number, position in sorted(found)]

    def _at(self, i: int) -> tuple[_Part, int]:
        number, position = self._places[i] if self._places else (0, i)
        return self._parts[number], position

    def __len__(self) -> int:
        return sum(len(part.ranking.commits) for part in self._parts)

    def score(self, i: int) -> float:
        part, position = self._at(i)
        return float(part.ranking.scores[position])

    def cost(self, i: int) -> int:
        part, position = self._at(i)
        return part.shown.cost(position)

    def candidate(self, i: int) -> Candidate:
        part, position = self._at(i)
        return part.shown.candidate(position)

    def location(self, i: int) -> str:
        part, position = self._at(i)
        return part.shown.location(position)

    def why(self, i: int) -> Why:
        part, position = self._at(i)
        return part.ranking.why(int(part.ranking.commits[position]), float(part.ranking.scores[position]))

    def hit(self, i: int) -> Hit:
        part, position = self._at(i)
        hit = part.shown.hit(position)
        return replace(hit, path=part.root.label + hit.path) if part.root.label else hit

    def stuck(self, i: int) -> tuple[float, str]:
        """What a commit's score is multiplied by for what became of it."""
        part, position = self._at(i)
        return lasting(part.root.view.verdicts.of(part.root.view.past.sha(int(part.ranking.commits[position]))))


def _context(root: PastRoot, query: PastQuery, settings: Settings, notes: list[Degraded]) -> PastContext:
    past = root.view.past
    plan = plan_past(query.text, query.mode, past)
    verdicts = root.view.verdicts
    allowed = allowed_commits(past, query, root.prefixes, verdicts)
    alpha = settings.linear.alpha if query.alpha is None else query.alpha
    return PastContext(past, plan, settings, allowed, _direction(past, plan, root.model, notes), query.limit, alpha, query.mmr)


def _direction(past: Past, plan: PastPlan, model: Model, notes: list[Degraded]) -> Direction | None:
    """Where a question points; nowhere without words, which nothing is near to. Of several lines the first: the rest leads
    astray."""
    from lurcher.query.expand import extract_terms
    from lurcher.vectors.query import direction, unfit

    if not past.segments or (model.textual and plan.mode == "lexical"):
        return None
    if model.path is None and plan.mode != "dense":  # who wants no model need not be told on each query that there is none
        return None
    try:
        problem = unfit(model, past.dims)
        if problem is not None:
            raise problem
        title = plan.text.strip().partition("\n")[0]
        found, _ = direction(model, extract_terms(title), title, past.dims)
    except ModelError as problem:
        hint = problem.hint
        if isinstance(hint, Template):
            hint = Template(hint.template.replace("index:", "index: history"), *hint.values)
        notes.append(Degraded("dense", f"{problem.message}; these hits are by words", hint))
        return None
    return found if found.length > 0 or plan.mode == "dense" else None


def coverage_of(views: Sequence[PastView]) -> dict[str, float]:
    """The share of the commits that is indexed; nothing where it is not known how many there are."""
    total = sum(view.past.total for view in views)
    covered = min(1.0, sum(view.past.commit_count for view in views) / total if total else 1.0)
    unknown = covered == 1.0 and any(view.coverage is None for view in views)
    return {} if unknown else {SOURCE: round(covered, 4)}


def _state(roots: Sequence[PastRoot]) -> IndexState:
    views = [root.view for root in roots]
    fresh = all(view.fresh for view in views)
    return IndexState(sum(view.manifest.generation for view in views), fresh, 0, coverage_of(views))
