"""From the scores of single questions to the figures of a run: headline, groups, latency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lurcher.evaluation.intervals import Interval, bootstrap
from lurcher.evaluation.metrics import match_rate, mean, percentile, top1_diversity, top3_duplicate_rate

HEADLINES = {
    "code": ("ndcg@10", "repositories"),
    "own": ("ndcg@10", "queries"),
    "issues": ("file_mrr@10", "queries"),
    "history": ("file_mrr@10", "queries"),
}
"""The measure that a kind of dataset is judged by, and what it is averaged over."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """How one question went."""

    id: str
    repository: str
    variant: str
    query: str
    category: str
    language: str
    chunk_ranks: tuple[int | None, ...]
    file_ranks: tuple[int | None, ...]
    scores: dict[str, float]
    hits: int
    top: tuple[str, ...]
    """The documents of the first hits, best first."""
    ms: float
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "repository": self.repository,
            "variant": self.variant,
            "query": self.query,
            "category": self.category,
            "language": self.language,
            "chunk_ranks": list(self.chunk_ranks),
            "file_ranks": list(self.file_ranks),
            "scores": self.scores,
            "hits": self.hits,
            "top": list(self.top),
            "ms": self.ms,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The mean scores of some of the questions."""

    name: str
    queries: int
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {"queries": self.queries, "scores": {name: round(value, 6) for name, value in self.scores.items()}}


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one variant of the questions."""

    variant: str
    metric: str
    headline: Interval
    queries: int
    failed: int
    by_repositories: Group
    by_queries: Group
    match_rate: float
    top1_diversity: float
    top3_duplicates: float
    latency_ms: dict[str, float]
    categories: tuple[Group, ...] = ()
    languages: tuple[Group, ...] = ()
    repositories: tuple[Group, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "headline": self.headline.to_dict(),
            "queries": self.queries,
            "failed": self.failed,
            "mean_over_repositories": self.by_repositories.to_dict()["scores"],
            "mean_over_queries": self.by_queries.to_dict()["scores"],
            "match_rate": round(self.match_rate, 6),
            "top1_diversity": round(self.top1_diversity, 6),
            "top3_duplicates": round(self.top3_duplicates, 6),
            "latency_ms": {name: round(value, 3) for name, value in self.latency_ms.items()},
            "categories": {group.name: group.to_dict() for group in self.categories},
            "languages": {group.name: group.to_dict() for group in self.languages},
            "repositories": {group.name: group.to_dict() for group in self.repositories},
        }


def summarise(results: Sequence[QueryResult], kind: str) -> tuple[Summary, ...]:
    """One summary per variant, in the order in which the variants appear."""
    variants = dict.fromkeys(result.variant for result in results)
    return tuple(_summarise([r for r in results if r.variant == variant], variant, kind) for variant in variants)


def by_repository(results: Iterable[QueryResult], metric: str) -> dict[str, list[float]]:
    """The scores on one measure, repository by repository."""
    groups: dict[str, list[float]] = defaultdict(list)
    for result in results:
        groups[result.repository].append(result.scores[metric])
    return dict(groups)


def _summarise(results: list[QueryResult], variant: str, kind: str) -> Summary:
    metric, over = HEADLINES[kind]
    repositories = _groups(results, lambda result: result.repository)
    names = list(results[0].scores)
    even = {name: mean(group.scores[name] for group in repositories) for name in names}
    times = [result.ms for result in results if not result.error]
    return Summary(
        variant=variant,
        metric=metric,
        headline=bootstrap(by_repository(results, metric), over),
        queries=len(results),
        failed=sum(bool(result.error) for result in results),
        by_repositories=Group("mean over repositories", len(repositories), even),
        by_queries=_group("mean over queries", results),
        match_rate=match_rate([result.hits for result in results]),
        top1_diversity=top1_diversity([[(result.repository, name) for name in result.top] for result in results]),
        top3_duplicates=top3_duplicate_rate([result.top for result in results]),
        latency_ms={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        categories=_groups(results, lambda result: result.category),
        languages=_groups(results, lambda result: result.language),
        repositories=repositories,
    )


def _groups(results: list[QueryResult], key: Callable[[QueryResult], str]) -> tuple[Group, ...]:
    members: dict[str, list[QueryResult]] = defaultdict(list)
    for result in results:
        if key(result):
            members[key(result)].append(result)
    return tuple(_group(name, members[name]) for name in sorted(members))


def _group(name: str, results: list[QueryResult]) -> Group:
    scores = {metric: mean(result.scores[metric] for result in results) for metric in results[0].scores}
    return Group(name, len(results), scores)
