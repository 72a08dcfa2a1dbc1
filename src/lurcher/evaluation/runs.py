"""One run of an evaluation: every result, the figures made of them, and the file that a run is saved in."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lurcher.errors import DatasetError
from lurcher.evaluation.confidence import LEVELS, ConfidenceSummary, Negative, summarise_confidence
from lurcher.evaluation.metrics import Interval, bootstrap, match_rate, mean, percentile, top1_diversity, top3_duplicate_rate
from lurcher.evaluation.spans import FIRST_LINE, NEVER
from lurcher.evaluation.trees import git
from lurcher.runtime import VERSION
from lurcher.types import Record

FORMAT = "lurcher-run/1"
HEADLINES = {
    "code": ("ndcg@10", "repositories"),
    "own": ("ndcg@10", "queries"),
    "spans": ("mrr@10", "queries"),
    "issues": ("file_mrr@10", "queries"),
    "history": ("file_mrr@10", "queries"),
}
"""The measure that a kind of dataset is judged by, and what it is averaged over."""


@dataclass(frozen=True, slots=True)
class Run:
    date: str
    lurcher: str
    settings: dict[str, Any]
    machine: dict[str, Any]
    dataset: dict[str, str]
    """name, kind and digest: two runs compare only when the digest is the same."""
    results: tuple[QueryResult, ...]
    summaries: tuple[Summary, ...]
    opening_s: float
    """Seconds spent opening, and so indexing, all folders."""
    warnings: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    """Why questions of the dataset were not run, and how many."""
    negatives: tuple[Negative, ...] = ()
    """Answers to questions that were asked of another repository."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "date": self.date,
            "lurcher": self.lurcher,
            "settings": self.settings,
            "machine": self.machine,
            "dataset": self.dataset,
            "opening_s": self.opening_s,
            "warnings": list(self.warnings),
            "left_out": self.left_out,
            "aggregates": {summary.variant: summary.to_dict() for summary in self.summaries},
            "results": [result.to_dict() for result in self.results],
            **({"negatives": [entry.to_dict() for entry in self.negatives]} if self.negatives else {}),
        }


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The ranks and scores of one query."""

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
    confidence: str = ""
    """The answer's; empty where it has none."""
    likelihood: dict[str, float] = field(default_factory=dict)

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
            **({"confidence": self.confidence, "likelihood": self.likelihood} if self.confidence else {}),
        }


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
    first_line: FirstLine | None = None
    """Where lines are labelled."""
    confidence: ConfidenceSummary | None = None

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
            **({"first_line": self.first_line.to_dict()} if self.first_line else {}),
            **({"confidence": self.confidence.to_dict()} if self.confidence else {}),
        }


@dataclass(frozen=True, slots=True)
class FirstLine:
    """The tokens until the first labelled line is read."""

    median: float
    never: int
    """Questions none of whose lines was read; they count as more tokens than any other."""

    def to_dict(self) -> dict[str, float]:
        return {"median_tokens": round(self.median, 1), "never": self.never}


@dataclass(frozen=True, slots=True)
class Group:
    """The mean scores of some of the questions."""

    name: str
    queries: int
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {"queries": self.queries, "scores": {name: round(value, 6) for name, value in self.scores.items()}}


def summarise(results: Sequence[QueryResult], kind: str, negatives: Sequence[Negative] = ()) -> tuple[Summary, ...]:
    """One summary per variant, in the order in which the variants appear."""
    variants = dict.fromkeys(result.variant for result in results)
    return tuple(
        _summarise([r for r in results if r.variant == variant], variant, kind, [n for n in negatives if n.variant == variant])
        for variant in variants
    )


def by_repository(results: Iterable[QueryResult], metric: str) -> dict[str, list[float]]:
    """The scores on one measure, repository by repository."""
    groups: dict[str, list[float]] = defaultdict(list)
    for result in results:
        groups[result.repository].append(result.scores[metric])
    return dict(groups)


def _summarise(results: list[QueryResult], variant: str, kind: str, negatives: Sequence[Negative]) -> Summary:
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
        first_line=_first_line(results),
        confidence=summarise_confidence(results, negatives),
    )


def _first_line(results: Sequence[QueryResult]) -> FirstLine | None:
    tokens = [result.scores[FIRST_LINE] for result in results if FIRST_LINE in result.scores]
    return FirstLine(percentile(tokens, 0.5), sum(value >= NEVER for value in tokens)) if tokens else None


def _groups(results: list[QueryResult], key: Callable[[QueryResult], str]) -> tuple[Group, ...]:
    members: dict[str, list[QueryResult]] = defaultdict(list)
    for result in results:
        if key(result):
            members[key(result)].append(result)
    return tuple(_group(name, members[name]) for name in sorted(members))


def _group(name: str, results: list[QueryResult]) -> Group:
    scores = {metric: mean(result.scores[metric] for result in results) for metric in results[0].scores}
    return Group(name, len(results), scores)


