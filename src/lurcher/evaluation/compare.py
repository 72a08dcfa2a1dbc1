"""Two runs over the same questions, side by side, and whether the difference could be chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.errors import DatasetError
from lurcher.evaluation.intervals import Interval, average, bootstrap, permutation_test, sign_test
from lurcher.evaluation.metrics import percentile
from lurcher.evaluation.runs import Run, load_run
from lurcher.evaluation.summary import HEADLINES, QueryResult, by_repository

MOVED = 10
"""How many of the questions that gained or lost most are listed."""

Pairs = Sequence[tuple[QueryResult, QueryResult]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure before and after on some of the questions, with the paired interval and p-value of its change."""

    name: str
    queries: int
    before: float
    after: float
    change: Interval
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "queries": self.queries,
            "before": round(self.before, 6),
            "after": round(self.after, 6),
            "change": self.change.to_dict(),
            "p_value": round(self.p_value, 6),
        }


@dataclass(frozen=True, slots=True)
class Move:
    """One question whose score changed."""

    id: str
    repository: str
    query: str
    before: float
    after: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "repository": self.repository,
            "query": self.query,
            "before": round(self.before, 6),
            "after": round(self.after, 6),
        }


@dataclass(frozen=True, slots=True)
class VariantComparison:
    variant: str
    headline: Difference
    sign_p_value: float
    wins: int
    losses: int
    ties: int
    metrics: dict[str, tuple[float, float]]
    """Every measure before and after, averaged as the headline is."""
    categories: tuple[Difference, ...]
    repositories: tuple[Difference, ...]
    gained: tuple[Move, ...]
    lost: tuple[Move, ...]
    latency_ms: dict[str, tuple[float, float]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "headline": self.headline.to_dict(),
            "sign_p_value": round(self.sign_p_value, 6),
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "metrics": {name: [round(one, 6), round(two, 6)] for name, (one, two) in self.metrics.items()},
            "categories": {entry.name: entry.to_dict() for entry in self.categories},
            "repositories": {entry.name: entry.to_dict() for entry in self.repositories},
            "gained": [move.to_dict() for move in self.gained],
            "lost": [move.to_dict() for move in self.lost],
            "latency_ms": {name: [round(one, 3), round(two, 3)] for name, (one, two) in self.latency_ms.items()},
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    dataset: dict[str, str]
    metric: str
    before: str
    """Version and date of the first run."""
    after: str
    settings: dict[str, tuple[Any, Any]]
    """The settings in which the runs differ."""
    variants: tuple[VariantComparison, ...]
    left_out: int
    """Questions that only one of the runs has."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "metric": self.metric,
            "before": self.before,
            "after": self.after,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
            "left_out": self.left_out,
            "variants": {entry.variant: entry.to_dict() for entry in self.variants},
        }


def compare(before: Run | Path, after: Run | Path) -> Comparison:
    """How the second run differs from the first, question by question."""
    one = load_run(before) if isinstance(before, Path) else before
    two = load_run(after) if isinstance(after, Path) else after
    if one.dataset["digest"] != two.dataset["digest"] or one.dataset["kind"] != two.dataset["kind"]:
        raise DatasetError(
            f"the runs are over different datasets: {_describe(one)} and {_describe(two)}",
            hint="evaluate both on the same dataset, unchanged",
        )
    later = {result.id: result for result in two.results}
    pairs = [(result, later[result.id]) for result in one.results if result.id in later]
    if not pairs:
        raise DatasetError("the runs have no question in common", hint="evaluate both on the same repositories")
    metric, over = HEADLINES[one.dataset["kind"]]
    variants = dict.fromkeys(first.variant for first, _ in pairs)
    keys = sorted({*one.settings, *two.settings})
    return Comparison(
        dataset=one.dataset,
        metric=metric,
        before=f"lurcher {one.lurcher}, {one.date}",
        after=f"lurcher {two.lurcher}, {two.date}",
        settings={
            key: (one.settings.get(key), two.settings.get(key))
            for key in keys
            if one.settings.get(key) != two.settings.get(key)
        },
        variants=tuple(_compare([p for p in pairs if p[0].variant == name], name, metric, over) for name in variants),
        left_out=len(one.results) + len(two.results) - 2 * len(pairs),
    )


def _compare(pairs: Pairs, variant: str, metric: str, over: str) -> VariantComparison:
    befores = [before for before, _ in pairs]
    afters = [after for _, after in pairs]
    shared = [name for name in befores[0].scores if name in afters[0].scores]
    moves = [
        Move(before.id, before.repository, before.query, before.scores[metric], after.scores[metric])
        for before, after in pairs
    ]
    changes = [move.after - move.before for move in moves]
    ranked = sorted(moves, key=lambda move: (move.before - move.after, move.id))
    times = [[result.ms for result in results if not result.error] for results in (befores, afters)]
    return VariantComparison(
        variant=variant,
        headline=_difference("all", pairs, metric, over),
        sign_p_value=sign_test(changes),
        wins=sum(change > 0 for change in changes),
        losses=sum(change < 0 for change in changes),
        ties=sum(change == 0 for change in changes),
        metrics={
            name: (average(by_repository(befores, name), over), average(by_repository(afters, name), over))
            for name in shared
        },
        categories=_groups(pairs, metric, lambda result: result.category),
        repositories=_groups(pairs, metric, lambda result: result.repository),
        gained=tuple(move for move in ranked if move.after > move.before)[:MOVED],
        lost=tuple(move for move in reversed(ranked) if move.after < move.before)[:MOVED],
        latency_ms={
            name: (percentile(times[0], share), percentile(times[1], share))
            for name, share in (("p50", 0.5), ("p95", 0.95))
        },
    )


def _groups(pairs: Pairs, metric: str, key: Callable[[QueryResult], str]) -> tuple[Difference, ...]:
    members: dict[str, list[tuple[QueryResult, QueryResult]]] = defaultdict(list)
    for before, after in pairs:
        if key(before):
            members[key(before)].append((before, after))
    return tuple(_difference(name, members[name], metric, "queries") for name in sorted(members))


def _difference(name: str, pairs: Pairs, metric: str, over: str) -> Difference:
    changes: dict[str, list[float]] = defaultdict(list)
    for before, after in pairs:
        changes[before.repository].append(after.scores[metric] - before.scores[metric])
    return Difference(
        name=name,
        queries=len(pairs),
        before=average(by_repository((before for before, _ in pairs), metric), over),
        after=average(by_repository((after for _, after in pairs), metric), over),
        change=bootstrap(changes, over),
        p_value=permutation_test(changes, over),
    )


def _describe(run: Run) -> str:
    return f"{run.dataset['name']} ({run.dataset['kind']}, {run.dataset['digest']})"
