"""A run, and a comparison of two, as aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lurcher.evaluation.compare import Comparison, Difference, Move, VariantComparison
from lurcher.evaluation.runs import Run
from lurcher.evaluation.summary import Group, Summary

COLUMNS = {
    "code": ("ndcg@10", "file_ndcg@10", "mrr@10", "hit@1", "hit@5", "hit@10"),
    "own": ("ndcg@10", "file_ndcg@10", "mrr@10", "hit@1", "hit@3", "hit@5", "hit@10"),
    "issues": ("file_mrr@10", "file_hit@1", "file_hit@5", "file_hit@10", "file_ndcg@10"),
    "history": ("file_mrr@10", "file_mrr@3", "file_hit@1", "file_hit@3", "file_hit@10"),
}
MAX_WARNINGS = 20
MOVE_WIDTH = 90


def format_report(run: Run, *, all_warnings: bool = False) -> str:
    """Headline, groups, latency and warnings of a run, in a page."""
    data = run.dataset
    lines = [f"{data['name']} ({data['kind']}, {data['digest']}) · {run.date} · lurcher {run.lurcher}"]
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
    yield "recall in tokens  " + "  ".join(
        f"{name.removeprefix('recall@').removesuffix('t')}: {value:.3f}" for name, value in tokens.items()
    )
    yield (
        f"any hit {summary.match_rate:.3f} · distinct first hits {summary.top1_diversity:.3f}"
        f" · first three repeat a {'commit' if kind == 'history' else 'file'} {summary.top3_duplicates:.3f}"
    )
    failed = f" · {summary.failed} failed" if summary.failed else ""
    yield f"latency p50 {summary.latency_ms['p50']:.2f} ms · p95 {summary.latency_ms['p95']:.2f} ms{failed}"


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
        [column_name(name, kind), f"{one:.4f}", f"{two:.4f}", f"{two - one:+.4f}"]
        for name, (one, two) in entry.metrics.items()
    ]
    times = [
        [f"latency {name} ms", f"{one:.2f}", f"{two:.2f}", f"{two - one:+.2f}"]
        for name, (one, two) in entry.latency_ms.items()
    ]
    yield from table([*measures, *times], ["", "before", "after", "change"])
    for heading, moves in (("gained most", entry.gained), ("lost most", entry.lost)):
        if moves:
            yield ""
            yield heading
            yield from (_move(move) for move in moves)


def _changes(entry: VariantComparison) -> Iterable[Sequence[str]]:
    for title, differences in (("category", entry.categories), ("repository", entry.repositories)):
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