def new_run(
    results: tuple[QueryResult, ...],
    dataset: dict[str, str],
    settings: Mapping[str, Any],
    opening_s: float,
    warnings: tuple[str, ...],
    left_out: dict[str, int] | None = None,
    negatives: tuple[Negative, ...] = (),
) -> Run:
    """A run of now, on this machine, by this version."""
    return Run(
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        lurcher=lurcher_version(),
        settings=json.loads(json.dumps(dict(settings), sort_keys=True, default=_plain)),
        machine=machine(),
        dataset=dataset,
        results=results,
        summaries=summarise(results, dataset["kind"], negatives),
        opening_s=round(opening_s, 3),
        warnings=warnings,
        left_out=left_out or {},
        negatives=negatives,
    )


def machine() -> dict[str, Any]:
    """What a reader needs to judge the timings; nothing that names the host or its user."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cpus": os.cpu_count() or 0,
        "python": platform.python_version(),
    }


def lurcher_version(source: Path = Path(__file__)) -> str:
    """The version, with the commit when it runs from its own checkout and a plus when that has changes."""
    here = source.resolve()
    # Installed into an environment inside some other repository, this file is not tracked there.
    if git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return VERSION
    commit = git(here.parent, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return VERSION
    changed = git(here.parents[1], "status", "--porcelain", "--", ".")
    return f"{VERSION} {commit.strip()}{'+' if changed else ''}"


def save_run(run: Run, path: Path) -> None:
    """Writes the run, whole or not at all."""
    text = json.dumps(run.to_dict(), indent=1) + "\n"
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise DatasetError(f"{path} cannot be written: {error.strerror}", hint="choose another place") from None


def load_run(path: Path) -> Run:
    """Reads a run back and checks it; aggregates are computed anew, so they always fit the results."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}", hint="name a saved run") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path} is not a saved run: {error}", hint="save one with lurcher eval --save") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise DatasetError(f"{path} is not a saved run of format {FORMAT}", hint="evaluate again and save that run")
    try:
        dataset = {key: _check_kind(raw["dataset"][key], str) for key in ("name", "kind", "digest")}
        if dataset["kind"] not in HEADLINES:
            raise ValueError(f"kind {dataset['kind']}")
        results = tuple(_result(item) for item in _check_kind(raw["results"], list))
        names = {tuple(sorted(result.scores)) for result in results}
        if len(names) != 1 or HEADLINES[dataset["kind"]][0] not in results[0].scores:
            raise ValueError("results without the same scores")
        if len({result.id for result in results}) < len(results):
            raise ValueError("a question twice")
        negatives = tuple(_negative(item) for item in _check_kind(raw.get("negatives", []), list))
        return Run(
            date=_check_kind(raw["date"], str),
            lurcher=_check_kind(raw["lurcher"], str),
            settings=_check_kind(raw["settings"], dict),
            machine=_check_kind(raw["machine"], dict),
            dataset=dataset,
            results=results,
            summaries=summarise(results, dataset["kind"], negatives),
            opening_s=_number(raw["opening_s"]),
            warnings=tuple(_check_kind(item, str) for item in _check_kind(raw["warnings"], list)),
            left_out={name: _check_kind(count, int) for name, count in _check_kind(raw.get("left_out", {}), dict).items()},
            negatives=negatives,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{path} is damaged: {type(error).__name__}: {error}", hint="evaluate again") from None


def _plain(value: Any) -> Any:
    """A setting that JSON does not know, in a form that is the same in every process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Record):
        return {name: getattr(value, name) for name in value.__slots__}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)


def _result(item: Any) -> QueryResult:
    texts = {
        key: _check_kind(item[key], str)
        for key in ("id", "repository", "variant", "query", "category", "language", "error")
    }
    return QueryResult(
        **texts,
        chunk_ranks=tuple(_rank(rank) for rank in _check_kind(item["chunk_ranks"], list)),
        file_ranks=tuple(_rank(rank) for rank in _check_kind(item["file_ranks"], list)),
        scores={_check_kind(name, str): _number(value) for name, value in _check_kind(item["scores"], dict).items()},
        hits=_check_kind(item["hits"], int),
        top=tuple(_check_kind(name, str) for name in _check_kind(item["top"], list)),
        ms=_number(item["ms"]),
        confidence=_level(item),
        likelihood=_likelihood(item),
    )


def _negative(item: Any) -> Negative:
    texts = {key: _check_kind(item[key], str) for key in ("id", "repository", "variant")}
    return Negative(**texts, confidence=_level(item), likelihood=_likelihood(item))


def _level(item: Any) -> str:
    level: str = _check_kind(item.get("confidence", ""), str)
    if level and level not in LEVELS:
        raise ValueError(f"confidence {level}")
    return level


def _likelihood(item: Any) -> dict[str, float]:
    return {name: _number(value) for name, value in _check_kind(item.get("likelihood", {}), dict).items()}


def _check_kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r:.60} where {kind.__name__} belongs")
    return value


def _number(value: Any) -> float:
    number = float(_check_kind(value, int) if isinstance(value, int) else _check_kind(value, float))
    if not math.isfinite(number):
        raise ValueError(f"the number {number}")
    return number


def _rank(value: Any) -> int | None:
    if value is None:
        return None
    if _check_kind(value, int) < 1:
        raise ValueError(f"rank {value}")
    return int(value)
