"""Rankings of commits side by side on labelled questions, with SQLite's full-text search over messages as the baseline.

    python benchmarks/history_quality.py DATASET … --repos MIRRORS --work FOLDER [--out FILE]

DATASET is a JSONL file of questions about history, as `lurcher eval` takes it; MIRRORS holds bare git directories named
OWNER+NAME/repo. Every way sees the same commits: those that HEAD leads to, without merges.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.evaluation import evaluate
from lurcher.types import Answer, Hit, IndexState, Why

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, words alone": {"mode": "lexical"},
    "classic": {"ranking": "classic"},
    "dense": {"mode": "dense"},
    "linear 0.6": {"fusion": "linear", "alpha": 0.6},
    "linear 0.6 + mmr 0.5": {"fusion": "linear", "alpha": 0.6, "mmr": 0.5},
}


class FullText:
    """SQLite FTS5 over subjects and bodies; a question is any of its words, best first by its own BM25."""

    def __init__(self, git_directory: Path) -> None:
        log = subprocess.run(
            ["git", f"--git-dir={git_directory}", "log", "--no-merges", "--format=%H%x00%s%x00%b%x01"],
            capture_output=True, check=True,
        ).stdout.decode("utf-8", "replace")  # fmt: skip
        self._table = sqlite3.connect(":memory:")
        self._table.execute("create virtual table commits using fts5(sha unindexed, subject, body)")
        rows = (row.strip("\n").split("\0") for row in log.split("\x01") if row.strip("\n"))
        self._table.executemany("insert into commits values (?, ?, ?)", (row for row in rows if len(row) == 3))

    def search(self, text: str, *, limit: int = 20, **_: Any) -> Answer:
        words = list(dict.fromkeys(re.findall(r"\w+", text.lower())))[:1000]
        asked = " OR ".join(f'"{word}"' for word in words) or '""'
        found = self._table.execute(
            "select sha, subject, rank from commits where commits match ? order by rank limit ?", (asked, limit)
        ).fetchall()
        hits = tuple(
            Hit(sha, "history", "", 0, 0, "", None, "commit", -rank, 0, "", Why(), commit={"sha": sha, "subject": subject})
            for sha, subject, rank in found
        )
        return Answer(text, "fts5", "", "fts5", ("history",), hits, len(hits), 0, None, IndexState(0, True, 0), (), {})


@contextmanager
def full_text(folder: Path) -> Iterator[FullText]:
    yield FullText(folder)


class Ours:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def search(self, text: str, *, sources: Any = None, **options: Any) -> Answer:
        return self._engine.history(text, **options)


def opener(work: Path) -> Callable[[Path], AbstractContextManager[Ours]]:
    @contextmanager
    def open_engine(folder: Path) -> Iterator[Ours]:
        index = work / "indexes" / "-".join(folder.resolve().parts[-3:])
        with Engine.open(folder, root=folder, index_dir=index, overrides={"history.refresh_seconds": 3600}) as engine:
            yield Ours(engine)

    return open_engine


def figures(summary: Any) -> dict[str, Any]:
    scores = summary.by_queries.scores
    row = {name.removeprefix("file_"): round(scores[name], 4) for name in
           ("file_mrr@10", "file_mrr@3", "file_hit@1", "file_hit@3", "file_hit@10")}  # fmt: skip
    row |= {
        "interval": [round(summary.headline.low, 4), round(summary.headline.high, 4)],
        "match_rate": round(summary.match_rate, 4), "distinct_first": round(summary.top1_diversity, 4),
        "repeated_in_three": round(summary.top3_duplicates, 4), "p50_ms": round(summary.latency_ms["p50"], 2),
    }  # fmt: skip
    row["categories"] = {
        group.name: {"queries": group.queries, "mrr@10": round(group.scores["file_mrr@10"], 4)} for group in summary.categories
    }
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, nargs="+")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {"date": date.today().isoformat()}
    for dataset in arguments.dataset:
        ways: dict[str, Any] = {"fts5 over messages": (full_text, {})}
        ways |= {name: (opener(arguments.work), options) for name, options in WAYS.items()}
        rows: dict[str, Any] = {}
        for name, (open_engine, options) in ways.items():
            run = evaluate(dataset, open_engine, repos=arguments.repos, options=options, check_leaks=False)
            for summary in run.summaries:
                rows.setdefault(summary.variant, {})[name] = row = figures(summary)
                shown = {key: row[key] for key in ("mrr@10", "mrr@3", "hit@1", "hit@3", "hit@10", "p50_ms")}
                print(f"{dataset.stem:10} {summary.variant:6} {name:22} {json.dumps(shown)}", flush=True)
        found[dataset.stem] = rows
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
