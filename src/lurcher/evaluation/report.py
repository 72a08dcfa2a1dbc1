"""A run as text, and the comparison of two runs over the same questions: what changed, and whether by chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.errors import DatasetError
from lurcher.evaluation.confidence import ConfidenceSummary
from lurcher.evaluation.metrics import Interval, average, bootstrap, median_change, percentile, permutation_test, sign_test
from lurcher.evaluation.runs import HEADLINES, Group, QueryResult, Run, Summary, by_repository, load_run
from lurcher.evaluation.spans import BUDGETS, FIRST_LINE, NEVER, PRECISION_BUDGET

MOVED = 10
"""How many of the questions that gained or lost most are listed."""
COLUMNS = {
    "code": ("ndcg@10", "file_ndcg@10", "mrr@10", "hit@1", "hit@5", "hit@10"),
    "own": ("ndcg@10", "file_ndcg@10", "mrr@10", "hit@1", "hit@3", "hit@5", "hit@10"),
    "spans": (
        "mrr@10", "hit@1", "hit@5", "hit@10", "graded_ndcg@10", "file_mrr@10", "file_hit@1", "file_hit@5", "file_hit@10",
    ),
    "issues": ("file_mrr@10", "file_hit@1", "file_hit@5", "file_hit@10", "file_ndcg@10"),
    "history": ("file_mrr@10", "file_mrr@3", "file_hit@1", "file_hit@3", "file_hit@10"),
}
LINE_MEASURES = (*(f"lines@{budget}t" for budget in BUDGETS), f"precision@{PRECISION_BUDGET}t")
MAX_WARNINGS = 20
MAX_LONE_REPOSITORIES = 20
"""Where each repository has one question, more rows than these only repeat the results."""
MOVE_WIDTH = 90
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
    intervals: dict[str, Interval]
    """The changes of the measures that the report shows, paired."""
    first_line: tuple[float, float, Interval] | None = None
    """The median of the tokens until the first labelled line, before and after, and its change."""

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
            "intervals": {name: interval.to_dict() for name, interval in self.intervals.items()},
            **({"first_line": self._first_line()} if self.first_line else {}),
        }


    def _first_line(self) -> dict[str, Any]:
        assert self.first_line is not None
        before, after, change = self.first_line
        return {"before": round(before, 1), "after": round(after, 1), "change": change.to_dict()}


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
    variants = dict.fromkeys(first.variant for first, _ in pairs)
    keys = sorted({*one.settings, *two.settings})
    return Comparison(
        dataset=one.dataset,
        metric=HEADLINES[one.dataset["kind"]][0],
        before=f"lurcher {one.lurcher}, {one.date}",
        after=f"lurcher {two.lurcher}, {two.date}",
        settings={
            key: (one.settings.get(key), two.settings.get(key))
            for key in keys
            if one.settings.get(key) != two.settings.get(key)
        },
        variants=tuple(_compare([p for p in pairs if p[0].variant == name], name, one.dataset["kind"]) for name in variants),
        left_out=len(one.results) + len(two.results) - 2 * len(pairs),
    )


def _compare(pairs: Pairs, variant: str, kind: str) -> VariantComparison:
    metric, over = HEADLINES[kind]
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
        intervals={
            name: bootstrap(_paired_changes(pairs, name), over) for name in (*COLUMNS[kind], *LINE_MEASURES) if name in shared
        },
        first_line=_first_line_change(pairs) if FIRST_LINE in shared else None,
    )


def _first_line_change(pairs: Pairs) -> tuple[float, float, Interval]:
    tokens = [(before.scores[FIRST_LINE], after.scores[FIRST_LINE]) for before, after in pairs]
    befores, afters = ([pair[side] for pair in tokens] for side in (0, 1))
    return percentile(befores, 0.5), percentile(afters, 0.5), median_change(tokens)


def _groups(pairs: Pairs, metric: str, key: Callable[[QueryResult], str]) -> tuple[Difference, ...]:
    members: dict[str, list[tuple[QueryResult, QueryResult]]] = defaultdict(list)
    for before, after in pairs:
        if key(before):
            members[key(before)].append((before, after))
    return tuple(_difference(name, members[name], metric, "queries") for name in sorted(members))


def _difference(name: str, pairs: Pairs, metric: str, over: str) -> Difference:
    changes = _paired_changes(pairs, metric)
    return Difference(
        name=name,
        queries=len(pairs),
        before=average(by_repository((before for before, _ in pairs), metric), over),
        after=average(by_repository((after for _, after in pairs), metric), over),
        change=bootstrap(changes, over),
        p_value=permutation_test(changes, over),
    )


def _paired_changes(pairs: Pairs, metric: str) -> dict[str, list[float]]:
    changes: dict[str, list[float]] = defaultdict(list)
    for before, after in pairs:
        changes[before.repository].append(after.scores[metric] - before.scores[metric])
    return changes


def _describe(run: Run) -> str:
    return f"{run.dataset['name']} ({run.dataset['kind']}, {run.dataset['digest']})"


def format_report(run: Run, *, all_warnings: bool = False) -> str:
    """Headline, groups, latency and warnings of a run, in a page."""
    data = run.dataset
    lines = [f"{data['name']} ({data['kind']}, {data['digest']}) · {run.date} · lurcher {run.lurcher}"]
    if run.left_out:
        reasons = ", ".join(f"{count} {reason}" for reason, count in run.left_out.items())
        lines.append(f"{len(run.results)} questions; left out: {reasons}")
    for summary in run.summaries:
        lines += ["", *_summary(summary, data["kind"], several=len(run.summaries) > 1)]
    lines += ["", f"opening and indexing {run.opening_s:.1f} s"]
    if run.warnings:
        shown = run.warnings if all_warnings else run.warnings[:MAX_WARNINGS]
        lines += ["", f"warnings ({len(run.warnings)})", *(f"  {warning}" for warning in shown)]
        if len(shown) < len(run.warnings):
            lines.append(f"  … and {len(run.warnings) - len(shown)} more")
    return "\n".join(lines) + "\n"


def _summary(summary: Summary, kind: str, *, several: bool) -> Iterable[str]:
    headline = summary.headline
    title = f"{summary.variant}: " if several else ""
    yield (
        f"{title}{column_name(summary.metric, kind)} {headline.mean:.4f}"
        f"  [{headline.low:.4f}, {headline.high:.4f}]  mean over {headline.over}"
    )
    yield ""
    yield from table(_rows(summary, kind), ["", "queries", *(column_name(name, kind) for name in COLUMNS[kind])])
    yield ""
    tokens = {name: value for name, value in summary.by_queries.scores.items() if name.startswith("recall@")}
    if tokens:
        yield "recall in tokens  " + "  ".join(
            f"{name.removeprefix('recall@').removesuffix('t')}: {value:.3f}" for name, value in tokens.items()
        )
    if summary.first_line is not None:
        yield from _lines_read(summary)
    if summary.confidence is not None:
        yield from _confidence(summary.confidence)
    yield (
        f"any hit {summary.match_rate:.3f} · distinct first hits {summary.top1_diversity:.3f}"
        f" · first three repeat a {'commit' if kind == 'history' else 'file'} {summary.top3_duplicates:.3f}"
    )
    failed = f" · {summary.failed} failed" if summary.failed else ""
    yield f"latency p50 {summary.latency_ms['p50']:.2f} ms · p95 {summary.latency_ms['p95']:.2f} ms{failed}"


def _lines_read(summary: Summary) -> Iterable[str]:
    scores = summary.by_queries.scores
    yield "lines in tokens   " + "  ".join(f"{budget}: {scores[f'lines@{budget}t']:.3f}" for budget in BUDGETS)
    assert summary.first_line is not None
    median = summary.first_line.median
    yield (
        f"precision in {PRECISION_BUDGET} tokens {scores[f'precision@{PRECISION_BUDGET}t']:.3f}"
        f" · tokens until the first labelled line: median {'never' if median >= NEVER else f'{median:.0f}'},"
        f" never read in {summary.first_line.never} of {summary.queries}"
    )


def _confidence(found: ConfidenceSummary) -> Iterable[str]:
    levels = "  ".join(f"{level} {count}" for level, count in found.levels.items())
    yield f"confidence        {levels} · false alarms {found.false_alarms:.3f}{_auc('first file right', found.first_file)}"
    if found.negative_levels is not None:
        levels = "  ".join(f"{level} {count}" for level, count in found.negative_levels.items())
        yield f"wrong repository  {levels} · noticed {found.noticed:.3f}{_auc('own against wrong', found.wrong_repository)}"


def _auc(what: str, interval: Interval | None) -> str:
    return "" if interval is None else f" · AUC {what} {interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _rows(summary: Summary, kind: str) -> Iterable[Sequence[str]]:
    def row(label: str, count: int, group: Group) -> list[str]:
        return [label, str(count), *(f"{group.scores[name]:.4f}" for name in COLUMNS[kind])]

    yield row(summary.by_repositories.name, summary.queries, summary.by_repositories)
    yield row(summary.by_queries.name, summary.queries, summary.by_queries)
    for title, groups in (
        ("category", summary.categories),
        ("language", summary.languages),
        ("repository", summary.repositories),
    ):
        if title == "repository" and len(groups) == summary.queries > MAX_LONE_REPOSITORIES:
            continue
        # One group repeats the line above it; but that no report is quoted by its commit is worth a line.
        if len(groups) > 1 or (groups and kind == "history" and title == "category"):
            yield [title]
            for group in groups:
                yield row(f"  {group.name}", group.queries, group)


def format_comparison(comparison: Comparison) -> str:
    """What changed between two runs, how sure that is, and which questions moved most."""
    data = comparison.dataset
    lines = [
        f"{data['name']} ({data['kind']}, {data['digest']})",
        f"before  {comparison.before}",
        f"after   {comparison.after}",
        *(f"  {name}: {one!r} → {two!r}" for name, (one, two) in comparison.settings.items()),
    ]
    if comparison.left_out:
        lines.append(f"left out: {comparison.left_out} results that only one of the runs has")
    for entry in comparison.variants:
        lines += ["", *_variant(entry, comparison.metric, data["kind"], several=len(comparison.variants) > 1)]
    return "\n".join(lines) + "\n"


def _variant(entry: VariantComparison, metric: str, kind: str, *, several: bool) -> Iterable[str]:
    whole = entry.headline
    title = f"{entry.variant}: " if several else ""
    yield (
        f"{title}{column_name(metric, kind)} {whole.before:.4f} → {whole.after:.4f}"
        f"  {whole.change.mean:+.4f} [{whole.change.low:+.4f}, {whole.change.high:+.4f}]"
        f"  p = {whole.p_value:.4f}  mean over {whole.change.over}"
    )
    yield f"{entry.wins} better, {entry.losses} worse, {entry.ties} equal (sign test p = {entry.sign_p_value:.4f})"
    yield ""
    yield from table(_changes(entry), ["", "queries", "before", "after", "change", "95 % interval", "p"])
    yield ""
    measures = [
        [column_name(name, kind), f"{one:.4f}", f"{two:.4f}", f"{two - one:+.4f}", *_bounds(entry.intervals.get(name))]
        for name, (one, two) in entry.metrics.items()
        if name != FIRST_LINE
    ]
    if entry.first_line is not None:
        one, two, change = entry.first_line
        bounds = f"[{change.low:+.0f}, {change.high:+.0f}]"
        measures.append(["tokens until the first line, median", f"{one:.0f}", f"{two:.0f}", f"{two - one:+.0f}", bounds])
    times = [
        [f"latency {name} ms", f"{one:.2f}", f"{two:.2f}", f"{two - one:+.2f}"]
        for name, (one, two) in entry.latency_ms.items()
    ]
    yield from table([*measures, *times], ["", "before", "after", "change", "95 % interval"])
    for heading, moves in (("gained most", entry.gained), ("lost most", entry.lost)):
        if moves:
            yield ""
            yield heading
            yield from (_move(move) for move in moves)


def _bounds(interval: Interval | None) -> Sequence[str]:
    return [f"[{interval.low:+.3f}, {interval.high:+.3f}]"] if interval is not None else []


def _changes(entry: VariantComparison) -> Iterable[Sequence[str]]:
    lone = len(entry.repositories) == entry.headline.queries > MAX_LONE_REPOSITORIES
    for title, differences in (("category", entry.categories), ("repository", () if lone else entry.repositories)):
        if differences:
            yield [title]
            yield from (_change(difference) for difference in differences)


def _change(difference: Difference) -> list[str]:
    change = difference.change
    return [
        f"  {difference.name}",
        str(difference.queries),
        f"{difference.before:.4f}",
        f"{difference.after:.4f}",
        f"{change.mean:+.4f}",
        f"[{change.low:+.3f}, {change.high:+.3f}]",
        f"{difference.p_value:.3f}",
    ]


def _move(move: Move) -> str:
    query = move.query if len(move.query) <= MOVE_WIDTH else f"{move.query[: MOVE_WIDTH - 1]}…"
    return f"  {move.before:.3f} → {move.after:.3f}  {move.repository}: {query}"


def column_name(metric: str, kind: str) -> str:
    """A measure as people read it: what is ranked is files, or commits in history."""
    if kind == "spans":
        ranked = metric.startswith(("mrr", "hit", "ndcg"))
        return f"span {metric}" if ranked else metric.replace("_", " ")
    if not metric.startswith("file_"):
        return metric
    bare = metric.removeprefix("file_")
    return {"code": f"{bare} files", "own": f"{bare} files"}.get(kind, bare)


def table(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> Iterable[str]:
    """Rows under a heading: the first column flush left, the others flush right; a row of one cell is a title."""
    kept = [heading, *rows]
    widths = [max(len(row[column]) for row in kept if len(row) > column) for column in range(len(heading))]
    for row in kept:
        cells = [
            cell.ljust(widths[column]) if column == 0 else cell.rjust(widths[column]) for column, cell in enumerate(row)
        ]
        yield "  ".join(cells).rstrip()
